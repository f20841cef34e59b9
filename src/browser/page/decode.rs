//! Decodes the service's own JavaScript objects into the crate's types.

use crate::browser::core::error::CallError;
use crate::browser::core::value::{get, get_list, get_text, stringify};
use crate::protocol::{Error, FieldError, Kind, Refusal};
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

/// Reads a value with serde-wasm-bindgen.
pub(super) fn decode<T: DeserializeOwned>(value: JsValue) -> Result<T, serde_wasm_bindgen::Error> {
    serde_wasm_bindgen::from_value(value)
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        let Some(kind) = error.text("kind").and_then(|kind| Kind::of_word(&kind)) else {
            // No function of a Rust page throws into a call.
            return Self::new(Kind::Address, "The browser did not let the page go there.");
        };
        let reply = error.get("reply").unwrap_or_default();
        let field = |field: JsValue| {
            let [param, code, message] =
                ["param", "code", "message"].map(|name| get_text(&field, name).unwrap_or_default());
            FieldError { param, code, message }
        };
        let refusal = Refusal {
            code: error.text("code"),
            message: None,
            request_id: error.text("requestId"),
            retryable: None,
            fields: get_list(&error.clone().into(), "fields").iter().map(field).collect(),
            existing_id: get(&reply, "error").and_then(|error| get_text(&error, "existing_id")),
        };
        let status = Some(error.status()).filter(|status| *status > 0);
        let retryable = error.get("retryable").is_some_and(|it| it.is_truthy());
        let message = error.text("message").unwrap_or_default();
        Self::of_page(
            kind,
            message,
            error.text("operation"),
            status,
            retryable,
            refusal,
            stringify(&reply).map(String::into_bytes),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::decode;
    use crate::operations::PaymentIntent;
    use crate::values::Amount;
    use js_sys::JSON;
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

    fn read<T: DeserializeOwned>(json: &str) -> T {
        decode(parse(json)).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    fn parse(json: &str) -> wasm_bindgen::JsValue {
        JSON::parse(json).expect("it is JSON")
    }
}
