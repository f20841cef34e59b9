//! Fees, from a table of integer basis points. Amounts are in the smallest unit.

use guichet::values::{CardType, Country, Currency};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The table of fees.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fees {
    mobile_money: MobileMoney,
    card: Card,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MobileMoney {
    name: String,
    countries: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    name: String,
    local: u32,
    international: u32,
    countries: Vec<String>,
}

/// The id of mobile money in the list.
pub(crate) const MOBILE_MONEY: &str = "svc_mobile_money";

/// One method of the list.
pub(crate) struct Method<'a> {
    pub(crate) id: &'static str,
    pub(crate) name: &'a str,
    pub(crate) countries: Vec<&'a str>,
}

/// Why there is no fee.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FeeProblem {
    Country,
    Currency,
    Method,
}

impl Fees {
    /// The sandbox's built-in table.
    pub(crate) fn standard() -> Self {
        toml::from_str(include_str!("../fees.toml")).expect("a test reads the built-in table")
    }

    /// The methods of a country.
    pub(crate) fn methods(&self, country: &Country) -> Vec<Method<'_>> {
        let phone = Method {
            id: MOBILE_MONEY,
            name: &self.mobile_money.name,
            countries: self.mobile_money.countries.keys().map(String::as_str).collect(),
        };
        let card = Method {
            id: "svc_card",
            name: &self.card.name,
            countries: self.card.countries.iter().map(String::as_str).collect(),
        };
        [phone, card].into_iter().filter(|method| method.countries.contains(&country.as_str())).collect()
    }

    /// The countries with mobile money; cards are accepted in the same ones.
    pub(crate) fn countries(&self) -> Vec<String> {
        self.mobile_money.countries.keys().cloned().collect()
    }

    /// The fee of an amount in the smallest unit.
    pub(crate) fn fee(
        &self,
        method: &str,
        currency: &Currency,
        country: &Country,
        card_type: CardType,
        amount: u64,
    ) -> Result<u64, FeeProblem> {
        let country = country.as_str();
        let points = match method {
            "mobile_money" => *self.mobile_money.countries.get(country).ok_or(FeeProblem::Country)?,
            "card" if !self.card.countries.iter().any(|served| served == country) => return Err(FeeProblem::Country),
            "card" => match card_type {
                CardType::Local => self.card.local,
                CardType::International => self.card.international,
            },
            _ => return Err(FeeProblem::Method),
        };
        currency.exponent().ok_or(FeeProblem::Currency)?;
        Ok(share(amount, points))
    }
}

/// `points` basis points of an amount, rounded up; at least 1 if `points` is over 0.
fn share(amount: u64, points: u32) -> u64 {
    let exact = u128::from(amount) * u128::from(points);
    u64::try_from(exact.div_ceil(10_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fee_table_is_kept() {
        let fees = Fees::standard();
        let table = [
            ("mobile_money", "CM", CardType::Local, 5_000, Ok(100)),
            ("mobile_money", "CM", CardType::Local, 5_001, Ok(101)),
            ("mobile_money", "CM", CardType::Local, 1, Ok(1)),
            ("mobile_money", "CI", CardType::Local, 5_000, Ok(125)),
            ("mobile_money", "BJ", CardType::Local, 5_000, Ok(125)),
            ("mobile_money", "TD", CardType::Local, 5_000, Ok(150)),
            ("mobile_money", "RW", CardType::Local, 5_000, Ok(125)),
            ("mobile_money", "CM", CardType::International, 5_000, Ok(100)),
            ("mobile_money", "FR", CardType::Local, 5_000, Err(FeeProblem::Country)),
            ("card", "CM", CardType::Local, 5_000, Ok(145)),
            ("card", "CM", CardType::International, 5_000, Ok(195)),
            ("card", "CM", CardType::International, 999_999_999_999_999, Ok(39_000_000_000_000)),
            ("card", "FR", CardType::Local, 5_000, Err(FeeProblem::Country)),
            ("svc_card", "CM", CardType::Local, 5_000, Err(FeeProblem::Method)),
        ];
        for (method, country, card_type, amount, fee) in table {
            let country = Country::new(country).unwrap();
            assert_eq!(
                fees.fee(method, &Currency::xaf(), &country, card_type, amount),
                fee,
                "{method} {country} {amount}"
            );
        }
        let unknown = fees.fee("card", &Currency::new("JPY").unwrap(), &Country::cm(), CardType::Local, 1);
        assert_eq!(unknown, Err(FeeProblem::Currency));
    }

    #[test]
    fn zero_basis_points_are_no_fee_and_no_amount_overflows() {
        assert_eq!(share(5_000, 0), 0);
        assert_eq!(share(u64::MAX, 10_000), u64::MAX);
        assert_eq!(share(u64::MAX, u32::MAX), u64::MAX);
    }

    #[test]
    fn an_unserved_country_has_no_methods() {
        assert_eq!(Fees::standard().methods(&Country::cm()).len(), 2);
        assert!(Fees::standard().methods(&Country::new("FR").unwrap()).is_empty());
    }
}
