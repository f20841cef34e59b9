//! Why a sandbox did not start.

/// Why a sandbox did not start: a sentence for the person who started it.
///
/// ```no_run
/// # async fn start() {
/// use guichet_sandbox::{Sandbox, StartError};
/// if let Err(StartError::Listen(sentence)) = Sandbox::start().await {
///     eprintln!("{sentence}");
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration cannot be used.
    #[error("{0}")]
    Config(String),
    /// The database cannot be opened, is not the sandbox's, or may not be written.
    #[error("{0}")]
    Database(String),
    /// The keys cannot be read or stored.
    #[error("{0}")]
    Keys(String),
    /// The address cannot be listened on.
    #[error("{0}")]
    Listen(String),
    /// The system gives no thread or no randomness.
    #[error("{0}")]
    System(String),
}
