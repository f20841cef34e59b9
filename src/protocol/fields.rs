//! Reads an operation on the service's side. The errors of all fields are collected, so that they are sent together.

use super::{ErrorCode, FieldError, FieldType, Operation};
use serde_json::{Map, Value};

/// An operation as the service reads it. [`operation`](crate::operations::operation) writes it.
///
/// ```
/// use guichet::operations::ListPlans;
/// use guichet::protocol::{Fields, Served};
/// assert_eq!(ListPlans::parse(Fields::default()).unwrap().limit, None);
/// ```
pub trait Served: Operation + Sized {
    /// Reads the fields one by one; `None` if a field has an error, which `fields` has collected.
    fn read(fields: &mut Fields) -> Option<Self>;

    /// Reads a request.
    ///
    /// # Errors
    /// The errors of all fields together.
    fn parse(mut fields: Fields) -> Result<Self, Vec<FieldError>> {
        let operation = Self::read(&mut fields);
        match (operation, fields.finish()) {
            (Some(operation), errors) if errors.is_empty() => Ok(operation),
            (_, errors) => Err(errors),
        }
    }
}

/// The fields of one request, from path, query, body and the header `Idempotency-Key`. A field from outside of the body
/// is a JSON string here, and the sandbox refuses it in the body.
///
/// ```
/// use guichet::operations::CreateSession;
/// use guichet::protocol::{Fields, Served};
/// let fields = Fields::new([("customer_email".to_owned(), "awa".into())].into_iter().collect());
/// assert_eq!(CreateSession::parse(fields).unwrap_err()[0].param, "customer_email");
/// ```
#[derive(Debug, Default)]
pub struct Fields {
    values: Map<String, Value>,
    errors: Vec<FieldError>,
    /// The names read so far, if unknown fields are errors.
    names_read: Option<Vec<String>>,
}

impl Fields {
    /// The fields of a request.
    #[must_use]
    pub fn new(values: Map<String, Value>) -> Self {
        Self { values, errors: Vec::new(), names_read: None }
    }

    /// Makes [`Served::parse`] refuse the fields that the operation does not have.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { names_read: Some(Vec::new()), ..self }
    }

    /// Reads a required field.
    pub fn required<F: FieldType>(&mut self, param: &str) -> Option<F::Holds> {
        match self.optional::<F>(param) {
            Some(None) => {
                self.error(param, ErrorCode::ParameterMissing, format!("{param} is required."));
                None
            }
            Some(found) => found,
            None => None,
        }
    }

    /// Reads a field with a default.
    pub fn or<F: FieldType>(&mut self, param: &str, default: F::Holds) -> Option<F::Holds> {
        self.optional::<F>(param).map(|found| found.unwrap_or(default))
    }

    /// Reads an optional field: `Some(None)` if it is absent or `null`, `None` if it is invalid.
    pub fn optional<F: FieldType>(&mut self, param: &str) -> Option<Option<F::Holds>> {
        if let Some(names_read) = &mut self.names_read {
            names_read.push(param.to_owned());
        }
        match self.values.get(param) {
            None | Some(Value::Null) => Some(None),
            Some(value) => match F::read(value) {
                Ok(value) => Some(Some(value)),
                Err(invalid) => {
                    self.errors.extend(F::refused(param, value, &invalid));
                    None
                }
            },
        }
    }

    /// Adds an error that a rule over several fields found.
    pub fn error(&mut self, param: &str, code: ErrorCode, message: impl Into<String>) {
        self.errors.push(FieldError::of(param, &code, message));
    }

    /// Adds an error and returns `None` if none of these fields was sent with a value other than `null`.
    pub fn at_least_one(&mut self, params: &[&str], message: &'static str) -> Option<()> {
        if params.iter().any(|param| self.has(param)) {
            return Some(());
        }
        self.error(params.first()?, ErrorCode::ParameterMissing, message);
        None
    }

    /// Whether the request has this field, with a value other than `null`.
    #[must_use]
    pub fn has(&self, param: &str) -> bool {
        self.values.get(param).is_some_and(|value| !value.is_null())
    }

    /// The names of all fields that were sent.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The errors of all fields, after they were read. A strict reader's are also those of the fields that the
    /// operation does not have.
    fn finish(mut self) -> Vec<FieldError> {
        if let Some(names_read) = self.names_read.take() {
            let unknown_fields: Vec<String> =
                self.values.keys().filter(|name| !names_read.contains(name)).cloned().collect();
            for name in unknown_fields {
                self.error(&name, ErrorCode::ParameterUnknown, format!("{name} is no field of this operation."));
            }
        }
        self.errors
    }
}
