//! What the check needs of the machine it runs on: HTTP, waiting, commands and files. The rules use nothing else, so
//! that they run wherever these functions exist.

use guichet::values::printable;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

/// A future of an environment.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A request to the shop. It is sent as it is: no header is added but `Host` and `Content-Length`.
#[derive(Clone, Debug)]
pub struct Request {
    /// `POST`
    pub method: &'static str,
    /// The whole address.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The text of the body; empty if there is none.
    pub body: String,
}

/// The shop's response. A redirect is not followed.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The text of the body.
    pub body: String,
}

impl Response {
    /// The values of a header.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// The machine that a check runs on.
pub trait Environment {
    /// Sends a request.
    fn send(&self, request: Request) -> Boxed<'_, Result<Response, SendError>>;

    /// The time since some moment before the check.
    fn now(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration) -> Boxed<'_, ()>;

    /// Reads a file as a text. The error says why it cannot be read.
    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<String, String>>;

    /// Runs a command of the person who checks, with these variables in its environment. Returns its output, or
    /// discards it unless it is wanted.
    fn run<'a>(
        &'a self,
        command: &'a str,
        variables: Vec<(&'static str, String)>,
        is_output_wanted: bool,
    ) -> Boxed<'a, Result<String, CommandError>>;
}

/// How a request ended without a response.
#[derive(Clone, Debug)]
pub enum SendError {
    /// The shop did not answer within the limit.
    Timeout(Duration),
    /// The shop did not take the connection.
    NoConnection,
    /// This machine does not trust the shop's certificate: why.
    Certificate(String),
    /// The connection broke: why.
    Broken(String),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(limit) => write!(f, "no answer in {} s", limit.as_secs()),
            Self::NoConnection => f.write_str("no connection"),
            Self::Certificate(why) => write!(
                f,
                "its certificate is not trusted: {}. Give the shop's http:// address, or let the check trust a \
                 certificate of your own: SSL_CERT_FILE=root.pem for `guichet`, \
                 NODE_EXTRA_CA_CERTS=root.pem for `guichet-sandbox`",
                printable(why)
            ),
            Self::Broken(why) => write!(f, "the connection broke: {}", printable(why)),
        }
    }
}

/// Why a command failed.
pub enum CommandError {
    /// It did not end within the limit.
    Timeout(Duration),
    /// It could not be started: why.
    NotRun(String),
    /// How it ended, and what it wrote to stderr.
    Failed {
        /// The exit status in words.
        status: String,
        /// Its last words.
        stderr: String,
    },
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(limit) => write!(f, "the command did not end in {} s", limit.as_secs()),
            Self::NotRun(why) => write!(f, "the command cannot be run: {why}"),
            Self::Failed { status, stderr } => {
                let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                write!(f, "the command failed ({status}). {last}")
            }
        }
    }
}
