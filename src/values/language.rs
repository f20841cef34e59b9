//! The languages of the pages that this project draws, and how a page writes money.

use super::Amount;

/// The language of a page.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Language {
    /// English, also for every other language.
    #[default]
    English,
    /// French.
    French,
}

impl Language {
    /// Every language, in the order in which pages offer them.
    pub const ALL: [Self; 2] = [Self::English, Self::French];

    /// French for a tag that begins with `fr`, in small letters or capitals, and for an `Accept-Language` header whose
    /// first language it is. `words` of the npm package and its popup follow the same rule:
    /// `tests/rules/languages.json`.
    #[must_use]
    pub fn of_tag(tag: &str) -> Self {
        let is_french = tag.get(..2).is_some_and(|two| two.eq_ignore_ascii_case("fr"));
        if is_french { Self::French } else { Self::English }
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.pick("en", "fr")
    }

    /// Its own name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.pick("English", "Français")
    }

    /// What is in this language, of two.
    #[must_use]
    pub fn pick<T>(self, english: T, french: T) -> T {
        match self {
            Self::English => english,
            Self::French => french,
        }
    }

    /// An amount as customers read it, and as `formatMoney` of the npm package writes it: `FCFA 45,000`,
    /// `45 000 FCFA`. Spaces do not break. If the currency's smallest unit is not known, the
    /// amount is in that.
    #[must_use]
    pub fn money(self, amount: Amount, currency: &str) -> String {
        let (group, point) = self.pick((",", "."), ("\u{202f}", ","));
        let Some(number) = amount.in_main_unit(currency, group, point) else {
            return amount.in_smallest_unit(currency);
        };
        let sign = self.sign(currency);
        let space =
            if sign.ends_with(|last: char| last.is_ascii_alphabetic()) || self == Self::French { "\u{a0}" } else { "" };
        match (self, number.strip_prefix('-')) {
            (Self::French, _) => [&number, space, sign].concat(),
            (Self::English, Some(number)) => ["-", sign, space, number].concat(),
            (Self::English, None) => [sign, space, &number].concat(),
        }
    }

    /// What a currency is called beside an amount: the names of CLDR, which browsers have, too.
    fn sign(self, currency: &str) -> &str {
        match currency {
            "XAF" => "FCFA",
            "XOF" => "F\u{202f}CFA",
            "EUR" => "€",
            "USD" => self.pick("$", "$US"),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::money::KNOWN_CURRENCIES;
    use serde_json::Value;

    /// The package passes the same: `tests/rules/run.mjs`.
    #[test]
    fn a_tag_names_the_language_of_a_page() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/rules/languages.json")).expect("JSON");
        for case in cases["cases"].as_array().expect("cases") {
            assert_eq!(Language::of_tag(case["tag"].as_str().expect("a tag")).code(), case["language"], "{case}");
        }
    }

    /// The package passes the same: `tests/rules/run.mjs`.
    #[test]
    fn every_page_writes_an_amount_in_the_same_way() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/rules/money.json")).expect("JSON");
        let cases = cases["cases"].as_array().expect("cases");
        for case in cases {
            let amount = Amount::new(case["amount"].as_str().expect("a text")).expect("an amount");
            for language in Language::ALL {
                let written = language.money(amount, case["currency"].as_str().expect("a code"));
                assert_eq!(written, case[language.code()], "{case}");
            }
        }
        for (currency, _) in KNOWN_CURRENCIES {
            assert!(cases.iter().any(|case| case["currency"] == currency), "{currency} has no case");
        }
        assert_eq!(Language::French.money(Amount::units(5_000), "ZZZ"), "5000 ZZZ (smallest unit)");
    }
}
