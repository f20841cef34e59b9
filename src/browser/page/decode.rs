//! Decodes the service's own JavaScript objects into the crate's types.

use crate::browser::core::error::CallError;
use crate::browser::core::value::{get, get_text, stringify};
use crate::protocol::{Error, Kind};
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

/// Reads a value with serde-wasm-bindgen.
pub(super) fn decode<T: DeserializeOwned>(value: JsValue) -> Result<T, serde_wasm_bindgen::Error> {
    serde_wasm_bindgen::from_value(value)
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        let reply = error.get("reply").unwrap_or_default();
        let existing_id = get(&reply, "error").and_then(|error| get_text(&error, "existing_id"));
        match decode::<Self>(error.into()) {
            Ok(error) => error.of_page(existing_id, stringify(&reply).map(String::into_bytes)),
            // No function of a Rust page throws into a call.
            Err(_) => Self::new(Kind::Unreadable, "The error of the page could not be read."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::decode;
    use crate::browser::core::error::{CallError, field_error};
    use crate::operations::PaymentIntent;
    use crate::protocol::{Error, Kind};
    use crate::values::Amount;
    use js_sys::{Array, JSON};
    use serde::de::DeserializeOwned;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test]
    fn an_amount_is_read_from_a_number_or_a_string_and_written_exactly() {
        for (json, written) in [
            ("0", "0"),
            ("5000", "5000"),
            ("-5", "-5"),
            ("145.1", "145.1"),
            ("1e-7", "0.0000001"),
            ("1e17", "100000000000000000"),
            (r#""5000""#, "5000"),
            (r#""145.10""#, "145.10"),
            (r#""-0.50""#, "-0.50"),
            (r#""0.000000000000000001""#, "0.000000000000000001"),
            (r#""18446744073709551615""#, "18446744073709551615"),
            (r#""18446744073709551615.05""#, "18446744073709551615.05"),
        ] {
            let amount: Amount = read(json);
            assert_eq!(amount.to_string(), written, "{json}");
            assert_eq!(format!("{amount}"), written, "{json}");
        }
        for odd in ["null", "true", "[]", "{}", r#""""#, r#""free""#, "1e300"] {
            assert!(decode::<Amount>(parse(odd)).is_err(), "{odd}");
        }
    }

    #[wasm_bindgen_test]
    fn amounts_are_subtracted_and_shown_with_their_currency() {
        for (one, other, left) in [
            ("5000", "145.10", Some("4854.9")),
            ("5000", "0.05", Some("4999.95")),
            ("18446744073709551615", "0.000000000000000001", Some("18446744073709551614.999999999999999999")),
            ("5", "5", Some("0")),
            ("5", "5.1", None),
            ("5", "-1", None),
        ] {
            let [one, other] = [one, other].map(|text| Amount::new(text).expect("it is an amount"));
            let written = one.checked_sub(other).map(|left| left.to_string());
            assert_eq!(written.as_deref(), left, "{one} - {other}");
        }
        for (amount, currency, shown) in [
            ("45000", "XAF", "45 000 XAF"),
            ("5", "USD", "0.05 USD"),
            ("18446744073709551615", "USD", "184 467 440 737 095 516.15 USD"),
            ("145.10", "XAF", "145.10 XAF (smallest unit)"),
            ("-5", "XAF", "-5 XAF (smallest unit)"),
        ] {
            assert_eq!(Amount::new(amount).map(|amount| amount.in_currency(currency)).as_deref(), Ok(shown));
        }
    }

    #[wasm_bindgen_test]
    fn every_duplicate_payment_is_kept_whatever_cannot_be_read_of_one() {
        let attempts = |duplicates: &str| {
            let intent: PaymentIntent = read(&format!(
                r#"{{"id": "pi_1", "amount": "45000", "currency": "XAF", "status": "succeeded",
                    "duplicate_payments": {duplicates}}}"#
            ));
            let payments = intent.duplicate_payments.iter();
            payments.map(|one| (one.attempt, one.amount.map(|amount| amount.to_string()))).collect::<Vec<_>>()
        };
        let read = Some("45000".to_owned());
        assert_eq!(
            attempts(
                r#"[{"attempt": 2, "amount": "45000", "currency": "XAF", "approved_at": "2026-11-21T10:30:00Z"},
                    {"attempt": "two", "amount": 45000}, 17, {"attempt": 5, "amount": [], "currency": null}]"#
            ),
            [(2, read.clone()), (u32::MAX - 1, read), (u32::MAX - 2, None), (5, None)]
        );
        for none in ["null", "{}", "[]", "17"] {
            assert_eq!(attempts(none), [], "{none}");
        }
    }

    #[wasm_bindgen_test]
    fn an_error_keeps_all_that_the_service_says() {
        let json = r#"{"error":{"existing_id":"pi_1"}}"#;
        let fields: Array = [field_error("amount", "parameter_invalid", "It is too large.")].iter().collect();
        let error = Error::from(CallError::with(
            Kind::Refused,
            "Taken.",
            &[
                ("operation", Some("create".into())),
                ("retryable", Some(true.into())),
                ("status", Some(409.into())),
                ("code", Some("taken".into())),
                ("requestId", Some("req_1".into())),
                ("fields", Some(fields.into())),
                ("reply", Some(parse(json))),
            ],
        ));
        assert_eq!((error.kind(), error.status(), error.is_retryable()), (Kind::Refused, Some(409), true));
        assert_eq!((error.message(), error.operation(), error.code()), ("Taken.", Some("create"), Some("taken")));
        assert_eq!((error.request_id(), error.existing_id()), (Some("req_1"), Some("pi_1")));
        assert_eq!((error.fields()[0].param.as_str(), error.reply()), ("amount", Some(json.as_bytes())));
        assert_eq!(Error::from(CallError::thrown("stays".into())).kind(), Kind::Unreadable);
    }

    fn read<T: DeserializeOwned>(json: &str) -> T {
        decode(parse(json)).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    fn parse(json: &str) -> wasm_bindgen::JsValue {
        JSON::parse(json).expect("it is JSON")
    }
}
