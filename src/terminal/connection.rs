//! Where a command asks, and with what: no credential is ever an argument, where every user of the machine could read it.

use super::failure::Failure;
use crate::native::{Client, SecretKey};
use crate::values::SessionToken;
use clap::Args;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

const KEY: &str = "GUICHET_SECRET_KEY";
const TOKEN: &str = "GUICHET_SESSION_TOKEN";
/// Where a sandbox of this machine listens.
const SANDBOX: &str = "http://127.0.0.1:4243";

/// How the service is reached, the same for every operation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The service")]
pub(super) struct Connection {
    /// The address of the service; or GUICHET_BASE_URL. Without both, the sandbox of this machine, with a test key alone.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Where payment intents are created, for a service that has an address of its own for it; or GUICHET_GATEWAY_URL.
    #[arg(long, value_name = "URL")]
    gateway_url: Option<String>,
    /// A file that holds the secret key and nothing else; without it, GUICHET_SECRET_KEY.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// How long to wait for an answer, all attempts together, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = patience, allow_negative_numbers = true)]
    timeout: u64,
    /// A host to which a test key may be sent over plain http: a sandbox on another machine.
    #[arg(long, value_name = "HOST")]
    allow_plain_http: Option<String>,
}

impl Connection {
    /// The client, with the secret key.
    pub fn with_key(&self) -> Result<Client, Failure> {
        self.client(self.key()?)
    }

    /// The client for what is sent with this session token. It has no key, and needs none; a token of a live environment
    /// is kept off plain http as its key would be.
    pub fn without_key(&self, token: &SessionToken) -> Result<Client, Failure> {
        self.client(SecretKey::none(!token.expose().starts_with("cst_live_")))
    }

    /// The secret key, from where no other user reads it.
    pub fn key(&self) -> Result<SecretKey, Failure> {
        match &self.key_file {
            Some(file) => {
                let unusable = |why: &dyn std::fmt::Display| {
                    Failure::usage(format!("The key file {} cannot be used: {why}.", file.display()))
                };
                let text = zeroize::Zeroizing::new(std::fs::read_to_string(file).map_err(|error| unusable(&error))?);
                warn_of_readers(file);
                SecretKey::new(text.trim_end_matches(['\n', '\r'])).map_err(|invalid| unusable(&invalid))
            }
            None => {
                SecretKey::from_env(KEY).map_err(|invalid| Failure::usage(format!("{invalid} Or give --key-file.")))
            }
        }
    }

    /// The address of the service.
    pub fn base_url(&self, key: &SecretKey) -> Result<String, Failure> {
        match self.base_url.clone().or_else(|| variable("GUICHET_BASE_URL")) {
            Some(base_url) => Ok(base_url),
            None if key.is_test() => Ok(SANDBOX.to_owned()),
            None => Err(Failure::usage(
                "A live key is sent to no address that nobody has named. Say which service it is of: --base-url https://api.example.com, or \
                 GUICHET_BASE_URL. The sandbox of this machine takes a test key.",
            )),
        }
    }

    pub fn client(&self, key: SecretKey) -> Result<Client, Failure> {
        let base_url = self.base_url(&key)?;
        let mut builder = Client::builder(&base_url, key).deadline(Duration::from_secs(self.timeout));
        if let Some(gateway_url) = self.gateway_url.clone().or_else(|| variable("GUICHET_GATEWAY_URL")) {
            builder = builder.gateway_url(&gateway_url);
        }
        if let Some(host) = &self.allow_plain_http {
            builder = builder.allow_plain_http(host);
        }
        Ok(builder.build()?)
    }
}

/// The session token: from the environment, or the first line of the standard input.
pub(super) fn session_token() -> Result<SessionToken, Failure> {
    if let Some(token) = variable(TOKEN) {
        return Ok(SessionToken::new(token));
    }
    let token = first_line(&format!("The session token (or set {TOKEN}):"));
    let missing = || format!("Set {TOKEN} to the session token, or give it on the standard input.");
    token.map(SessionToken::new).ok_or_else(|| Failure::usage(missing()))
}

/// The first line of the standard input, where no other user reads it; somebody at the terminal is asked for it.
pub(super) fn first_line(question: &str) -> Option<String> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        eprintln!("{question}");
    }
    let mut line = String::new();
    stdin.lock().read_line(&mut line).ok()?;
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// Reads how long to wait.
fn patience(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
    seconds.ok_or_else(|| "a whole number of seconds, from 1 to 86400".to_owned())
}

/// A variable of the environment that is set to something.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Says so where others of this machine can read a key.
fn warn_of_readers(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o077 != 0) {
            eprintln!("guichet: other users of this machine can read the key in {0}: chmod 600 {0}", file.display());
        }
    }
    #[cfg(not(unix))]
    let _ = file;
}
