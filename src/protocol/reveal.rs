//! Writes a reply with its secrets, as the service does. `Serialize` of a resource redacts them for everyone else.

use crate::values::{
    Amount, CheckoutUrl, ClientSecret, EsimOrderStatus, IntentStatus, Moment, Secret, SessionToken, SubscriptionStatus,
    TextValue,
};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// A value that the service writes into a reply. [`resource`](crate::operations::resource) implements it.
pub trait Reveal {
    /// Writes the value with its secrets.
    ///
    /// # Errors
    /// If the serializer fails.
    fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// Serializes a value with its secrets.
#[derive(Debug)]
pub struct Revealed<'a, T: ?Sized>(pub &'a T);

impl<T: Reveal + ?Sized> Serialize for Revealed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.reveal(serializer)
    }
}

impl<T: Reveal> Reveal for Option<T> {
    fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&Revealed(value)),
            None => serializer.serialize_none(),
        }
    }
}

impl<T: Reveal> Reveal for Vec<T> {
    fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Revealed))
    }
}

impl<T: TextValue> Reveal for T {
    fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

/// Other values that hold no secret.
macro_rules! as_serialized {
    ($($name:ty),+ $(,)?) => {$(
        impl $crate::protocol::Reveal for $name {
            fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }
        }
    )+};
}
pub(crate) use as_serialized;

as_serialized!(
    bool,
    i64,
    u32,
    u64,
    Amount,
    BTreeMap<String, Value>,
    EsimOrderStatus,
    IntentStatus,
    Moment,
    String,
    SubscriptionStatus,
);

/// Secrets, which redact themselves elsewhere.
macro_rules! exposed {
    ($($name:ty),+ $(,)?) => {$(
        impl Reveal for $name {
            fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.expose())
            }
        }
    )+};
}

exposed!(CheckoutUrl, ClientSecret, Secret, SessionToken);
