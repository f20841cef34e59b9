//! One line of what is bought.

use super::resource;
use crate::protocol::{FieldType, whole, written_by_its_type};
use crate::values::{Amount, Currency, Invalid, whole_number};
use serde_json::Value;

/// One line of what is bought.
///
/// ```
/// use guichet::operations::Item;
/// use guichet::values::{Amount, Currency};
/// let shoes = Item::new("Wouri trainers", Amount::units(45_000), Currency::xaf(), 1);
/// ```
#[resource]
pub struct Item {
    /// Its name.
    #[field(required, schema("minLength" = 1))]
    pub name: String,
    /// The price of one, in the smallest unit.
    #[field(required, number, like = super::service::Price)]
    pub price: Amount,
    /// The currency of the price.
    #[field(required)]
    pub currency: Currency,
    /// The number of pieces, at least 1.
    #[field(required, min = 1, max = crate::protocol::GREATEST_INTEGER)]
    pub quantity: u64,
}

impl Item {
    /// Creates a line: a name, the price of one piece, its currency, and the number of pieces.
    #[must_use]
    pub fn new(name: impl Into<String>, price: Amount, currency: Currency, quantity: u64) -> Self {
        Self { name: name.into(), price, currency, quantity }
    }
}

impl FieldType for Item {
    /// # Undocumented
    /// The types of an item's fields: the price is a whole JSON number or a digit string, the quantity an integer of at
    /// least 1 (decisions).
    fn read(value: &Value) -> Result<Self, Invalid> {
        let shape = || Invalid::because("Each item is an object with name, price, currency and quantity.");
        let object = value.as_object().ok_or_else(shape)?;
        let name = object.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).ok_or_else(shape)?;
        let price = match object.get("price") {
            Some(Value::String(digits)) => whole_number(digits),
            Some(number) => whole(number),
            None => None,
        };
        let currency = object.get("currency").and_then(Value::as_str).ok_or_else(shape)?;
        let quantity = object.get("quantity").and_then(whole).filter(|quantity| *quantity >= 1);
        Ok(Self {
            name: name.to_owned(),
            price: price.map(Amount::units).ok_or(Invalid::because(
                "An item's price is a whole number of the smallest unit, or a string of digits.",
            ))?,
            currency: Currency::new(currency)?,
            quantity: quantity.ok_or(Invalid::because("An item's quantity is a whole number of at least 1."))?,
        })
    }

    written_by_its_type!();
}
