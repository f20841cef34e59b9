//! The address and the credential of a command. A credential is never an argument: every user of the machine could read
//! it.

use super::failure::Failure;
use clap::Args;
use guichet::native::{Environment, Profile, SecretKey, Transport};
use guichet::values::SessionToken;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

const KEY: &str = "GUICHET_SECRET_KEY";
const TOKEN: &str = "GUICHET_SESSION_TOKEN";
/// The default address: a sandbox on this machine.
pub(crate) const SANDBOX: &str = "http://127.0.0.1:4243";

/// The options that every operation has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The service")]
pub(super) struct Connection {
    /// The address of the service; or GUICHET_BASE_URL. Default with a test key: the sandbox on this machine.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The address that creates payment intents, if the service has a separate one; or GUICHET_GATEWAY_URL.
    #[arg(long, value_name = "URL")]
    gateway_url: Option<String>,
    /// A file that contains the secret key and nothing else; or GUICHET_SECRET_KEY.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The timeout for the response, all attempts together, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = timeout, allow_negative_numbers = true)]
    timeout: u64,
    /// A host that may be called over plain http with a test key: a sandbox on another machine.
    #[arg(long, value_name = "HOST")]
    allow_plain_http: Option<String>,
}

impl Connection {
    /// The secret key, from the key file or the environment.
    pub(super) fn key(&self) -> Result<SecretKey, Failure> {
        match &self.key_file {
            Some(file) => {
                let unusable = |why: &dyn std::fmt::Display| {
                    Failure::usage(format!("The key file {} cannot be used: {why}.", file.display()))
                };
                let text = zeroize::Zeroizing::new(std::fs::read_to_string(file).map_err(|error| unusable(&error))?);
                warn_if_others_can_read(file);
                SecretKey::new(text.trim_end_matches(['\n', '\r'])).map_err(|invalid| unusable(&invalid))
            }
            None => {
                SecretKey::from_env(KEY).map_err(|invalid| Failure::usage(format!("{invalid} Or give --key-file.")))
            }
        }
    }

    /// The address of the service.
    pub(super) fn base_url(&self, environment: Environment) -> Result<String, Failure> {
        match self.base_url.clone().or_else(|| variable("GUICHET_BASE_URL")) {
            Some(base_url) => Ok(base_url),
            None if environment == Environment::Test => Ok(SANDBOX.to_owned()),
            None => Err(Failure::usage(
                "A live key needs the address of its service: --base-url https://api.example.com, or GUICHET_BASE_URL. The default address, the \
                 sandbox on this machine, takes test keys only.",
            )),
        }
    }

    /// Takes the address of a profile, unless another is given.
    pub(super) fn use_profile(&mut self, profile: &Profile) {
        let given = self.base_url.take().or_else(|| variable("GUICHET_BASE_URL"));
        self.base_url = given.or_else(|| Some(profile.base_url.clone()));
    }

    /// The address that creates payment intents, if it is another one.
    pub(super) fn gateway_url(&self) -> Option<String> {
        self.gateway_url.clone().or_else(|| variable("GUICHET_GATEWAY_URL"))
    }

    /// What sends the requests, with credentials of this environment.
    pub(super) fn transport(&self, environment: Environment) -> Result<Transport, Failure> {
        let base_url = self.base_url(environment)?;
        let mut builder = Transport::builder(&base_url, environment).deadline(Duration::from_secs(self.timeout));
        if let Some(gateway_url) = self.gateway_url() {
            builder = builder.gateway_url(&gateway_url);
        }
        if let Some(host) = &self.allow_plain_http {
            builder = builder.allow_plain_http(host);
        }
        Ok(builder.build()?)
    }
}

/// The session token, from the environment or the first line of standard input.
pub(super) fn session_token() -> Result<SessionToken, Failure> {
    if let Some(token) = variable(TOKEN) {
        return Ok(SessionToken::new(token));
    }
    let token = first_line(&format!("The session token (or set {TOKEN}):"));
    let missing = || format!("Set {TOKEN} to the session token, or give it on standard input.");
    token.map(SessionToken::new).ok_or_else(|| Failure::usage(missing()))
}

/// Reads the first line of standard input. At a terminal it prints the prompt first.
pub(super) fn first_line(prompt: &str) -> Option<String> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        eprintln!("{prompt}");
    }
    let mut line = String::new();
    stdin.lock().read_line(&mut line).ok()?;
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// Parses the timeout.
fn timeout(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
    seconds.ok_or_else(|| "a whole number of seconds, from 1 to 86400".to_owned())
}

/// The value of an environment variable that is not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Warns if other users of this machine can read the key file.
fn warn_if_others_can_read(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o077 != 0) {
            let path = file.display().to_string();
            let word = shlex::try_quote(&path).unwrap_or_else(|_| path.as_str().into());
            eprintln!("guichet: other users of this machine can read the key in {path}: chmod 600 {word}");
        }
    }
    #[cfg(not(unix))]
    let _ = file;
}
