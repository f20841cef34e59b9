//! Reading an operation on the service's side: every field's error is gathered, so that they come together.

use super::{ErrorCode, FieldError, Operation};
use crate::values::{
    BillingCycle, CardType, ConfirmationMethod, Country, Currency, CustomerId, Email, EsimOrderId, EsimPackageId,
    FeeBearer, IdempotencyKey, IntentId, Invalid, MerchantReference, MethodCode, PageLimit, Phone, PlanCode, PlanId,
    PlanKey, RedirectUrl, SubscriptionId,
};
use serde_json::{Map, Value};

/// An operation as the sandbox reads it and the terminal calls it. [`operation`](crate::operations::operation) writes it.
///
/// ```
/// use guichet::operations::ListPlans;
/// use guichet::protocol::Served;
/// assert_eq!(ListPlans::COMMAND, "plans list");
/// ```
pub trait Served: Operation + Sized {
    /// Its group and its verb at the terminal: `plans create`.
    const COMMAND: &'static str;
    /// What the terminal shows of each entry of a list; nothing where the reply is one object.
    const COLUMNS: &'static [&'static str];

    /// Reads the operation; `None` when [`Fields`] has gathered an error.
    fn read(fields: &mut Fields) -> Option<Self>;
}

/// The fields of one request, from path, query and body. A field of the path or the query is a JSON string here, and a
/// body may not repeat its name.
///
/// ```
/// use guichet::operations::CreateSession;
/// use guichet::protocol::{Fields, Served};
/// let mut fields = Fields::new([("customer_email".to_owned(), "awa".into())].into_iter().collect());
/// assert!(CreateSession::read(&mut fields).is_none());
/// assert!(!fields.has_no_errors());
/// ```
#[derive(Debug, Default)]
pub struct Fields {
    values: Map<String, Value>,
    errors: Vec<FieldError>,
    /// The fields that the operation has, where an unknown one is an error.
    known: Option<Vec<String>>,
}

/// A value that reads itself from one JSON field.
///
/// ```
/// use guichet::protocol::FromField;
/// use guichet::values::Email;
/// assert!(Email::from_field(&"awa@example.com".into()).is_ok());
/// ```
pub trait FromField: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// [`Invalid`] says what the field should be.
    fn from_field(value: &Value) -> Result<Self, Invalid>;

    /// The stable word for a value that [`FromField::from_field`] has refused.
    fn refusal(_: &Value) -> ErrorCode {
        ErrorCode::ParameterInvalid
    }

    /// All that is wrong in a value that [`FromField::from_field`] has refused: several, where it has members.
    fn refused(param: &str, value: &Value, invalid: &Invalid) -> Vec<FieldError> {
        vec![FieldError::of(param, &Self::refusal(value), invalid.reason())]
    }
}

impl Fields {
    /// The fields of a request.
    #[must_use]
    pub fn new(values: Map<String, Value>) -> Self {
        Self { values, errors: Vec::new(), known: None }
    }

    /// Refuses the fields that the operation does not have.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { known: Some(Vec::new()), ..self }
    }

    /// Whether no error was gathered. Where the fields are read strictly, an unknown one is an error.
    pub fn has_no_errors(&mut self) -> bool {
        if let Some(known) = self.known.take() {
            let unknown_fields: Vec<String> =
                self.values.keys().filter(|name| !known.contains(name)).cloned().collect();
            for name in unknown_fields {
                self.error(&name, ErrorCode::ParameterUnknown, format!("{name} is no field of this operation."));
            }
        }
        self.errors.is_empty()
    }

    /// A field that must be there.
    pub fn required<T: FromField>(&mut self, param: &str) -> Option<T> {
        match self.optional(param) {
            Some(None) => {
                self.error(param, ErrorCode::ParameterMissing, format!("{param} is required."));
                None
            }
            Some(found) => found,
            None => None,
        }
    }

    /// A field with a default.
    pub fn or<T: FromField>(&mut self, param: &str, default: T) -> Option<T> {
        self.optional(param).map(|found| found.unwrap_or(default))
    }

    /// A field that may be absent: `Some(None)` when it is, `None` when it is there and wrong. `null` is absent.
    pub fn optional<T: FromField>(&mut self, param: &str) -> Option<Option<T>> {
        if let Some(known) = &mut self.known {
            known.push(param.to_owned());
        }
        match self.values.get(param) {
            None | Some(Value::Null) => Some(None),
            Some(value) => match T::from_field(value) {
                Ok(value) => Some(Some(value)),
                Err(invalid) => {
                    self.errors.extend(T::refused(param, value, &invalid));
                    None
                }
            },
        }
    }

    /// Gathers an error that a rule over several fields found.
    pub fn error(&mut self, param: &str, code: ErrorCode, message: impl Into<String>) {
        self.errors.push(FieldError::of(param, &code, message));
    }

    /// Gathers an error where none of these fields was sent; `None` then.
    pub fn at_least_one(&mut self, params: &[&str], message: &'static str) -> Option<()> {
        if params.iter().any(|param| self.has(param)) {
            return Some(());
        }
        self.error(params.first()?, ErrorCode::ParameterMissing, message);
        None
    }

    /// Whether the request has this field.
    #[must_use]
    pub fn has(&self, param: &str) -> bool {
        self.values.get(param).is_some_and(|value| !value.is_null())
    }

    /// The names of all fields that were sent.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The errors gathered so far.
    #[must_use]
    pub fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }
}

/// Values that read themselves from a JSON string by their own `FromStr`.
macro_rules! from_text {
    ($($name:ty),+ $(,)?) => {$(
        impl FromField for $name {
            fn from_field(value: &Value) -> Result<Self, Invalid> {
                value.as_str().ok_or(Invalid::because("It must be a string."))?.parse()
            }
        }
    )+};
}

from_text!(
    BillingCycle,
    CardType,
    ConfirmationMethod,
    Country,
    Currency,
    CustomerId,
    Email,
    EsimOrderId,
    EsimPackageId,
    FeeBearer,
    IdempotencyKey,
    IntentId,
    MerchantReference,
    MethodCode,
    PageLimit,
    Phone,
    PlanCode,
    PlanId,
    PlanKey,
    RedirectUrl,
    SubscriptionId,
);

impl FromField for String {
    /// A text that is there: not empty, nor spaces alone.
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        match value.as_str() {
            Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
            _ => Err(Invalid::because("It must be a string that is not empty.")),
        }
    }
}

impl FromField for bool {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        value.as_bool().ok_or(Invalid::because("It must be true or false."))
    }
}

/// A truth as a query writes it.
pub(crate) struct Switch(bool);

impl FromField for Switch {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        match value.as_str() {
            Some("true") => Ok(Self(true)),
            Some("false") => Ok(Self(false)),
            _ => Err(Invalid::because("It must be true or false.")),
        }
    }
}

impl From<Switch> for bool {
    fn from(switch: Switch) -> Self {
        switch.0
    }
}

/// A whole JSON number between two others, both of them good.
///
/// ```
/// use guichet::protocol::{FromField, Whole};
/// assert_eq!(Whole::<1, 10>::from_field(&7.into()), Ok(Whole(7)));
/// assert!(Whole::<1, 10>::from_field(&11.into()).is_err());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Whole<const LEAST: u32, const MOST: u32>(
    /// The number.
    pub u32,
);

/// The greatest integer that every reader of JSON keeps: 2^53.
pub(crate) const GREATEST_INTEGER: u64 = 1 << 53;

/// The whole number of a JSON number that is not negative, up to 2^53. JSON knows one kind of number: `7.0` is 7.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let of_a_fraction = |number: f64| {
        let is_exact = (0.0..=GREATEST_INTEGER as f64).contains(&number) && number.fract() == 0.0;
        is_exact.then_some(number as u64)
    };
    value.as_u64().or_else(|| value.as_f64().and_then(of_a_fraction)).filter(|number| *number <= GREATEST_INTEGER)
}

impl<const LEAST: u32, const MOST: u32> FromField for Whole<LEAST, MOST> {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let number = whole(value).and_then(|number| u32::try_from(number).ok());
        let inside = number.filter(|number| (LEAST..=MOST).contains(number));
        inside.map(Self).ok_or_else(|| Invalid::because(format!("It must be a whole number from {LEAST} to {MOST}.")))
    }
}

impl<const LEAST: u32, const MOST: u32> From<Whole<LEAST, MOST>> for u32 {
    fn from(whole: Whole<LEAST, MOST>) -> Self {
        whole.0
    }
}

impl<T: FromField> FromField for Vec<T> {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        value.as_array().ok_or(Invalid::because("It must be an array."))?.iter().map(T::from_field).collect()
    }
}

impl FromField for std::collections::BTreeMap<String, Value> {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let object = value.as_object().ok_or(Invalid::because("It must be an object of key-value pairs."))?;
        Ok(object.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}
