//! The sentences of the pages in English and French, from `words/en.json` and `words/fr.json`. The scripts have the
//! same ones.

/// A sentence in each language. `{name}` in it is a place for [`Language::fill`].
pub(crate) type Sentence = [&'static str; 2];

/// The language of a page.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Language {
    #[default]
    English,
    French,
}

impl Language {
    /// Every language, in the order in which pages offer them.
    pub(crate) const ALL: [Self; 2] = [Self::English, Self::French];

    /// Its own name.
    pub(crate) fn name(self) -> &'static str {
        self.of(&["English", "Français"])
    }

    /// Its code.
    pub(crate) fn code(self) -> &'static str {
        self.of(&["en", "fr"])
    }

    /// The sentence in this language.
    pub(crate) fn of(self, sentence: &Sentence) -> &'static str {
        sentence[self as usize]
    }

    /// The sentence with its places filled.
    pub(crate) fn fill(self, sentence: &Sentence, values: &[(&str, &str)]) -> String {
        let text = self.of(sentence).to_owned();
        values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// An amount in the smallest unit, as `Intl.NumberFormat` writes it for the currencies of mobile money.
    pub(crate) fn money(self, units: u64, currency: &guichet::values::Currency) -> String {
        let code = match currency.as_str() {
            "XAF" => "FCFA",
            "XOF" => "F\u{202f}CFA",
            other => other,
        };
        let unit = 10_u64.pow(u32::from(currency.exponent().unwrap_or_default()));
        let (group, point) = if self == Self::French { ("\u{202f}", ",") } else { (",", ".") };
        let digits = (units / unit).to_string();
        let mut amount = String::new();
        for (position, digit) in digits.chars().enumerate() {
            if position > 0 && (digits.len() - position).is_multiple_of(3) {
                amount += group;
            }
            amount.push(digit);
        }
        if unit > 1 {
            let decimals = unit.ilog10() as usize;
            amount += &format!("{point}{:0decimals$}", units % unit);
        }
        if self == Self::French { format!("{amount}\u{a0}{code}") } else { format!("{code}\u{a0}{amount}") }
    }
}

// A template uses some of the sentences only; the others are not compiled.
#[allow(dead_code)]
mod sentences {
    use super::Sentence;
    include!(concat!(env!("OUT_DIR"), "/words.rs"));
}
pub(crate) use sentences::{codes, declines, hosted, issuer, methods, plain};

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::values::Currency;

    #[test]
    fn amounts_are_written_as_browsers_write_them() {
        let usd = Currency::new("USD").unwrap();
        for (units, currency, english, french) in [
            (5_100, Currency::xaf(), "FCFA 5,100", "5 100 FCFA"),
            (100, Currency::xaf(), "FCFA 100", "100 FCFA"),
            (1_234_567, Currency::xaf(), "FCFA 1,234,567", "1 234 567 FCFA"),
            (123_405, usd, "USD 1,234.05", "1 234,05 USD"),
        ] {
            let plain = |text: String| text.replace(['\u{202f}', '\u{a0}'], " ");
            assert_eq!(plain(Language::English.money(units, &currency)), english);
            assert_eq!(plain(Language::French.money(units, &currency)), french);
        }
    }

    #[test]
    fn places_are_filled() {
        assert_eq!(Language::French.fill(&hosted::PAY_AMOUNT, &[("amount", "1 FCFA")]), "Payer 1 FCFA");
    }
}
