//! The file `shop.toml`.

use crate::connection::variable;
use guichet::native::Profile;
use guichet::values::{Address, is_loopback};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use url::Url;

/// What `shop.toml` has. A file that it names, and that of the database, is relative to its own folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    /// The shop's name in messages: their `audience`.
    pub name: String,
    /// The application's one address.
    pub app: Url,
    /// The Unix socket on which the application listens, instead of a port of the host of `app`.
    pub app_socket: Option<PathBuf>,
    /// Whether the application may be called over plain http on another host.
    #[serde(default)]
    pub private_network: bool,
    /// The file of the secret that signs messages.
    #[serde(default = "app_secret")]
    pub app_secret: PathBuf,
    /// The shop's origin, as browsers name it.
    pub public_url: String,
    /// Origins of the shop's pages, besides `public_url`.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Where the routes are served.
    #[serde(default = "listen")]
    pub listen: SocketAddr,
    /// The path of the routes.
    #[serde(default = "path")]
    pub path: String,
    /// The orders and sessions: `sqlite:` and a file, `postgres://…`, or `memory:`.
    #[serde(default = "database")]
    pub database: String,
    /// The address of the payment service.
    pub service: Option<String>,
    /// The file of the payment company's profile.
    profile: Option<PathBuf>,
    /// The profile in that file.
    #[serde(skip)]
    pub company: Option<Profile>,
    /// Hosts of a sandbox that a test key may be sent to over plain http.
    #[serde(default)]
    pub plain_hosts: Vec<String>,
    /// Origins that a `checkout_url` may have, if they are not the service's.
    #[serde(default)]
    pub checkout_origins: Vec<String>,
    /// Whether methods and fees are served, for pages with `publicReads: "merchant"`.
    #[serde(default)]
    pub public_reads: bool,
    /// Where customers return to, if a purchase names no `redirect_url`.
    pub redirect_url: Option<String>,
    /// After how many days a payment's personal data are deleted.
    pub keep_days: Option<u16>,
    /// Where the bookkeeper's page is served; none: it is not.
    pub admin: Option<Admin>,
}

/// Where the bookkeeper's page is served, and so who may open it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub(super) enum Admin {
    /// At a loopback address of its own: each user of this machine opens it.
    At(SocketAddr),
    /// Beside the routes: the shop's customers to whom the application gives the role `bookkeeper` open it.
    Bookkeeper,
}

impl TryFrom<String> for Admin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == "bookkeeper" {
            return Ok(Self::Bookkeeper);
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::At(address)),
            Ok(address) => Err(format!(
                "`admin`: other machines may reach {address}. Name a loopback address such as 127.0.0.1:4245, or \
                 \"bookkeeper\"."
            )),
            Err(_) => Err(format!(
                "`admin` is a loopback address with a port, such as \"127.0.0.1:4245\", or \"bookkeeper\", \
                 not {text:?}."
            )),
        }
    }
}

/// Names the database, such as one with a password.
const DATABASE: &str = "GUICHET_DATABASE_URL";

fn app_secret() -> PathBuf {
    "app-secret".into()
}

fn listen() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 4244).into()
}

fn path() -> String {
    "/guichet".to_owned()
}

fn database() -> String {
    "sqlite:.guichet/shop.sqlite".to_owned()
}

impl Config {
    /// Reads a file. The process then works in its folder.
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        let unusable = |why: &dyn std::fmt::Display| format!("{} cannot be used: {why}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| {
            unusable(&format_args!("{error}. `guichet shop init` writes one; --config names another."))
        })?;
        // Without the line itself: it may have a password.
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].lines().count().max(1));
            let line = line.map(|line| format!("near line {line}: ")).unwrap_or_default();
            unusable(&format_args!("{line}{}", error.message()))
        })?;
        if let Some(database) = variable(DATABASE) {
            config.database = database;
        }
        config.check().map_err(|why| unusable(&why))?;
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::env::set_current_dir(folder).map_err(|error| unusable(&error))?;
        }
        config.company = config.read_profile()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let is_name = (1..=64).contains(&self.name.len()) && self.name.bytes().all(|one| one.is_ascii_graphic());
        if !is_name {
            return Err("`name` is 1 to 64 letters, digits and signs, without a space.".to_owned());
        }
        if !self.path.starts_with('/') || self.path.ends_with('/') || self.path.contains(['{', '}', '?', '#']) {
            return Err("`path` is a path such as /guichet, without a slash at its end.".to_owned());
        }
        let address = Address::new(&self.public_url).map_err(|invalid| format!("`public_url`: {invalid}"))?;
        if address.as_str().trim_end_matches('/') != address.origin() {
            return Err("`public_url` is an origin, https://www.shop.example, without a path.".to_owned());
        }
        let host = self.app.host_str().unwrap_or_default();
        match self.app.scheme() {
            _ if self.app.username() != "" || self.app.password().is_some() || self.app.fragment().is_some() => {
                Err("`app` has no user name, password or fragment.".to_owned())
            }
            "https" => Ok(()),
            "http" if self.is_here() || self.private_network => Ok(()),
            "http" => Err(format!(
                "`app` names {host} over plain http, so logins and prices would cross the network unencrypted. Use https, an application on this \
                 machine, or `app_socket`; if no other person can read or write that network, set private_network = true."
            )),
            _ => Err("`app` begins with https://, or for an application on this machine with http://.".to_owned()),
        }
    }

    /// Whether the application is on this machine.
    pub(super) fn is_here(&self) -> bool {
        self.app_socket.is_some() || self.app.host_str().is_some_and(is_loopback)
    }

    fn read_profile(&self) -> Result<Option<Profile>, String> {
        let Some(file) = &self.profile else { return Ok(None) };
        let named = |why: &dyn std::fmt::Display| format!("`profile`: {}: {why}", file.display());
        let json = std::fs::read_to_string(file).map_err(|error| named(&error))?;
        Profile::new(&json).map(Some).map_err(|invalid| named(&invalid))
    }

    /// The address to which a customer returns.
    pub(super) fn redirect_url(&self) -> String {
        let default = || format!("{}{}/return", self.public_url.trim_end_matches('/'), self.path);
        self.redirect_url.clone().unwrap_or_else(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<(), String> {
        let text = format!("name = \"shoes\"\npublic_url = \"https://www.shop.example\"\n{line}");
        toml::from_str::<Config>(&text).map_err(|error| error.to_string())?.check()
    }

    #[test]
    fn logins_and_prices_cross_a_network_in_clear_only_if_the_file_says_so() {
        for line in [
            "app = \"https://app.shop.example/payments\"",
            "app = \"http://127.0.0.1:8000/payments\"",
            "app = \"http://[::1]:8000/payments\"",
            "app = \"http://app/payments\"\napp_socket = \"/run/app.sock\"",
            "app = \"http://app:8000/payments\"\nprivate_network = true",
        ] {
            assert_eq!(check(line), Ok(()), "{line}");
        }
        for line in
            ["app = \"http://app:8000/payments\"", "app = \"ftp://127.0.0.1\"", "app = \"http://u:p@127.0.0.1/\""]
        {
            assert!(check(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_bookkeepers_page_is_at_a_loopback_address_or_behind_the_sign_in() {
        let read = |admin: &str| Admin::try_from(admin.to_owned());
        assert_eq!(read("bookkeeper"), Ok(Admin::Bookkeeper));
        for address in ["127.0.0.1:4245", "127.0.0.1:0", "127.0.0.2:4245", "[::1]:4245"] {
            assert_eq!(read(address), Ok(Admin::At(address.parse().unwrap())), "{address}");
        }
        for wrong in [
            "loopback",
            "",
            "0.0.0.0:4245",
            "[::]:4245",
            "192.168.1.4:4245",
            "127.0.0.1",
            "localhost:4245",
            "Bookkeeper",
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains("127.0.0.1:4245") && error.contains("\"bookkeeper\""), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_wrong_member_is_named() {
        let error = check("app = \"http://127.0.0.1:8000\"\nlisten_on = 3").unwrap_err();
        assert!(error.contains("listen_on"), "{error}");
        for line in ["path = \"guichet\"", "path = \"/\""] {
            assert!(check(&format!("app = \"http://127.0.0.1:8000\"\n{line}")).is_err(), "{line}");
        }
    }
}
