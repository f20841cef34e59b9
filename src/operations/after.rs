use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What something is after an operation, if the service's reply says so: the document shows no reply of it. Without it,
/// the operation was done all the same.
///
/// ```
/// use guichet::operations::{After, Plan};
/// let after: After<Plan> = guichet::protocol::decode(br#"{"data": {"message": "The plan was deactivated."}}"#)?;
/// assert!(after.0.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct After<T>(pub Option<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for After<T> {
    fn deserialize<D: Deserializer<'de>>(reply: D) -> Result<Self, D::Error> {
        Value::deserialize(reply).map(|reply| Self(serde_json::from_value(reply).ok()))
    }
}
