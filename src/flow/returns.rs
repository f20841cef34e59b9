//! Recognizes the return of a customer, by the address of the return page and by the purchases that this tab has
//! stored.

use super::query::{join, pieces, second_query, split, value, without};
use crate::values::{RETURN_NONCE_LENGTH, RETURN_PARAMETER, words};

const INTENT: &str = "payment_intent";
const PAYMENT_REF: &str = "payment_ref";
const MERCHANT_REFERENCE: &str = "merchant_reference";
const NAMES: [&str; 5] = [RETURN_PARAMETER, INTENT, PAYMENT_REF, MERCHANT_REFERENCE, "status"];

/// The contents of a return page's address. Anyone may have written it.
///
/// ```
/// let address = "https://shop.example.com/return?guichet_return=0123456789abcdefghijAB&payment_intent=pi_1";
/// let arrival = guichet::flow::arrival(address).unwrap();
/// assert_eq!(arrival.purchase.id.as_deref(), Some("pi_1"));
/// assert_eq!(arrival.clean, "https://shop.example.com/return");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Arrival {
    /// The nonce, if it has the shape of one.
    pub nonce: Option<String>,
    /// The purchase that the address names.
    pub purchase: Purchase,
    /// The address without these parameters, and without what a service has added after the nonce, for the address bar.
    pub clean: String,
}

/// The references of a purchase.
///
/// ```
/// use guichet::flow::Purchase;
/// let purchase = Purchase { payment_ref: Some("gch_1".into()), ..Purchase::default() };
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Purchase {
    /// The intent's identifier.
    pub id: Option<String>,
    /// The service's public reference.
    pub payment_ref: Option<String>,
    /// The merchant's reference of the payment.
    pub merchant_reference: Option<String>,
}

words! {
    /// The result of comparing an arrival with the purchases that this tab has stored.
    ///
    /// ```
    /// use guichet::flow::{Match, Purchase, classify};
    /// assert_eq!(classify(Purchase::default(), None).0, Match::Unmatched);
    /// ```
    #[non_exhaustive]
    Match {
        /// This tab stored the purchase before it left for the hosted page.
        Matched = "matched",
        /// This tab stored the purchase, but its return was handled before.
        Replayed = "replayed",
        /// This tab has stored no such purchase. Use the references only to ask your own server.
        Unmatched = "unmatched",
    }
}

/// Whether a text has the shape of a return nonce: 22 characters of `[0-9A-Za-z]`.
#[must_use]
pub fn is_return_nonce(text: &str) -> bool {
    text.len() == RETURN_NONCE_LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Reads the address of a page; `None` if it contains neither a nonce nor an intent: then the page is no return page.
#[must_use]
pub fn arrival(address: &str) -> Option<Arrival> {
    let (before, query, fragment) = split(address);
    let in_query = pieces(query.unwrap_or_default(), &NAMES);
    // A page may have its route in the fragment. Parameters that a service appends to the address are then in the
    // fragment too, behind it.
    let (route, in_fragment) = match fragment.and_then(|fragment| second_query(fragment, &NAMES)) {
        Some((route, end)) => (Some(route), pieces(end, &NAMES)),
        None => (fragment, Vec::new()),
    };
    let parameters = [in_query.as_slice(), &in_fragment].concat();
    let nonce = value(&parameters, RETURN_PARAMETER);
    let id = value(&parameters, INTENT);
    if nonce.is_none() && id.is_none() {
        return None;
    }
    // The nonce is added to the page's address last: what stands behind it is a service's, unless that has sorted them
    // all.
    let last =
        if in_query.len() > 3 && in_query.windows(2).all(|pair| pair[0] <= pair[1]) { "" } else { RETURN_PARAMETER };
    Some(Arrival {
        nonce: nonce.filter(|nonce| is_return_nonce(nonce)),
        purchase: Purchase {
            id,
            payment_ref: value(&parameters, PAYMENT_REF),
            merchant_reference: value(&parameters, MERCHANT_REFERENCE),
        },
        clean: join(before, &without(&in_query, &NAMES, last), route),
    })
}

/// By what the query of a return address names its payment on the merchant's server: the nonce, which every service
/// hands back, then what it may have added, also after a second `?`.
///
/// ```
/// assert_eq!(guichet::flow::payment_names("guichet_return=N?trxref=2&payment_ref=gch_1"), ["N", "gch_1"]);
/// ```
#[must_use]
pub fn payment_names(query: &str) -> Vec<String> {
    let parameters = pieces(query, &NAMES);
    [RETURN_PARAMETER, PAYMENT_REF, INTENT].into_iter().filter_map(|name| value(&parameters, name)).collect()
}

/// Compares an arrival with what this tab stored under its nonce: the purchase, and whether its return was handled
/// before.
///
/// The stored purchase has precedence over the address.
#[must_use]
pub fn classify(arrived: Purchase, stored: Option<(Purchase, bool)>) -> (Match, Purchase) {
    match stored {
        Some((stored, was_handled)) if arrived.id.is_none() || arrived.id == stored.id => {
            let purchase = Purchase {
                id: stored.id,
                payment_ref: stored.payment_ref.or(arrived.payment_ref),
                merchant_reference: stored.merchant_reference.or(arrived.merchant_reference),
            };
            (if was_handled { Match::Replayed } else { Match::Matched }, purchase)
        }
        _ => (Match::Unmatched, arrived),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: &str = "0123456789abcdefghijAB";

    fn purchase(id: &str) -> Purchase {
        Purchase { id: Some(id.into()), payment_ref: Some("gch_1".into()), merchant_reference: None }
    }

    #[test]
    fn a_return_is_read_and_taken_out_of_the_address() {
        let back = arrival(&format!("https://shop.example/r?a=1&guichet_return={N}&payment_intent=pi_1&payment_ref=gch_1&merchant_reference=O%2F17&status=succeeded&trxref=2#end")).unwrap();
        assert_eq!(back.nonce.as_deref(), Some(N));
        assert_eq!(back.purchase, Purchase { merchant_reference: Some("O/17".into()), ..purchase("pi_1") });
        assert_eq!(back.clean, "https://shop.example/r?a=1#end");
    }

    #[test]
    fn parameters_after_a_second_question_mark_are_read() {
        let back = arrival(&format!(
            "https://shop.example/r?q=who?&guichet_return={N}?payment_intent=pi_1&status=failed?payment_ref=gch_1"
        ))
        .unwrap();
        assert_eq!(back.nonce.as_deref(), Some(N));
        assert_eq!(back.purchase, purchase("pi_1"));
        assert_eq!(back.clean, "https://shop.example/r?q=who?");
    }

    #[test]
    fn a_route_in_the_fragment_is_kept_and_parameters_after_it_are_read() {
        for (path, clean) in [
            ("?guichet_return={N}&payment_intent=pi_1&payment_ref=gch_1#/return", "#/return"),
            ("?guichet_return={N}#/return?payment_intent=pi_1&payment_ref=gch_1", "#/return"),
            ("?a=1#/return?b=2&guichet_return={N}?payment_intent=pi_1&payment_ref=gch_1", "?a=1#/return?b=2"),
            ("?guichet_return={N}&payment_intent=pi_1&payment_ref=gch_1#/return?&b=2&", "#/return?&b=2&"),
            ("#/return?guichet_return={N}&b=2?payment_intent=pi_1&payment_ref=gch_1", "#/return"),
            ("?a=1#/return?b=2&guichet_return={N}&c=3?payment_intent=pi_1&payment_ref=gch_1", "?a=1#/return?b=2"),
            ("?a=1&guichet_return={N}&lang=fr&payment_intent=pi_1&payment_ref=gch_1", "?a=1&lang=fr"),
            ("?a=1&guichet_return={N}?trxref=2&payment_intent=pi_1&payment_ref=gch_1", "?a=1"),
            ("?guichet_return={N}?trxref=2#/return?b=2&payment_intent=pi_1&payment_ref=gch_1", "#/return?b=2"),
        ] {
            let address = format!("https://shop.example/{}", path.replace("{N}", N));
            let back = arrival(&address).unwrap();
            assert_eq!(back.nonce.as_deref(), Some(N), "{address}");
            assert_eq!(back.purchase, purchase("pi_1"), "{address}");
            assert_eq!(back.clean, format!("https://shop.example/{clean}"), "{address}");
        }
    }

    /// Takes hours if the rest of the address is searched again at every `?`.
    #[test]
    fn an_address_of_two_million_question_marks_is_read_in_linear_time() {
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let marks = "?".repeat(2_000_000);
            let address = format!("https://shop.example/r?q={marks}&guichet_return={N}#/route{marks}");
            done.send(arrival(&address).map(|back| back.nonce))
        });
        let nonce = is_done.recv_timeout(std::time::Duration::from_secs(60)).expect("it is read within a minute");
        assert_eq!(nonce.flatten().as_deref(), Some(N));
    }

    #[test]
    fn an_address_without_parameters_is_no_return() {
        for address in [
            "https://shop.example/",
            "https://shop.example/?status=open",
            "https://shop.example/?payment_intent=",
            "https://shop.example/#guichet_return=1",
        ] {
            assert_eq!(arrival(address), None, "{address}");
        }
    }

    #[test]
    fn a_nonce_of_another_shape_is_none() {
        let long = "x".repeat(23);
        for nonce in ["short", long.as_str(), "0123456789abcdefghij%2F"] {
            assert_eq!(
                arrival(&format!("https://shop.example/?guichet_return={nonce}")).unwrap().nonce,
                None,
                "{nonce}"
            );
        }
    }

    #[test]
    fn a_return_matches_by_nonce_and_id() {
        assert_eq!(classify(purchase("pi_1"), Some((purchase("pi_1"), false))), (Match::Matched, purchase("pi_1")));
        assert_eq!(classify(Purchase::default(), Some((purchase("pi_1"), false))), (Match::Matched, purchase("pi_1")));
        assert_eq!(classify(purchase("pi_1"), Some((purchase("pi_1"), true))).0, Match::Replayed);
        assert_eq!(classify(purchase("pi_2"), Some((purchase("pi_1"), false))), (Match::Unmatched, purchase("pi_2")));
        assert_eq!(classify(purchase("pi_1"), None), (Match::Unmatched, purchase("pi_1")));
    }
}
