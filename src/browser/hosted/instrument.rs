//! What the customer typed on the hosted page. A phone or a card is taken as people write it.

use crate::browser::error::Stop;
use crate::browser::inputs::Inputs;
use crate::browser::options;
use crate::browser::read::{at, text};
use crate::flow::tidy_phone;
use crate::operations::{Card, Instrument};
use crate::values::{Country, Invalid, Phone};
use wasm_bindgen::JsValue;

/// `{type: "mobile_money", phone, country_code?}` or `{type: "card", card: {number, exp_month, exp_year, cvc}}`
pub(super) fn read(given: &JsValue) -> Result<Instrument, Stop> {
    match text(given, "type").as_deref() {
        Some("mobile_money") => {
            options::only(given, "field", "type phone country_code")?;
            let mut inputs = Inputs::of(given);
            let country = inputs.optional("country_code", |text| Country::new(text));
            let country = country.as_ref().map(Country::as_str);
            match inputs.required("phone", |text| Phone::new(tidy_phone(text, country))) {
                Some(phone) if !inputs.is_refused() => Ok(Instrument::MobileMoney { phone }),
                _ => Err(inputs.refused()),
            }
        }
        Some("card") => {
            let card = at(given, "card");
            options::only(given, "field", "type card")?;
            options::only(&card, "field", "number exp_month exp_year cvc")?;
            let mut inputs = Inputs::of(&card);
            let number = inputs.required("number", |text| digits(text, 12, 19, "A card number has 12 to 19 digits."));
            let exp_month =
                inputs.required("exp_month", |text| whole(text, 1, 12, "A month is a number from 1 to 12."));
            let exp_year = inputs.required("exp_year", |text| whole(text, 2000, 2999, "A year has four digits."));
            let cvc = inputs.required("cvc", |text| digits(text, 3, 4, "A security code has 3 or 4 digits."));
            match (number, exp_month, exp_year, cvc) {
                (Some(number), Some(exp_month), Some(exp_year), Some(cvc)) => {
                    Ok(Instrument::Card { card: Card { number, exp_month: exp_month as u8, exp_year, cvc } })
                }
                _ => Err(inputs.refused()),
            }
        }
        _ => Err(Stop::field("type", "It is mobile_money or card.")),
    }
}

/// The code that the customer was sent, as they type it.
pub(super) fn one_time_code(given: &JsValue) -> Result<String, Stop> {
    let code: String = text(given, "").unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
    if code.is_empty() { Err(Stop::field("otp", "It is the code that the customer was sent.")) } else { Ok(code) }
}

fn digits(text: &str, least: usize, most: usize, otherwise: &'static str) -> Result<String, Invalid> {
    let tidy: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let shaped = (least..=most).contains(&tidy.len()) && tidy.bytes().all(|b| b.is_ascii_digit());
    if shaped { Ok(tidy) } else { Err(Invalid::because(otherwise)) }
}

fn whole(text: &str, least: u16, most: u16, otherwise: &'static str) -> Result<u16, Invalid> {
    text.trim().parse().ok().filter(|number| (least..=most).contains(number)).ok_or(Invalid::because(otherwise))
}
