//! The machine of `guichet check`: reqwest, the runtime's timer and the shell.

use super::super::failure::{Failure, NOT_REACHED};
use guichet_check::{Boxed, CommandError, Environment, Request, Response, SendError};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::Instant;

pub(super) struct Machine {
    http: reqwest::Client,
    limit: Duration,
    started: Instant,
}

impl Machine {
    /// Its requests and its commands end after this time.
    pub(super) fn new(limit: Duration) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .tls_backend_rustls()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(limit)
            // A restarted shop has closed its connections.
            .pool_max_idle_per_host(0)
            .build();
        let http =
            http.map_err(|error| Failure::Message(NOT_REACHED, format!("The HTTP client cannot be set up: {error}.")))?;
        Ok(Self { http, limit, started: Instant::now() })
    }

    async fn send(&self, request: Request) -> Result<Response, SendError> {
        let Request { method, url, headers, body } = request;
        let method =
            reqwest::Method::from_bytes(method.as_bytes()).map_err(|error| SendError::Broken(error.to_string()))?;
        let mut asked = self.http.request(method, &url);
        for (name, value) in headers {
            asked = asked.header(name, value);
        }
        if !body.is_empty() {
            asked = asked.body(body);
        }
        let response = asked.send().await.map_err(|error| self.broken(&error))?;
        let status = response.status().as_u16();
        let headers = response.headers().iter();
        let headers = headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let body = response.bytes().await.map_err(|error| self.broken(&error))?;
        Ok(Response { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
    }

    fn broken(&self, error: &reqwest::Error) -> SendError {
        if error.is_timeout() {
            return SendError::Timeout(self.limit);
        }
        if error.is_connect() { SendError::NoConnection } else { SendError::Broken(error.to_string()) }
    }

    /// Runs a command to its end, and returns what it printed.
    async fn finish(&self, mut command: Command) -> Result<String, CommandError> {
        let output = tokio::time::timeout(self.limit, command.kill_on_drop(true).output()).await;
        let output = output.map_err(|_| CommandError::Timeout(self.limit))?;
        let output = output.map_err(|error| CommandError::NotRun(error.to_string()))?;
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        if output.status.success() {
            return Ok(stdout);
        }
        Err(CommandError::Failed { status: output.status.to_string(), stderr })
    }
}

impl Environment for Machine {
    fn send(&self, request: Request) -> Boxed<'_, Result<Response, SendError>> {
        Box::pin(self.send(request))
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, time: Duration) -> Boxed<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<String, String>> {
        Box::pin(async move {
            let bytes = tokio::fs::read(path).await.map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        })
    }

    fn run<'a>(
        &'a self,
        command: &'a str,
        variables: Vec<(&'static str, String)>,
        is_output_wanted: bool,
    ) -> Boxed<'a, Result<String, CommandError>> {
        // A shop that the command leaves running would hold a pipe open.
        let stdio = if is_output_wanted { Stdio::piped } else { Stdio::null };
        let (program, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut shell = Command::new(program);
        shell.arg(option).arg(command).envs(variables).stdin(Stdio::null()).stdout(stdio()).stderr(stdio());
        Box::pin(self.finish(shell))
    }
}
