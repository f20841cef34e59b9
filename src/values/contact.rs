use super::{Invalid, text_value};

text_value! {
    /// An e-mail address, checked for its shape alone: one `@`, a name before it, a dotted domain after it.
    Email is "awa@example.com" not "awa@", |text| {
        let shaped = text.chars().count() <= 254
            && !text.chars().any(|c| c.is_whitespace() || c.is_control())
            && text.split_once('@').is_some_and(|(name, domain)| {
                !name.is_empty()
                    && !domain.contains('@')
                    && domain.split('.').count() >= 2
                    && domain.split('.').all(|label| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-'))
            });
        if shaped { Ok(()) } else { Err(Invalid::because("An e-mail address looks like name@example.com.")) }
    }, described { "pattern": super::described::pattern_of_an_email(), "maxLength": 254 };

    /// A phone number with its country prefix, digits only, 7 to 15 of them (ITU-T E.164): `237670000000`.
    Phone is "237670000000" not "+237 670 00 00 00", |text| {
        if (7..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()) {
            Ok(())
        } else {
            Err(Invalid::because("A phone number is its country prefix and number, 7 to 15 digits and nothing else: 237670000000."))
        }
    }, described { "pattern": "^[0-9]{7,15}$" };

    /// A country by its two-letter ISO 3166 code, in capitals: `CM`.
    Country is "CM" not "cm", |text| {
        if text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase()) {
            Ok(())
        } else {
            Err(Invalid::because("A country is its two-letter ISO code in capitals: CM."))
        }
    }, described { "pattern": "^[A-Z]{2}$" }
}

impl Country {
    /// Cameroon, the document's default.
    #[must_use]
    pub fn cm() -> Self {
        Self("CM".into())
    }
}
