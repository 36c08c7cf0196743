//! Answers to a batch, gathered until all are there

use std::collections::HashMap;

use rmcp::model::RequestId;

/// Batches on one connection whose answers are not complete
#[derive(Debug, Default)]
pub(super) struct Batches {
    next: usize,
    open: HashMap<usize, Batch>,
    of: HashMap<RequestId, usize>,
}

#[derive(Debug, Default)]
struct Batch {
    missing: usize,
    /// Each as JSON
    answers: Vec<String>,
}

impl Batches {
    /// Open a batch; what is ready to be sent comes back at once if nothing is waited for
    pub(super) fn open(&mut self, waiting: Vec<RequestId>, answers: Vec<String>) -> Option<String> {
        let key = self.next;
        self.next += 1;
        let missing = waiting.len();
        self.of.extend(waiting.into_iter().map(|id| (id, key)));
        self.open.insert(key, Batch { missing, answers });
        self.close(key)
    }

    /// Whether an answer belongs to a batch
    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.of.contains_key(id)
    }

    /// Add an answer, or none for a call that was called off; the whole once nothing is missing
    pub(super) fn add(&mut self, id: &RequestId, answer: Option<String>) -> Option<String> {
        let key = self.of.remove(id)?;
        let batch = self.open.get_mut(&key)?;
        batch.missing = batch.missing.saturating_sub(1);
        batch.answers.extend(answer);
        self.close(key)
    }

    fn close(&mut self, key: usize) -> Option<String> {
        if self.open.get(&key).is_none_or(|batch| batch.missing > 0) {
            return None;
        }
        let batch = self.open.remove(&key)?;
        // A batch of notifications alone has no answer.
        (!batch.answers.is_empty()).then(|| format!("[{}]", batch.answers.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: i64) -> RequestId {
        RequestId::Number(n)
    }

    #[test]
    fn a_batch_is_answered_once_all_is_there() {
        let mut batches = Batches::default();
        assert_eq!(batches.open(vec![id(1), id(2)], vec!["0".into()]), None);
        assert!(batches.has(&id(1)) && !batches.has(&id(3)));
        assert_eq!(batches.add(&id(2), Some("2".into())), None);
        assert_eq!(
            batches.add(&id(1), Some("1".into())),
            Some("[0,2,1]".into())
        );
        assert!(!batches.has(&id(1)));
    }

    #[test]
    fn what_was_called_off_is_not_waited_for() {
        let mut batches = Batches::default();
        assert_eq!(batches.open(vec![id(1), id(2)], Vec::new()), None);
        assert_eq!(batches.add(&id(1), None), None);
        assert_eq!(batches.add(&id(2), Some("2".into())), Some("[2]".into()));
        assert_eq!(batches.open(Vec::new(), Vec::new()), None, "notifications");
        assert_eq!(
            batches.open(Vec::new(), vec!["x".into()]),
            Some("[x]".into())
        );
    }
}
