//! Who a customer is, as the application answers.

use guichet::native::{Buyer, Owner};
use guichet::values::Language;
use guichet::values::{Email, printable};
use http::{HeaderMap, HeaderName, header};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// A customer or a guest.
#[derive(Clone, Debug)]
pub(super) struct Customer {
    pub buyer: Buyer,
    /// The whole answer, which `purchase` gets, with the `language` of the browser.
    pub answer: Map<String, Value>,
}

impl Customer {
    /// Reads the answer to `customer`. The error is the cause, for the log.
    pub(super) fn read(answer: Option<Value>, headers: &HeaderMap) -> Result<Self, String> {
        let Some(Value::Object(mut answer)) = answer else {
            return Err("gives no object in JSON: it answers 401 if no customer is signed in".to_owned());
        };
        let text = |name: &str| match answer.get(name) {
            None | Some(Value::Null) => Ok(None),
            // Some languages have no other text that means none.
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) if text.len() <= 255 => Ok(Some(text.clone())),
            Some(Value::Number(number)) if name == "id" && (number.is_i64() || number.is_u64()) => {
                Ok(Some(number.to_string()))
            }
            Some(_) => Err(format!("gives a `{name}` that is no text of at most 255 bytes")),
        };
        let mut buyer = match (text("id")?, text("guest")?) {
            (Some(id), None) => Buyer::customer(id),
            (None, Some(guest)) => Buyer::guest(guest),
            _ => return Err("gives neither the `id` of a customer nor the `guest` of a visit, or both".to_owned()),
        };
        if let Some(login) = text("login")? {
            buyer = buyer.login(login);
        }
        if let Some(visit) = text("visit")? {
            buyer = buyer.visit(visit);
        }
        let is_verified = answer.get("email_verified") == Some(&Value::Bool(true));
        if let Some(email) = text("email")?.filter(|_| is_verified) {
            match Email::new(&email) {
                Ok(email) => buyer = buyer.verified_email(email),
                Err(invalid) => {
                    tracing::error!(owner = %printable(&buyer.owner), "the verified e-mail address is none: {}", printable(invalid));
                }
            }
        }
        answer.entry("language").or_insert_with(|| json!(language(headers)));
        Ok(Self { buyer, answer })
    }

    /// Whether the application says that this customer keeps the books. A guest never does.
    pub(super) fn is_bookkeeper(&self) -> bool {
        matches!(self.buyer.owner, Owner::Customer(_))
            && self.answer.get("role").is_some_and(|role| role == "bookkeeper")
    }

    /// What a purchase says of its payer: names, the verified e-mail address, the phone.
    pub(super) fn payer(&self) -> Vec<(&'static str, Value)> {
        let is_text = |value: &&Value| value.as_str().is_some_and(|text| !text.is_empty());
        let text = |name: &'static str| self.answer.get(name).filter(is_text).cloned();
        let email = self.buyer.verified_email.as_ref().map(|email| json!(email.as_str()));
        let members = [
            ("firstname", text("firstname")),
            ("lastname", text("lastname")),
            ("email", email),
            ("phone", text("phone")),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// The hash of what a browser proves its customer by. It is in the signed message, so that no message is sent again
/// with other credentials.
pub(super) fn credentials_of(headers: &HeaderMap) -> String {
    let mut hash = Sha256::new();
    hash.update(joined(headers, &header::COOKIE));
    hash.update(b"\n");
    hash.update(joined(headers, &header::AUTHORIZATION));
    hex::encode(hash.finalize())
}

/// The values of a header as one. HTTP/2 may split the cookies.
pub(super) fn joined(headers: &HeaderMap, name: &HeaderName) -> Vec<u8> {
    let between: &[u8] = if name == header::COOKIE { b"; " } else { b", " };
    headers.get_all(name).iter().map(|value| value.as_bytes()).collect::<Vec<_>>().join(between)
}

fn language(headers: &HeaderMap) -> &'static str {
    let languages = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Language::of_tag(languages).code()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: Value) -> Result<Customer, String> {
        Customer::read(Some(answer), &HeaderMap::new())
    }

    #[test]
    fn a_customer_has_an_id_and_a_guest_a_visit() {
        let owner = |answer| read(answer).map(|customer| customer.buyer.owner);
        assert_eq!(owner(json!({"id": "17"})), Ok(Owner::Customer("17".to_owned())));
        assert_eq!(owner(json!({"id": 17})), Ok(Owner::Customer("17".to_owned())));
        assert_eq!(owner(json!({"guest": "ab", "id": "", "email": ""})), Ok(Owner::Guest("ab".to_owned())));
        for wrong in [
            json!({}),
            json!({"id": ""}),
            json!({"id": null}),
            json!({"id": true}),
            json!({"id": 1.5}),
            json!({"guest": 3}),
            json!({"id": "17", "guest": "ab"}),
            json!({"id": "17", "login": 3}),
            json!({"id": "1".repeat(256)}),
            json!("17"),
            json!(null),
        ] {
            assert!(owner(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(Customer::read(None, &HeaderMap::new()).is_err());
    }

    #[test]
    fn a_bookkeeper_is_a_customer_with_that_role_and_no_other() {
        let is_bookkeeper = |answer| read(answer).unwrap().is_bookkeeper();
        assert!(is_bookkeeper(json!({"id": "1", "role": "bookkeeper"})));
        for wrong in [json!("Bookkeeper"), json!("admin"), json!(["bookkeeper"]), json!(true), json!(null), json!("")] {
            assert!(!is_bookkeeper(json!({"id": "1", "role": wrong})));
        }
        assert!(!is_bookkeeper(json!({"guest": "1", "role": "bookkeeper"})));
        assert!(!is_bookkeeper(json!({"id": "1"})));
    }

    #[test]
    fn an_email_counts_only_if_it_is_verified() {
        let email = |answer| read(answer).unwrap().buyer.verified_email.map(|email| email.as_str().to_owned());
        let awa = "awa@example.com";
        assert_eq!(email(json!({"id": "1", "email": awa, "email_verified": true})).as_deref(), Some(awa));
        for wrong in [json!(false), json!(null), json!("true"), json!(1)] {
            assert_eq!(email(json!({"id": "1", "email": awa, "email_verified": wrong})), None);
        }
        assert_eq!(email(json!({"id": "1", "email": "awa", "email_verified": true})), None);
    }

    #[test]
    fn credentials_are_those_of_both_headers() {
        let of = |cookies: &[&str], authorization: Option<&str>| {
            let mut headers = HeaderMap::new();
            for cookie in cookies {
                headers.append(header::COOKIE, cookie.parse().unwrap());
            }
            authorization.map(|value| headers.insert(header::AUTHORIZATION, value.parse().unwrap()));
            credentials_of(&headers)
        };
        assert_eq!(of(&["a=1", "b=2"], None), of(&["a=1; b=2"], None), "HTTP/2 may split them");
        let all = [of(&[], None), of(&["a=1"], None), of(&["a=2"], None), of(&["a=1"], Some("Bearer x"))];
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert_eq!(of(&[], None), hex::encode(Sha256::digest("\n")));
    }
}
