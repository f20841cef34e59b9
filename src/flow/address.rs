//! The addresses that a customer may be sent to, and the address of the hosted page.

use super::query::{cut, is_one_of, join, pieces, split, value, without};
use crate::protocol::percent_encode;
use crate::values::{Address, Invalid, after_its_prefix, any_word, is_key};

/// Checks the address of a `checkout_url`: it must pass the rules of [`Address`], and its origin must be one of
/// `allowed`.
///
/// # Errors
/// [`Invalid`] says which rule it breaks. For an origin that is not allowed, it names the origin and the option to set.
/// It never shows the rest of the address, which contains the client secret.
pub fn checkout_address(text: &str, allowed: &[String]) -> Result<Address, Invalid> {
    within(text, allowed, "checkoutOrigins")
}

/// The address that a customer is sent to from the hosted page: the `redirect_url` of the intent's own reply, with
/// `parameters` appended. Other parameters and the fragment stay as they are.
///
/// `parameters` are names and values: `payment_intent`, `payment_ref`, `merchant_reference`, `status`, as far as they
/// are known, and never the client secret. An empty `allowed` allows every origin.
///
/// # Errors
/// [`Invalid`] says which rule the address breaks.
pub fn redirect_address(text: &str, allowed: &[String], parameters: &[(&str, &str)]) -> Result<String, Invalid> {
    if allowed.is_empty() {
        Address::new(text)?;
    } else {
        within(text, allowed, "redirectOrigins")?;
    }
    let (before, query, fragment) = split(text);
    let mut query = String::from(query.unwrap_or_default());
    for (name, value) in parameters {
        if !query.is_empty() && !query.ends_with('&') {
            query += "&";
        }
        query += name;
        query += "=";
        percent_encode(&mut query, value);
    }
    Ok(join(before, &query, fragment))
}

/// The path of an operation in a service that has it at another path. `{id}` is replaced by the intent's identifier.
///
/// # Errors
/// [`Invalid`] says what the path must look like.
pub fn path_of(template: &str, id: &str) -> Result<String, Invalid> {
    let invalid =
        || Invalid::because("A path begins with one /, and holds {id} once, and no query: /v2/payments/{id}.");
    let (before, after) = cut(template, b'{');
    let after = after.and_then(|after| after.strip_prefix("id}")).ok_or_else(invalid)?;
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/-._~:@!$&'()*+,;=%".contains(c));
    let is_whole =
        template.starts_with('/') && !template.split('/').skip(1).any(|part| matches!(part, "" | "." | ".."));
    if !is_whole || !is_plain(before) || !is_plain(after) {
        return Err(invalid());
    }
    let mut path = String::from(before);
    percent_encode(&mut path, id);
    path.push_str(after);
    Ok(path)
}

fn within(text: &str, allowed: &[String], option: &str) -> Result<Address, Invalid> {
    let address = Address::new(text)?;
    if allowed.iter().any(|origin| origin == address.origin()) {
        return Ok(address);
    }
    let reason = ["The address leads to ", address.origin(), ", which is not in ", option, "."];
    Err(Invalid::because(reason.concat()))
}

/// The contents of a hosted checkout page's address.
///
/// It has no `Debug`, because it contains the client secret.
///
/// ```
/// let opened = guichet::flow::open("https://pay.example.com/checkout/pi_1#client_secret=pi_1_secret_2");
/// assert_eq!(opened.id.as_deref(), Some("pi_1"));
/// assert_eq!(opened.clean, "https://pay.example.com/checkout/pi_1");
/// ```
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub struct Opened {
    /// The intent's identifier: the parameter `payment_intent`, or else the last segment of the path.
    pub id: Option<String>,
    /// The client secret, from the fragment or the query.
    pub client_secret: Option<String>,
    /// The address without the client secret.
    pub clean: String,
}

const SECRETS: [&str; 2] = ["client_secret", "payment_intent_client_secret"];

/// Reads the address of a hosted checkout page. Takes the client secret from the fragment, which reaches no log, or
/// else from the query, where other services may put it.
#[must_use]
pub fn open(address: &str) -> Opened {
    let (before, query, fragment) = split(address);
    let query = pieces(query.unwrap_or_default(), &SECRETS);
    let in_fragment = pieces(fragment.unwrap_or_default(), &[]);
    let find = |wanted: &str| value(&in_fragment, wanted).or_else(|| value(&query, wanted));
    let path = cut(before, b':').1.and_then(|rest| rest.strip_prefix("//")).unwrap_or(before);
    let segment = path.split_once('/').and_then(|(_, path)| path.rsplit('/').find(|segment| !segment.is_empty()));
    // A fragment without a secret belongs to the page and stays unchanged.
    let kept = match fragment {
        Some(_) if in_fragment.iter().any(|piece| is_one_of(piece, &SECRETS)) => {
            Some(without(&in_fragment, &SECRETS, "")).filter(|kept| !kept.is_empty())
        }
        fragment => fragment.map(String::from),
    };
    Opened {
        id: find("payment_intent").or_else(|| segment.map(crate::platform::form_decode)),
        client_secret: SECRETS.iter().find_map(|name| find(name)),
        clean: join(before, &without(&query, &SECRETS, ""), kept.as_deref()),
    }
}

/// Whether a text contains a merchant's secret key: an address, a sentence or a header, with other words around the
/// key.
///
/// Looks for the beginning of a whole key, because a harmless text may contain a word such as `sk_SK`, the language of
/// Slovakia, or `rk_17`, a reference.
#[must_use]
pub fn carries_a_secret_key(text: &str) -> bool {
    let is_of_a_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    any_word(text, is_of_a_word, |word| match after_its_prefix(word) {
        Some(rest) => {
            let is_long = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count() >= 20;
            is_long || [&b"test_"[..], b"live_", b"sandbox_"].iter().any(|mode| rest.starts_with(mode))
        }
        None => is_key(word),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const HONEST: &[&str] = &[
        "https://pay.example.com",
        "https://pay.example.com/",
        "https://pay.example.com/checkout/pi_1#client_secret=s",
        "https://pay.example.com:8443/checkout/pi_1?lang=fr",
        "https://PAY.example.com/checkout",
        "https://café.example/checkout/été?q=a@b",
        "https://пример.example/оплата",
        "https://pay.example.com/a@b",
        "https://pay.example.com/?next=https://other.example",
        "http://localhost:4243/checkout/pi_1",
        "http://127.0.0.1:4243/checkout/pi_1",
        "http://127.8.9.1/",
        "http://[::1]:4243/checkout",
        "http://shop.localhost:8000/return",
        "http://shop.test/return",
        "http://a.shop.test:8000/",
        "https://[2001:db8::1]/checkout",
        "https://xn--caf-dma.example/",
    ];

    const HOSTILE: &[&str] = &[
        "",
        " ",
        " https://pay.example.com",
        "https://pay.example.com ",
        "\u{a0}https://pay.example.com",
        "https://pay.example.com\u{3000}",
        "https://pay.example.com/\n",
        "https://pay.exa\tmple.com",
        "java\nscript:alert(1)",
        "https://pay.example.com/\u{7f}",
        "https://pay.example.com/\0",
        "https:\\\\pay.example.com",
        "https://pay.example.com\\@evil.example",
        "\\\\evil.example",
        "//evil.example",
        "///evil.example",
        "/checkout/pi_1",
        "checkout",
        "?a=b",
        "#client_secret=s",
        "https:",
        "https:/",
        "https://",
        "https:///evil.example",
        "https:evil.example",
        "https:/evil.example",
        "https://?a=b",
        "https://#a",
        "http://pay.example.com",
        "http://192.168.1.1/",
        "http://10.0.0.1/",
        "http://128.0.0.1/",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/",
        "http://notlocalhost/",
        "http://shop.localhost.evil.example/",
        "http://test/",
        "http://notest/",
        "http://shop.test.evil.example:80/",
        "http://[::2]/",
        "http://0.0.0.0/",
        "https://user@pay.example.com",
        "https://user:pass@pay.example.com",
        "https://:@pay.example.com",
        "https://@pay.example.com",
        "https://pay.example.com@evil.example",
        "https://pay.example.com:443@evil.example",
        "javascript:alert(1)",
        "javascript://pay.example.com/%0aalert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>",
        "blob:https://pay.example.com/1",
        "file:///etc/passwd",
        "ftp://pay.example.com/",
        "ws://localhost/",
        "intent://pay.example.com#Intent;end",
        "view-source:https://pay.example.com",
        "about:blank",
        "https://pay example.com",
        "https://pay.example.com:99999/",
        "https://[::1",
        "https://pay.exa%00mple.com/",
        "https://pay.exa<mple.com/",
    ];

    #[test]
    fn honest_addresses_are_followed_and_hostile_ones_are_not() {
        for address in HONEST {
            let Ok(followed) = Address::new(address) else { panic!("{address} is honest") };
            assert_eq!(followed.as_str(), *address);
        }
        for address in HOSTILE {
            assert!(Address::new(address).is_err(), "{address:?} is hostile");
        }
        let longest = "https://pay.example.com/".to_owned() + &"é".repeat(2048 - 24);
        assert!(Address::new(&longest).is_ok());
        assert!(Address::new(&(longest + "é")).is_err());
    }

    #[test]
    fn a_checkout_of_another_origin_is_refused_with_the_option_to_set_and_no_secret() {
        let allowed = ["https://pay.example.com".to_owned()];
        assert!(checkout_address("https://pay.example.com/checkout/pi_1#client_secret=hush", &allowed).is_ok());
        assert!(checkout_address("https://PAY.example.com:443/checkout", &allowed).is_ok());
        for other in [
            "https://evil.example/#client_secret=hush",
            "https://pay.example.com:8443/#client_secret=hush",
            "http://localhost/#hush",
        ] {
            let Err(refused) = checkout_address(other, &allowed) else { panic!("{other} was followed") };
            assert!(refused.reason().contains("checkoutOrigins"), "{refused}");
            assert!(!refused.reason().contains("hush"), "{refused}");
        }
        let Err(refused) = checkout_address("https://evil.example/x", &allowed) else { panic!("followed") };
        assert!(refused.reason().contains("https://evil.example,"), "{refused}");
        let followed = checkout_address("https://pay.example.com/#client_secret=hush", &allowed).unwrap();
        assert_eq!(format!("{followed:?}"), "Address(https://pay.example.com/***)");
    }

    #[test]
    fn an_operation_is_found_where_its_service_has_it() {
        assert_eq!(path_of("/v2/payments/{id}", "pi_1").unwrap(), "/v2/payments/pi_1");
        assert_eq!(path_of("/pay/{id}:charge", "a/b c").unwrap(), "/pay/a%2Fb%20c:charge");
        for other in [
            "",
            "/v2/payments",
            "{id}",
            "v2/{id}",
            "//evil.example/{id}",
            "/v2/{id}/{id}",
            "/v2/{ref}",
            "/v2/{id}?a=b",
            "/v2/{id}#a",
            "/v2/../{id}",
            "/v2/./{id}",
            "/v2//{id}",
            "/v2\\{id}",
            "https://evil.example/{id}",
            "/v2/{id} ",
        ] {
            assert!(path_of(other, "pi_1").is_err(), "{other}");
        }
    }

    #[test]
    fn a_redirect_address_gets_parameters_and_keeps_the_rest() {
        let parameters = [("payment_intent", "pi_1"), ("merchant_reference", "ORDER/17 é")];
        let table = [
            ("https://shop.example", "https://shop.example?payment_intent=pi_1&merchant_reference=ORDER%2F17%20%C3%A9"),
            (
                "https://shop.example/r?a=1",
                "https://shop.example/r?a=1&payment_intent=pi_1&merchant_reference=ORDER%2F17%20%C3%A9",
            ),
            (
                "https://shop.example/r?",
                "https://shop.example/r?payment_intent=pi_1&merchant_reference=ORDER%2F17%20%C3%A9",
            ),
            (
                "https://shop.example/r?a=1&#end",
                "https://shop.example/r?a=1&payment_intent=pi_1&merchant_reference=ORDER%2F17%20%C3%A9#end",
            ),
            (
                "https://shop.example/r#/done?x=1",
                "https://shop.example/r?payment_intent=pi_1&merchant_reference=ORDER%2F17%20%C3%A9#/done?x=1",
            ),
        ];
        for (given, left_for) in table {
            assert_eq!(redirect_address(given, &[], &parameters).unwrap(), left_for);
        }
        assert!(redirect_address("javascript:alert(1)", &[], &parameters).is_err());
        assert!(redirect_address("https://evil.example", &["https://shop.example".into()], &parameters).is_err());
    }

    #[test]
    fn the_hosted_page_reads_fragment_and_query_and_cleans_its_address() {
        let read = |address| {
            let Opened { id, client_secret, clean } = open(address);
            (id.unwrap_or_default(), client_secret.unwrap_or_default(), clean)
        };
        let of = |id: &str, secret: &str, clean: &str| (id.to_owned(), secret.to_owned(), clean.to_owned());
        let table = [
            (
                "https://pay.example/checkout/pi_1#client_secret=s_1",
                of("pi_1", "s_1", "https://pay.example/checkout/pi_1"),
            ),
            (
                "https://pay.example/checkout/pi_1?lang=fr#client_secret=s%5F1&a=b",
                of("pi_1", "s_1", "https://pay.example/checkout/pi_1?lang=fr#a=b"),
            ),
            (
                "https://pay.example/pay?payment_intent=pi_1&client_secret=s_1&lang=fr",
                of("pi_1", "s_1", "https://pay.example/pay?payment_intent=pi_1&lang=fr"),
            ),
            (
                "https://pay.example/checkout/pi_1/?payment_intent_client_secret=s_1",
                of("pi_1", "s_1", "https://pay.example/checkout/pi_1/"),
            ),
            ("https://pay.example/checkout/pi_1#top&&", of("pi_1", "", "https://pay.example/checkout/pi_1#top&&")),
            ("https://pay.example", of("", "", "https://pay.example")),
        ];
        for (address, expected) in table {
            assert!(read(address) == expected, "{address}");
        }
    }

    /// The package passes the same: `tests/rules/run.mjs`.
    #[test]
    fn a_secret_key_is_found_anywhere_in_a_text() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/rules/keys.json")).expect("JSON");
        for (group, is_found) in [("carries", true), ("carries_none", false)] {
            for text in cases[group].as_array().expect("texts").iter().filter_map(Value::as_str) {
                assert_eq!(carries_a_secret_key(text), is_found, "{text}");
            }
        }
    }
}
