//! Waiting for a condition, with an end

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

/// Ask again until there is an answer, at most for `limit`
pub async fn eventually<T, F, Fut>(what: &str, limit: Duration, mut ask: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<Option<T>>>,
{
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(20);
    loop {
        if let Some(found) = ask().await? {
            return Ok(found);
        }
        if Instant::now() >= end {
            bail!("{what}: still not so after {limit:?}");
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(300));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn gives_up_at_its_limit() {
        let found: Result<()> =
            eventually("never", Duration::from_millis(50), async || Ok(None)).await;
        assert!(found.unwrap_err().to_string().starts_with("never"));
    }

    #[tokio::test]
    async fn asks_again() {
        let mut asked = 0;
        let found = eventually("third time", Duration::from_secs(5), || {
            asked += 1;
            let answer = (asked == 3).then_some(asked);
            async move { Ok(answer) }
        });
        assert_eq!(found.await.unwrap(), 3);
    }
}
