//! What a client calls its requests, and what they are called behind the door
//!
//! A client may use an id again once its request is answered or called off. What was called off takes
//! a moment to go away: under an id of its own, its end is not taken for the end of the next one.

use std::collections::HashMap;

use rmcp::model::RequestId;

/// The requests of one connection that are not answered yet
#[derive(Debug, Default)]
pub(super) struct Ids {
    last: i64,
    ours: HashMap<RequestId, RequestId>,
    theirs: HashMap<RequestId, RequestId>,
}

impl Ids {
    /// Our id for a request; none where theirs is in use
    pub(super) fn enter(&mut self, theirs: &RequestId) -> Option<RequestId> {
        if self.ours.contains_key(theirs) {
            return None;
        }
        self.last += 1;
        let ours = RequestId::Number(self.last);
        self.ours.insert(theirs.clone(), ours.clone());
        self.theirs.insert(ours.clone(), theirs.clone());
        Some(ours)
    }

    /// Returns the client's id for an answer; none if the request was cancelled or already answered
    pub(super) fn answer(&mut self, ours: &RequestId) -> Option<RequestId> {
        let theirs = self.theirs.remove(ours)?;
        self.ours.remove(&theirs);
        Some(theirs)
    }

    /// Our id for a request that they call off; none where there is none
    pub(super) fn call_off(&mut self, theirs: &RequestId) -> Option<RequestId> {
        let ours = self.ours.remove(theirs)?;
        self.theirs.remove(&ours);
        Some(ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_free_again_once_its_request_is_over() {
        let mut ids = Ids::default();
        let a = RequestId::String("a".into());
        let first = ids.enter(&a).unwrap();
        assert_eq!(ids.enter(&a), None);
        assert_eq!(ids.call_off(&a), Some(first.clone()));
        assert_eq!(ids.call_off(&a), None);
        let second = ids.enter(&a).unwrap();
        assert_ne!(first, second);
        assert_eq!(ids.answer(&first), None, "it was cancelled");
        assert_eq!(ids.answer(&second), Some(a.clone()));
        assert_eq!(ids.answer(&second), None);
        assert!(ids.enter(&a).is_some());
    }
}
