//! Replies of the service that are not true.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a reply says instead of the truth.
#[derive(Clone, Debug)]
pub(crate) struct Lie {
    /// The fields that are replaced.
    fields: Map<String, Value>,
    /// The field that is left out.
    missing: Option<&'static str>,
    /// The HTTP status, if it is another one.
    http: Option<StatusCode>,
}

impl Lie {
    /// The payment has these fields.
    pub(crate) fn fields(fields: Value) -> Self {
        let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
        Self { fields, missing: None, http: None }
    }

    /// The payment has succeeded, with this value in the field.
    pub(crate) fn succeeded(field: &str, value: Value) -> Self {
        Self::fields(json!({"status": "succeeded", field: value}))
    }

    /// The payment has succeeded, and the field is not there.
    pub(crate) fn succeeded_without(field: &'static str) -> Self {
        Self { missing: Some(field), ..Self::fields(json!({"status": "succeeded"})) }
    }

    /// The payment has succeeded, but the reply is refused with this HTTP status.
    pub(crate) fn succeeded_with_http(status: StatusCode) -> Self {
        Self { http: Some(status), ..Self::fields(json!({"status": "succeeded"})) }
    }
}

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = Value::Object(self.fields.clone());
        write!(f, "{fields}")?;
        if let Some(field) = self.missing {
            write!(f, " without {field}")?;
        }
        if let Some(status) = self.http {
            write!(f, " with HTTP status {}", status.as_u16())?;
        }
        Ok(())
    }
}

/// Lies about one payment, which are told in turn.
#[derive(Debug)]
pub(crate) struct Lies {
    intent: String,
    lies: Vec<Lie>,
    /// How many were told.
    told: Mutex<usize>,
}

impl Lies {
    pub(crate) fn new(intent: &str, lies: Vec<Lie>) -> Self {
        Self { intent: intent.to_owned(), lies, told: Mutex::default() }
    }

    /// How many lies there are.
    pub(crate) fn len(&self) -> usize {
        self.lies.len()
    }

    /// Whether one of them replaces the payment's id.
    pub(crate) fn replace_id(&self) -> bool {
        self.lies.iter().any(|lie| lie.fields.contains_key("id") || lie.missing == Some("id"))
    }

    /// How many were told.
    pub(crate) fn told(&self) -> usize {
        *self.counter()
    }

    /// Puts the next lie into a payment, or into its entry of a list. Returns the status of the response.
    pub(crate) fn tell(&self, status: StatusCode, data: &mut Value) -> StatusCode {
        let entry = match data {
            Value::Array(entries) => entries.iter_mut().find(|entry| entry["id"] == self.intent),
            entry => (entry["id"] == self.intent).then_some(entry),
        };
        let Some(Value::Object(payment)) = entry else { return status };
        let mut told = self.counter();
        let Some(lie) = self.lies.get(*told % self.lies.len().max(1)) else { return status };
        *told += 1;
        payment.extend(lie.fields.clone());
        if let Some(field) = lie.missing {
            payment.remove(field);
        }
        lie.http.unwrap_or(status)
    }

    fn counter(&self) -> MutexGuard<'_, usize> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Lies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lies: Vec<String> = self.lies.iter().map(Lie::to_string).collect();
        f.write_str(&lies.join(", then "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_are_told_in_turn_about_one_payment_also_in_a_list() {
        let lies = vec![Lie::succeeded("amount", json!("1")), Lie::succeeded_without("currency")];
        let lies = Lies::new("pi_1", lies);
        let truth = json!({"id": "pi_1", "amount": "5", "currency": "XAF", "status": "processing"});
        let mut first = truth.clone();
        lies.tell(StatusCode::OK, &mut first);
        assert_eq!(first, json!({"id": "pi_1", "amount": "1", "currency": "XAF", "status": "succeeded"}));
        let mut list = json!([{"id": "pi_2"}, truth]);
        lies.tell(StatusCode::OK, &mut list);
        assert_eq!(list, json!([{"id": "pi_2"}, {"id": "pi_1", "amount": "5", "status": "succeeded"}]));
        let mut other = json!({"id": "pi_2"});
        lies.tell(StatusCode::OK, &mut other);
        assert_eq!((other, lies.told()), (json!({"id": "pi_2"}), 2));
    }
}
