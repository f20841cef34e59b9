//! The rule for addresses that a customer may be sent to: the same for a `checkout_url`, a `redirect_url` and a next
//! action.

use super::{Invalid, text_value};
use crate::platform::origin_of;
use std::fmt;

/// An address that may be followed: absolute https (http only for loopback and `.test`), no userinfo, and nothing that
/// a parser would correct.
///
/// Prints only its origin, because the rest may contain a secret.
///
/// ```
/// use guichet::values::Address;
/// assert_eq!(Address::new("https://pay.example.com/checkout").unwrap().origin(), "https://pay.example.com");
/// assert!(Address::new("http://pay.example.com").is_err());
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct Address {
    text: String,
    origin: String,
}

impl Address {
    /// Checks the text as it was sent, before a parser corrects it, and then the parsed address.
    ///
    /// # Errors
    /// [`Invalid`] says which rule the text breaks. It never repeats the text, which may carry a secret.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        check_text(text)?;
        let origin = origin_of(text).ok_or(Invalid::because(NOT_ABSOLUTE))?;
        if origin.starts_with("https://") || origin.strip_prefix("http://").is_some_and(is_local) {
            return Ok(Self { text: text.to_owned(), origin });
        }
        Err(Invalid::because(
            "The address must begin with https:// (http:// is for localhost, *.localhost, *.test, 127.0.0.0/8 and [::1]).",
        ))
    }

    /// The text as it was sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({}/***)", self.origin)
    }
}

/// The rules on the text alone: an absolute address with an authority, of at most 2,048 characters.
fn check_text(text: &str) -> Result<(), Invalid> {
    let reason = if text.bytes().filter(|byte| byte & 0xC0 != 0x80).count() > 2048 {
        "The address is longer than 2,048 characters."
    } else if text.bytes().any(|byte| byte.is_ascii_control() || byte == b'\\') {
        "The address holds a control character or a backslash."
    } else if text.starts_with(' ') || text.ends_with(' ') {
        "The address begins or ends with a space."
    } else {
        // A parser also accepts `https:host` and `https:///host` and corrects them to two slashes.
        let scheme = text.bytes().take_while(|byte| *byte != b':').count();
        let after_the_scheme = text.get(scheme..).and_then(|rest| rest.strip_prefix("://")).unwrap_or_default();
        let mut authority = after_the_scheme.bytes().take_while(|byte| !matches!(byte, b'/' | b'?' | b'#')).peekable();
        if authority.peek().is_none() {
            NOT_ABSOLUTE
        } else if authority.any(|byte| byte == b'@') {
            // Checked on the text, because a parser drops an empty user name (`https://@host`).
            "The address may hold no user name and no password."
        } else {
            return Ok(());
        }
    };
    Err(Invalid::because(reason))
}

const NOT_ABSOLUTE: &str = "The address is not absolute: https://example.com/path.";

/// Loopback, or a name under `.test`, which belongs to nobody (RFC 6761): a developer's own machines.
fn is_local(host: &str) -> bool {
    is_loopback(host) || without_port(host).ends_with(".test")
}

/// `localhost` and the names under it (RFC 6761), 127.0.0.0/8 and `[::1]`, as the parser writes them, with or without a
/// port.
pub fn is_loopback(host: &str) -> bool {
    let name = without_port(host);
    // A host of digits and points alone is an IPv4 address, which the parser has written in full.
    let is_ipv4 = || name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    name == "localhost"
        || name.ends_with(".localhost")
        || host.starts_with("[::1]")
        || name.starts_with("127.") && is_ipv4()
}

/// The name or the IPv4 address. Not by `split_once`, whose search adds 0.3 KB to a page's module.
fn without_port(host: &str) -> &str {
    let end = host.bytes().take_while(|byte| *byte != b':').count();
    host.get(..end).unwrap_or(host)
}

text_value! {
    /// The address a customer is sent back to after paying, checked by the rule of [`Address`].
    RedirectUrl is "https://shop.example.com/return" not "/return", |text| Address::new(text).map(drop), described {
        "format": "redirect-url",
        "maxLength": 2048,
        "pattern": r"^[hH][tT][tT][pP][sS]?://[^/?#@\u0000-\u0020\u005c\u007f][^\u0000-\u001f\u005c\u007f]*$",
    }
}
