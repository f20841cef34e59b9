//! The sentences of the pages in English and French, from `words/en.json` and `words/fr.json`. The scripts have the
//! same ones.

pub(crate) use guichet::values::Language;

/// A sentence in each language. `{name}` in it is a place for [`Sentences::fill`].
pub(crate) type Sentence = [&'static str; 2];

/// The sentences of a language.
pub(crate) trait Sentences {
    /// The sentence in this language.
    fn of(self, sentence: &Sentence) -> &'static str;

    /// The sentence with its places filled.
    fn fill(self, sentence: &Sentence, values: &[(&str, &str)]) -> String;
}

impl Sentences for Language {
    fn of(self, &[english, french]: &Sentence) -> &'static str {
        self.pick(english, french)
    }

    fn fill(self, sentence: &Sentence, values: &[(&str, &str)]) -> String {
        let text = self.of(sentence).to_owned();
        values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
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

    #[test]
    fn places_are_filled() {
        assert_eq!(Language::French.fill(&hosted::PAY_AMOUNT, &[("amount", "1 FCFA")]), "Payer 1 FCFA");
    }
}
