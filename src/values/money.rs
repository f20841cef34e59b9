use super::{Invalid, text_value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
use serde_json::value::RawValue;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// An amount of money in the smallest unit of its currency: `5000` is 5 000 XAF, or 50.00 USD.
///
/// It is exact: no float ever holds money. A service may send an amount as a JSON number or as a string, and a fee may
/// have a fraction of the unit; an amount is shown with the decimals it was sent with, and compared by value.
///
/// A request carries whole units, from 1 to 999 999 999 999 999. A client refuses any other amount before it sends it.
///
/// ```
/// use guichet::values::Amount;
/// let price = Amount::units(5_000);
/// let fee: Amount = serde_json::from_str("145.10").unwrap();
/// assert_eq!((price.to_string(), fee.to_string()), ("5000".to_owned(), "145.10".to_owned()));
/// assert_eq!(fee, "145.1".parse().unwrap());
/// assert!(fee < price);
/// assert_eq!((price.whole_units(), fee.whole_units()), (Some(5_000), None));
/// assert_eq!(price.in_currency("XAF"), "5 000 XAF");
/// ```
// Of its own: the four operations that a page needs weigh 5.6 KB brotli in wasm, and 12.1 KB with `rust_decimal`.
#[derive(Clone, Copy)]
pub struct Amount {
    negative: bool,
    units: u64,
    /// In parts of the unit: `ONE` is a whole one.
    fraction: u64,
    /// How many decimals are shown.
    decimals: u8,
}

/// The most decimals.
const DECIMALS: u8 = 18;
/// The parts of a unit.
const ONE: u64 = 10_u64.pow(DECIMALS as u32);
/// The greatest amount of a request: fifteen digits.
const GREATEST: u64 = 999_999_999_999_999;

impl Amount {
    /// So many of the smallest unit.
    #[must_use]
    pub const fn units(units: u64) -> Self {
        Self { negative: false, units, fraction: 0, decimals: 0 }
    }

    /// The amount that a text writes: `5000`, `145.10`.
    ///
    /// # Errors
    /// [`Invalid`] for anything but digits, a sign before them and a point with at most 18 decimals.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        Self::read(text).ok_or(Invalid::because("An amount is a number in the smallest currency unit: 5000."))
    }

    /// The amount as a number of whole units; `None` where it is negative or has a fraction.
    #[must_use]
    pub fn whole_units(self) -> Option<u64> {
        (!self.negative && self.fraction == 0).then_some(self.units)
    }

    /// The same amount without decimals that are zero: 45000 for 45000.00.
    #[must_use]
    pub fn without_zeros(self) -> Self {
        self.whole_units().map_or(self, Self::units)
    }

    /// The amount with its currency, as a person reads it: `45 000 XAF`, `50.00 USD`. Where it has a fraction, or the
    /// currency's smallest unit is not known, it is shown in the smallest unit and says so.
    #[must_use]
    pub fn in_currency(self, currency: &str) -> String {
        match self.whole_units().and_then(|_| self.in_main_unit(currency, " ", ".")) {
            Some(number) => [&number, " ", currency].concat(),
            None => self.in_smallest_unit(currency),
        }
    }

    /// The amount as it was sent, which says so.
    pub(super) fn in_smallest_unit(self, currency: &str) -> String {
        let space = if currency.is_empty() { "" } else { " " };
        [&self.text(), space, currency, " (smallest unit)"].concat()
    }

    /// The amount in the currency's main unit, with these between groups of three digits and before the decimals.
    /// `None` if the currency's smallest unit is not known.
    pub(super) fn in_main_unit(self, currency: &str, group: &str, point: &str) -> Option<String> {
        let (_, exponent) = KNOWN_CURRENCIES.iter().find(|(code, _)| *code == currency)?;
        let exponent = usize::from(*exponent);
        let text = self.without_zeros().text();
        let (sign, digits) = text.strip_prefix('-').map_or(("", &*text), |digits| ("-", digits));
        let (units, rest) = digits.split_at(digits.bytes().take_while(|byte| *byte != b'.').count());
        let rest = rest.get(1..).unwrap_or_default();
        let padded = ["0".repeat((exponent + 1).saturating_sub(units.len())).as_str(), units].concat();
        let (before, after) = padded.split_at(padded.len() - exponent);
        let point = if after.is_empty() && rest.is_empty() { "" } else { point };
        Some([sign, &grouped(before, group), point, after, rest].concat())
    }

    /// The amount of a request, from the text that a request carries it in: 1 to 15 digits, not beginning with 0.
    ///
    /// # Errors
    /// [`Invalid`] for any other text.
    pub fn of_request(text: &str) -> Result<Self, Invalid> {
        let written = whole_number(text).filter(|_| !text.starts_with('0')).map(Self::units);
        written.filter(|amount| amount.requestable().is_some()).ok_or(Invalid::because(
            "An amount is a string of 1 to 15 digits in the smallest currency unit, not beginning with 0: \"5000\".",
        ))
    }

    /// The whole units of an amount that a request may carry.
    pub(crate) fn requestable(self) -> Option<u64> {
        self.whole_units().filter(|units| (1..=GREATEST).contains(units))
    }

    /// This less another; `None` below zero, or where either is.
    pub(crate) fn checked_sub(self, other: Self) -> Option<Self> {
        if self.negative || other.negative || self < other {
            return None;
        }
        let borrowed = self.fraction < other.fraction;
        let fraction = if borrowed { ONE + self.fraction - other.fraction } else { self.fraction - other.fraction };
        let units = self.units - other.units - u64::from(borrowed);
        let left = Self { negative: false, units, fraction, decimals: self.decimals.max(other.decimals) };
        Some(left.without_trailing_zeros())
    }

    fn without_trailing_zeros(mut self) -> Self {
        while self.decimals > 0 && self.shown_fraction().is_multiple_of(10) {
            self.decimals -= 1;
        }
        self
    }

    /// The decimals that are shown, as one number.
    fn shown_fraction(self) -> u64 {
        self.fraction / 10_u64.pow(u32::from(DECIMALS - self.decimals))
    }

    /// The amount with the decimals it was sent with. Joined from texts: the formatter adds 0.7 KB to a page's module.
    pub(crate) fn text(self) -> String {
        let (sign, units) = (if self.negative { "-" } else { "" }, self.units.to_string());
        if self.decimals == 0 {
            return [sign, &units].concat();
        }
        let digits = self.shown_fraction().to_string();
        let zeros = "0".repeat(usize::from(self.decimals).saturating_sub(digits.len()));
        [sign, &units, ".", &zeros, &digits].concat()
    }

    fn read(text: &str) -> Option<Self> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        // Not by `split_once`, whose search adds 0.3 KB to a page's module.
        let point = digits.bytes().position(|byte| byte == b'.').unwrap_or(digits.len());
        let (units, fraction) = (digits.get(..point)?, digits.get(point + 1..).unwrap_or_default());
        let decimals = u8::try_from(fraction.len()).ok().filter(|decimals| *decimals <= DECIMALS)?;
        let are_digits = units.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        let units = units.parse().ok().filter(|_| are_digits)?;
        let fraction = fraction.bytes().chain(std::iter::repeat(b'0')).take(DECIMALS.into());
        let fraction = fraction.fold(0, |parts, digit| parts * 10 + u64::from(digit - b'0'));
        Some(Self { negative: negative && (units, fraction) != (0, 0), units, fraction, decimals })
    }
}

/// The number that 1 to 18 digits write. `parse` also takes a sign.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let is_one = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

/// Digits in groups of three.
fn grouped(digits: &str, between: &str) -> String {
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.into_iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(between)
}

described! { Amount: schemars::json_schema!({ "type": "string", "pattern": "^[1-9][0-9]{0,14}$" }) }

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        let distance = (self.units, self.fraction).cmp(&(other.units, other.fraction));
        match (self.negative, other.negative) {
            (false, false) => distance,
            (true, true) => distance.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Amount {}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Hash for Amount {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.negative, self.units, self.fraction).hash(state);
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Amount({self})")
    }
}

impl fmt::Display for Amount {
    /// Writes the amount with the decimals it was sent with.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::str::FromStr for Amount {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl Serialize for Amount {
    /// Writes a string. A field that the document shows as a number says so, in its declaration.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// The greatest integer that every reader of JSON keeps: 2^53.
pub const GREATEST_INTEGER: u64 = 1 << 53;

/// An amount that is written as a JSON number, where that keeps it, and as a string otherwise; none is `null`.
pub(crate) struct Number(pub(crate) Option<Amount>);

described! { Number: schemars::json_schema!({ "type": "number" }) }

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.map(|amount| (amount, amount.whole_units())) {
            Some((_, Some(units))) if units <= GREATEST_INTEGER => serializer.serialize_u64(units),
            // A JSON number of a fraction would be a float.
            Some((amount, _)) => serializer.serialize_str(&amount.text()),
            None => serializer.serialize_none(),
        }
    }
}

/// Writes a field that is a [`Number`].
pub(crate) fn as_number<T: Copy + Into<Option<Amount>>, S: Serializer>(
    amount: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Number((*amount).into()).serialize(serializer)
}

#[cfg(all(target_arch = "wasm32", feature = "browser"))]
impl<'de> Deserialize<'de> for Amount {
    /// Reads a number as JavaScript writes it, or a string.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Sent {
            Whole(i64),
            Number(f64),
            Text(String),
        }
        let text = match Sent::deserialize(deserializer)? {
            Sent::Whole(number) => number.to_string(),
            Sent::Number(number) => number.to_string(),
            Sent::Text(text) => text,
        };
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
impl<'de> Deserialize<'de> for Amount {
    /// Reads a JSON number by its text, or a string.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        // Only a number has an exponent: as a string it is no amount, as in JavaScript.
        match raw.get().strip_prefix('"') {
            Some(text) => Self::new(text.trim_end_matches('"')),
            None => Self::new(&without_exponent(raw.get()).unwrap_or_else(|| raw.get().to_owned())),
        }
        .map_err(serde::de::Error::custom)
    }
}

/// The digits of a JSON number that is written with an exponent: `1.5E+3` as `1500`. `None` for any other text.
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
fn without_exponent(text: &str) -> Option<String> {
    let (number, exponent) = text.split_once(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let places = usize::try_from(exponent.unsigned_abs()).ok().filter(|places| *places <= 40)?;
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |number| ("-", number));
    let (units, fraction) = number.split_once('.').unwrap_or((number, ""));
    let zeros = "0".repeat(places);
    let digits = [zeros.as_str(), units, fraction, zeros.as_str()].concat();
    let point = if exponent < 0 { units.len() } else { units.len() + 2 * places };
    let (units, fraction) = digits.split_at_checked(point)?;
    Some([sign, units, ".", fraction.trim_end_matches('0')].concat())
}

/// The currencies whose smallest unit is known, and how many decimals it stands for.
pub(super) const KNOWN_CURRENCIES: [(&str, u8); 9] =
    [("XAF", 0), ("XOF", 0), ("RWF", 0), ("UGX", 0), ("NGN", 2), ("GHS", 2), ("KES", 2), ("USD", 2), ("EUR", 2)];

text_value! {
    /// A currency by its three-letter ISO 4217 code, in capitals: `XAF`.
    ///
    /// ```
    /// use guichet::values::Currency;
    /// assert_eq!(Currency::new("XAF"), Ok(Currency::xaf()));
    /// assert_eq!(Currency::xaf().exponent(), Some(0));
    /// ```
    Currency, |text| {
        if text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()) {
            Ok(())
        } else {
            Err(Invalid::because("A currency is its three-letter ISO code in capitals: XAF."))
        }
    }, described { "enum": KNOWN_CURRENCIES.map(|(code, _)| code) }
}

impl Currency {
    /// The Central African franc, the document's default. It has no smaller unit.
    #[must_use]
    pub fn xaf() -> Self {
        Self("XAF".into())
    }

    /// How many decimals the smallest unit stands for, where it is known (a decision of ours): XAF 0, USD 2.
    #[must_use]
    pub fn exponent(&self) -> Option<u8> {
        KNOWN_CURRENCIES.iter().find(|(code, _)| *code == self.as_str()).map(|(_, exponent)| *exponent)
    }
}

impl Default for Currency {
    fn default() -> Self {
        Self::xaf()
    }
}
