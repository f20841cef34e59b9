//! Signed calls to the application, and the causes of what it does not answer as it should.

use super::config::Config;
use super::secret::Secret;
use bytes::Bytes;
use guichet::native::{Reason, Refused};
use guichet::values::printable;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use reqwest::{Client, Response, redirect};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::Url;

/// The longest answer that is read.
const LONGEST_ANSWER: usize = 64 * 1024;
/// The clock of an application that has not answered yet.
const UNKNOWN: i64 = i64::MIN;

/// The application at its one address.
pub(super) struct Application {
    http: Client,
    url: Url,
    /// The shop's own host and scheme, which the application is called by.
    headers: HeaderMap,
    audience: String,
    secret: Secret,
    /// How many seconds its clock is ahead of this one.
    ahead: AtomicI64,
}

/// A message to the application.
pub(super) struct Message<'a> {
    /// `customer`, `purchase` or `order_changed`.
    pub kind: &'static str,
    /// The same for each resend.
    pub id: String,
    pub members: Map<String, Value>,
    /// What is handed on of the browser's request.
    pub headers: HeaderMap,
    /// How long the application has.
    pub time: Duration,
    /// Which other answers than 2xx are one.
    pub is_answer: fn(&Answer) -> bool,
    /// What the log names it by.
    pub about: &'a str,
}

/// An answer of the application.
pub(super) struct Answer {
    pub status: StatusCode,
    pub cookies: Vec<HeaderValue>,
    /// Its JSON; none if it is something else.
    pub json: Option<Value>,
}

impl Application {
    pub(super) fn new(config: &Config, secret: Secret) -> Result<Self, String> {
        // A redirect would send logins to another address. The proxies of the environment would read them.
        let mut http = Client::builder().redirect(redirect::Policy::none()).no_proxy();
        http = http.user_agent(concat!("guichet/", env!("CARGO_PKG_VERSION")));
        if let Some(socket) = &config.app_socket {
            #[cfg(unix)]
            {
                http = http.unix_socket(socket.as_path());
            }
            #[cfg(not(unix))]
            return Err(format!("`app_socket` {}: this system has no Unix sockets.", socket.display()));
        }
        let http = http.build().map_err(|error| error.to_string())?;
        let shop = Url::parse(&config.public_url).map_err(|error| error.to_string())?;
        let value = |text: &str| HeaderValue::from_str(text).map_err(|error| error.to_string());
        let mut headers = HeaderMap::new();
        // Functions and networks of caches find an application by its own host.
        let is_elsewhere = config.app.scheme() == "https" && !config.is_here();
        let host = if is_elsewhere { HeaderName::from_static("x-forwarded-host") } else { header::HOST };
        headers.insert(host, value(&shop[url::Position::BeforeHost..url::Position::AfterPort])?);
        headers.insert("x-forwarded-proto", value(shop.scheme())?);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let (url, audience) = (config.app.clone(), config.name.clone());
        Ok(Self { http, url, headers, audience, secret, ahead: AtomicI64::new(UNKNOWN) })
    }

    /// The shop's name, which each message has.
    pub(super) fn audience(&self) -> &str {
        &self.audience
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// How many seconds its clock is ahead of this one, by its last answer.
    pub(super) fn clock_ahead(&self) -> Option<i64> {
        Some(self.ahead.load(Ordering::Relaxed)).filter(|ahead| *ahead != UNKNOWN)
    }

    /// Sends a message. Returns what is an answer to it.
    pub(super) async fn send(&self, message: Message<'_>) -> Result<Answer, Refused> {
        let (kind, about) = (message.kind, message.about);
        self.answer(message).await.map_err(|cause| self.failed(kind, about, cause))
    }

    /// The same; the error is why there is no answer.
    pub(super) async fn answer(&self, message: Message<'_>) -> Result<Answer, String> {
        let Message { kind, id, mut members, headers, time, is_answer, about: _ } = message;
        members.insert("type".to_owned(), json!(kind));
        members.insert("audience".to_owned(), json!(self.audience));
        let (body, timestamp) = (Value::Object(members).to_string(), now());
        let mut own = self.headers.clone();
        let signature = self.secret.sign(&id, timestamp, &body);
        for (name, value) in
            [("webhook-id", id), ("webhook-timestamp", timestamp.to_string()), ("webhook-signature", signature)]
        {
            own.insert(name, HeaderValue::try_from(value).map_err(|error| error.to_string())?);
        }
        let sent = self.http.post(self.url.clone()).headers(own).headers(headers).body(body).send();
        let answered = tokio::time::timeout(time, async { read(sent.await?).await }).await;
        match answered {
            Err(_) => Err(format!("has not answered within {} s", time.as_secs())),
            Ok(Err(error)) => {
                Err(format!("cannot be reached at {}: {}. Start it, or see `app`", self.url, innermost(&error)))
            }
            Ok(Ok((headers, status, bytes))) => {
                self.learn_clock(&headers);
                let json = bytes.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok());
                let cookies = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
                let answer = Answer { status, cookies, json };
                if status.is_success() || is_answer(&answer) {
                    return Ok(answer);
                }
                Err(match answer.error() {
                    Some((code, message)) => format!("answers {}: {code}, {message}", status.as_u16()),
                    None => self.cause(status, &headers),
                })
            }
        }
    }

    /// The failure of the application: the page learns that nothing is lost, and the log learns the cause.
    pub(super) fn failed(&self, kind: &str, about: &str, cause: impl fmt::Display) -> Refused {
        tracing::error!(kind, about = %printable(about), "the application {}", printable(cause));
        let message = "The shop cannot answer just now. Nothing is lost: please try again.";
        Refused::new(503, Reason { code: "unavailable", message }).with_retry_after(2)
    }

    fn learn_clock(&self, headers: &HeaderMap) {
        let date = headers.get(header::DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        if let Some(date) = date.and_then(|date| date.duration_since(UNIX_EPOCH).ok()) {
            self.ahead.store(date.as_secs() as i64 - now(), Ordering::Relaxed);
        }
    }

    /// Why it answers so, as far as a status says it.
    fn cause(&self, status: StatusCode, headers: &HeaderMap) -> String {
        let location = headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
        let why = match status.as_u16() {
            300..=399 => return self.cause_of_redirect(status, location.unwrap_or_default()),
            400 => format!(
                "its secret is not this one (GUICHET_APP_SECRET, or the file of `app_secret`), its clock differs by more than five minutes, its \
                 name of the shop is not {:?}, or it does not allow the host {:?}",
                self.audience,
                self.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
            ),
            403 | 419 => "its check of CSRF tokens or of logins is to exempt the address `app`".to_owned(),
            404 | 405 => "it has no such address, or takes no POST there: see `app`".to_owned(),
            500.. => "see its log".to_owned(),
            _ => "that is no answer to this message".to_owned(),
        };
        format!("answers {}: {why}", status.as_u16())
    }

    fn cause_of_redirect(&self, status: StatusCode, location: &str) -> String {
        let to = self.url.join(location).ok();
        let path = to.as_ref().map_or("", Url::path);
        let why = match &to {
            Some(to) if to.scheme() == "https" && path == self.url.path() => {
                "it wants https: let it trust `X-Forwarded-Proto` from this machine"
            }
            Some(_) if path.trim_end_matches('/') == self.url.path().trim_end_matches('/') => {
                "write `app` with or without the slash at its end, as the application has it"
            }
            _ => "it wants a login, or is elsewhere: exempt the address `app` from logins",
        };
        format!("redirects ({}) to the path {path:?}, which is not followed: {why}", status.as_u16())
    }
}

impl Answer {
    /// The code and the sentence of an error.
    pub(super) fn error(&self) -> Option<(&str, &str)> {
        let json = self.json.as_ref()?;
        Some((json["code"].as_str().filter(|code| !code.is_empty())?, json["message"].as_str()?))
    }
}

/// What an answer has; no body if it is too long.
async fn read(mut response: Response) -> Result<(HeaderMap, StatusCode, Option<Bytes>), reqwest::Error> {
    let (headers, status) = (response.headers().clone(), response.status());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST_ANSWER {
            return Ok((headers, status, None));
        }
    }
    Ok((headers, status, Some(body.into())))
}

/// The last cause of an error, which says more than the first.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The clock of the signatures, in Unix seconds.
#[expect(clippy::disallowed_methods, reason = "it is a clock")]
pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64)
}
