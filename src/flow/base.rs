//! The address of the service.

use crate::values::{Address, Invalid};

/// The address of a service, to which a request's target (`/v1/…`) is appended.
///
/// ```
/// use guichet::flow::Base;
/// let base = Base::new("https://api.example.com/v1", None).unwrap();
/// assert_eq!(base.with("/v1/customers"), "https://api.example.com/v1/customers");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Base {
    root: String,
    origin: String,
    /// The origin, if the root is a path.
    before: String,
}

const NO_PATH: &str = "Give an absolute address, or a path of the page's origin.";

impl Base {
    /// Reads `https://api.example.com`, with or without a path, with or without `/v1`; or `/pay`, a path of the page's
    /// own origin.
    ///
    /// # Errors
    /// [`Invalid`] if the address breaks the rules of [`Address`] (plain http is for loopback) or has a query or a
    /// fragment, or if it is a path and there is no page.
    pub fn new(text: &str, page_origin: Option<&str>) -> Result<Self, Invalid> {
        if text.bytes().any(|byte| matches!(byte, b'?' | b'#')) {
            return Err(Invalid::because("The address may have no query and no fragment."));
        }
        let root = service_root(text);
        // A path is checked as the address that it becomes, so that no parser sees more than a path in it.
        if text.starts_with('/') {
            // A page that its address does not tell, such as that of `srcdoc`, has the origin "null".
            let origin = page_origin.filter(|origin| *origin != "null");
            let origin = origin.ok_or(Invalid::because(NO_PATH))?;
            if text.starts_with("//")
                || text.bytes().any(|byte| byte.is_ascii_control() || matches!(byte, b' ' | b'\\'))
            {
                return Err(Invalid::because(NO_PATH));
            }
            return Ok(Self { root: root.to_owned(), origin: origin.to_owned(), before: origin.to_owned() });
        }
        let origin = Address::new(text)?.origin().to_owned();
        Ok(Self { root: root.to_owned(), origin, before: String::new() })
    }

    /// The whole address of a request's target. A path is one of the page's own origin, whatever `<base>` the page has.
    #[must_use]
    pub fn with(&self, target: &str) -> String {
        [&*self.before, &self.root, target].concat()
    }

    /// The address or the path as it was given, without `/v1` and a slash at its end.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

/// The address that a request's target is appended to: without `/v1`, which every target has, and without a slash at
/// its end.
pub(crate) fn service_root(text: &str) -> &str {
    let root = without_slashes(text);
    without_slashes(root.strip_suffix("/v1").unwrap_or(root))
}

/// An address without the slashes at its end.
pub(crate) fn without_slashes(mut text: &str) -> &str {
    while let Some(shorter) = text.strip_suffix('/') {
        text = shorter;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The package's loader and the server follow the same: `tests/rules/run.mjs` and `tests/shop/run.mjs`.
    #[test]
    fn v1_is_added_once_and_an_address_that_leads_elsewhere_is_refused() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/rules/addresses.json")).expect("JSON");
        for case in ["anywhere", "pages"].iter().flat_map(|group| cases[group].as_array().expect("cases")) {
            let base = Base::new(case["address"].as_str().expect("a text"), case["origin"].as_str());
            match case["root"].as_str() {
                Some(root) => assert_eq!(base.expect(root).with("/v1/x"), [root, "/v1/x"].concat(), "{case}"),
                None => assert!(base.is_err(), "{case}"),
            }
        }
    }

    #[test]
    fn the_origin_of_a_path_is_that_of_the_page() {
        let origin_of = |text| Base::new(text, Some("https://shop.example")).unwrap().origin().to_owned();
        assert_eq!(origin_of("/pay/v1"), "https://shop.example");
        assert_eq!(origin_of("https://api.example.com/pay"), "https://api.example.com");
    }
}
