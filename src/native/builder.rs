use super::http::HttpOptions;
use super::transport::Shared;
use super::{Client, Environment, Profile, SecretKey, Transport};
use crate::flow::service_root;
use crate::protocol::{DEFAULT_DEADLINE, Error, Kind};
use crate::values::is_loopback;
use std::fmt;
use std::time::Duration;
use url::Url;

/// Builds a [`Client`], or a [`Transport`]. `build` checks every address, before a credential is sent anywhere.
///
/// ```
/// use guichet::{Client, SecretKey};
/// use std::time::Duration;
/// let client = Client::builder("http://127.0.0.1:4243", SecretKey::new("sk_test_1")?)
///     .deadline(Duration::from_secs(10))
///     .connect_timeout(Duration::from_secs(2))
///     .user_agent_suffix("shoeshop/1.4")
///     .build();
/// # #[cfg(feature = "native")]
/// client?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder makes nothing until `build`"]
pub struct ClientBuilder<C = SecretKey> {
    base_url: String,
    gateway_url: Option<String>,
    profile: Option<Profile>,
    plain_hosts: Vec<String>,
    deadline: Duration,
    credential: C,
    http: HttpOptions,
    http_client: Option<reqwest::Client>,
}

/// Without addresses and proxies, which may contain a password.
impl<C> fmt::Debug for ClientBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl<C> ClientBuilder<C> {
    pub(super) fn new(base_url: &str, credential: C) -> Self {
        Self {
            base_url: base_url.to_owned(),
            gateway_url: None,
            profile: None,
            plain_hosts: Vec::new(),
            deadline: DEFAULT_DEADLINE,
            credential,
            http: HttpOptions::default(),
            http_client: None,
        }
    }

    /// Sets the address where payment intents are created, for a service that has another one for it. Default: the base
    /// address.
    pub fn gateway_url(mut self, gateway_url: &str) -> Self {
        self.gateway_url = Some(gateway_url.to_owned());
        self
    }

    /// Reads, finds and cancels a ledger's payments as this profile says, and creates them at its gateway address. If
    /// the base address is not the profile's, such as that of a sandbox, its `gateway_url` and `checkout_origins` are
    /// not used.
    ///
    /// ```
    /// # fn open(json: &str, key: guichet::SecretKey) -> Result<(), Box<dyn std::error::Error>> {
    /// use guichet::{Client, native::Profile};
    /// let profile = Profile::new(json)?;
    /// let client = Client::builder(&profile.base_url.clone(), key).profile(profile);
    /// # Ok(()) }
    /// ```
    pub fn profile(mut self, mut profile: Profile) -> Self {
        if service_root(&self.base_url) != service_root(&profile.base_url) {
            (profile.gateway_url, profile.checkout_origins) = (None, Vec::new());
        }
        self.gateway_url = self.gateway_url.or_else(|| profile.gateway_url.clone());
        self.profile = Some(profile);
        self
    }

    /// Sets the time limit of one call: all its attempts and pauses together. Default: 30 seconds.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Allows plain http to this host for a *test* key: a sandbox on another machine or in a container. Loopback does
    /// not need it, and a live key is never sent over plain http.
    pub fn allow_plain_http(mut self, host: &str) -> Self {
        self.plain_hosts.push(host.to_owned());
        self
    }

    /// Sets the time limit for making one connection. Default: what the deadline leaves.
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.http.connect_timeout = Some(connect_timeout);
        self
    }

    /// Sends through this proxy. It may be repeated: the first proxy that accepts an address is used. The environment's
    /// proxies (`HTTPS_PROXY`) are not used: a proxy reads what is sent over plain http.
    pub fn proxy(mut self, proxy: reqwest::Proxy) -> Self {
        self.http.proxies.push(proxy);
        self
    }

    /// Trusts this root certificate beside the machine's own. It may be repeated.
    pub fn root_certificate(mut self, root: reqwest::Certificate) -> Self {
        self.http.roots.push(root);
        self
    }

    /// Appends the application's name to the `User-Agent`: `guichet/0.1.0 shoeshop/1.4`.
    pub fn user_agent_suffix(mut self, suffix: &str) -> Self {
        self.http.user_agent_suffix = Some(suffix.to_owned());
        self
    }

    /// Sends through the application's own HTTP client, with its connections, timeouts, TLS, `User-Agent` and proxies
    /// (those of the environment too, unless it has `no_proxy()`).
    ///
    /// It must not follow redirects (`redirect(reqwest::redirect::Policy::none())`): a redirect sends the body, such as
    /// a card number, to another address before guichet sees it. A reply from another address is an error of kind
    /// `address`, or `uncertain` if the operation may have been executed. It must not retry
    /// (`retry(reqwest::retry::never())`): a retry may charge twice.
    pub fn http_client(mut self, http_client: reqwest::Client) -> Self {
        self.http_client = Some(http_client);
        self
    }

    /// Checks the addresses and sets up the HTTP client. Returns what is sent with, and the credential.
    fn set_up(self, is_test: bool) -> Result<(Transport, C), Error> {
        let base = self.checked("base_url", &self.base_url, is_test)?;
        let gateway = match &self.gateway_url {
            Some(gateway_url) => self.checked("gateway_url", gateway_url, is_test)?,
            None => base.clone(),
        };
        let is_plain = [&base, &gateway].iter().any(|address| address.scheme() == "http");
        if is_plain && self.http.has_proxy() && !is_test {
            let message =
                "A proxy can read a live key that is sent over plain http. Use an https address, or no proxy.";
            return Err(Error::new(Kind::Input, message));
        }
        // A proxy may use TLS too.
        let encrypted = self.http.has_proxy() || [&base, &gateway].iter().any(|address| address.scheme() == "https");
        let is_from_application = self.http_client.is_some();
        let http = match self.http_client {
            None => self.http.build(encrypted)?,
            Some(http_client) if self.http.is_default() => http_client,
            Some(_) => {
                let message = "`http_client` brings its own connect timeout, proxies, root certificates and user agent. Set them on the \
                               `reqwest::Client`, and not on this builder.";
                return Err(Error::new(Kind::Input, message));
            }
        };
        let shared = Shared { base, gateway, profile: self.profile, http, is_from_application };
        Ok((Transport::new(shared, self.deadline), self.credential))
    }

    /// Checks an address. Returns it without `/v1`, which every call adds, and without a slash at its end.
    fn checked(&self, name: &str, text: &str, is_test: bool) -> Result<Url, Error> {
        let refuse = |why: &str| Error::new(Kind::Input, format!("{name}: {why}"));
        let url = Url::parse(text).map_err(|_| refuse("It is not an absolute address: https://api.example.com."))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("An address holds no user name and no password."));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("An address holds no query and no fragment: https://api.example.com."));
        }
        match url.scheme() {
            "https" => {}
            "http" if url.host_str().is_some_and(is_loopback) => {}
            "http" if !self.plain_hosts.iter().any(|host| Some(host.as_str()) == url.host_str()) => {
                return Err(refuse(
                    "A secret key is sent over https alone (plain http is for this machine: localhost, names under .localhost, 127.0.0.0/8, \
                     [::1]). For a sandbox on another host, use a test key and `.allow_plain_http(host)`.",
                ));
            }
            "http" if !is_test => {
                return Err(refuse("Only a test key (sk_test_…) may be sent over plain http, whatever the host."));
            }
            "http" => {}
            _ => return Err(refuse("An address begins with https://.")),
        }
        Url::parse(service_root(url.as_str())).map_err(|_| refuse("It is not an absolute address."))
    }
}

impl ClientBuilder {
    /// Builds the client.
    ///
    /// # Errors
    /// Kind `input` if an address is invalid or a key may not be sent to it, if an HTTP client is given together with
    /// options that it must set itself, or if TLS cannot be set up.
    pub fn build(self) -> Result<Client, Error> {
        let is_test = self.credential.is_test();
        let (transport, key) = self.set_up(is_test)?;
        Ok(Client::new(key, transport))
    }
}

impl ClientBuilder<Environment> {
    /// Builds the transport.
    ///
    /// # Errors
    /// As [`ClientBuilder::build`].
    pub fn build(self) -> Result<Transport, Error> {
        let is_test = self.credential == Environment::Test;
        Ok(self.set_up(is_test)?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::ListPlans;
    use serde_json::Value;

    fn builder(base_url: &str, key: &str) -> ClientBuilder {
        ClientBuilder::new(base_url, SecretKey::new(key).expect("a key"))
    }

    fn url_of(client: &Client, target: &str) -> String {
        let mut request = Transport::request(&ListPlans::new()).expect("a request");
        request.target = target.to_owned();
        client.transport().url(&request).to_string()
    }

    #[test]
    fn a_target_changes_neither_host_nor_its_own_encoding_and_v1_is_added_once() {
        for (base_url, target, url) in [
            ("https://example.com/pay/v1/", "/v1/x", "https://example.com/pay/v1/x"),
            ("https://example.com", "/v1/x/a%2Fb?q=%26&r=%3F", "https://example.com/v1/x/a%2Fb?q=%26&r=%3F"),
            ("https://example.com//evil.example", "/v1/x", "https://example.com//evil.example/v1/x"),
        ] {
            let client = builder(base_url, "sk_test_1").build().expect("a good address");
            assert_eq!(url_of(&client, target), url);
        }
    }

    #[test]
    fn the_addresses_of_a_profile_are_used_at_its_base_address_only() {
        let json = r#"{"base_url": "https://api.example.com", "gateway_url": "https://gateway.example.com",
            "checkout_origins": ["https://pay.example.com"], "read": {"method": "GET", "path": "/charges/{id}"}}"#;
        for (base_url, is_used) in [("https://api.example.com/v1/", true), ("http://127.0.0.1:4243", false)] {
            let client = builder(base_url, "sk_test_1").profile(Profile::new(json).expect("a profile")).build();
            let client = client.expect("good addresses");
            assert_eq!(format!("{:?}", client.transport()).contains("gateway.example.com"), is_used, "{base_url}");
            assert_eq!(
                client.profile().map(|profile| profile.checkout_origins.is_empty()),
                Some(!is_used),
                "{base_url}"
            );
        }
    }

    /// guichet-server passes the same: `tests/shop/run.mjs`.
    #[test]
    fn a_key_is_sent_to_the_right_addresses_alone() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/rules/addresses.json")).expect("JSON");
        for case in ["anywhere", "servers"].iter().flat_map(|group| cases[group].as_array().expect("cases")) {
            let key = case["key"].as_str().unwrap_or("sk_live_1");
            let hosts = case["plain_hosts"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let builder = builder(case["address"].as_str().expect("a text"), key);
            let client = hosts.fold(builder, ClientBuilder::allow_plain_http).build();
            match case["root"].as_str() {
                Some(root) => {
                    assert_eq!(url_of(&client.expect(root), "/v1/x"), [root, "/v1/x"].concat(), "{case}");
                }
                None => assert_eq!(client.expect_err("it is refused").kind(), Kind::Input, "{case}"),
            }
        }
    }

    #[test]
    fn no_proxy_reads_a_live_key() {
        let over = |base_url: &str, key: &str| {
            let proxy = reqwest::Proxy::all("http://user:password@127.0.0.1:3128").expect("a proxy");
            builder(base_url, key).proxy(proxy)
        };
        assert!(over("http://127.0.0.1:4243", "sk_test_1").build().is_ok());
        assert!(over("https://api.example.com", "sk_live_1").build().is_ok());
        let error = over("http://127.0.0.1:4243", "sk_live_1").build().expect_err("the proxy could read the key");
        assert_eq!(error.kind(), Kind::Input);
        assert!(!format!("{:?}", over("https://api.example.com", "sk_live_1")).contains("password"));
    }

    #[test]
    fn the_gateway_is_checked_as_the_base_is() {
        let error = builder("https://api.example.com", "sk_test_1")
            .gateway_url("http://gateway.example.com")
            .build()
            .expect_err("plain http");
        assert!(error.message().starts_with("gateway_url"), "{error}");
    }

    #[test]
    fn an_address_with_a_password_is_refused_and_not_repeated() {
        let error = builder("https://user:hunter2@api.example.com", "sk_test_1").build().expect_err("userinfo");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
