//! Waits for conditions.

use std::time::{Duration, Instant};

/// How long a test waits for an element, a text, an address or a condition before it fails. A busy machine may need
/// most of it.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until a condition is true, which `what` names in the failure.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < TIMEOUT, "it does not become true: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
