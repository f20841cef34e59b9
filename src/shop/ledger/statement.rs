//! A payment company's statement: what its rows say, and how their amounts are read.

use super::body::Money;
use super::order::Time;
use crate::values::{Amount, Currency};
use serde::{Deserialize, Serialize};

/// The words of a status that mean that a payment was paid, in small letters.
const PAID: [&str; 5] = ["succeeded", "success", "successful", "completed", "paid"];

/// A row of a statement: the texts of its columns.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct StatementRow {
    /// Its line in the file.
    pub line: u64,
    /// The service's id of the payment, or its public reference; empty if the row has neither.
    pub id: String,
    /// The reference that the shop has sent; empty if the row has none.
    pub reference: String,
    /// The amount, as it is written.
    pub amount: String,
    /// The currency's code.
    pub currency: String,
    /// The status; none if the statement has no such column, so that each of its rows was paid.
    pub status: Option<String>,
}

/// How a statement is read.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct StatementRules {
    /// The unit of its amounts.
    pub unit: AmountUnit,
    /// More words that mean that a payment was paid.
    pub paid_words: Vec<String>,
    /// The first and the last second that it covers, in Unix seconds; none: not known.
    pub span: Option<(Time, Time)>,
}

/// The unit of a statement's amounts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum AmountUnit {
    /// The smallest unit of the currency, as the service has it: 4500 for 45.00 USD.
    #[default]
    Minor,
    /// The currency itself, with its decimals: 45.00 for 45.00 USD.
    Major,
}

/// Why a row, or a part of it, cannot be judged.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyNotJudged {
    /// It has more or fewer columns than the statement.
    Columns,
    /// It has neither an id nor a reference.
    NoName,
    /// Its id and its reference are those of two payments of ours. It was compared by its id.
    TwoPayments,
    /// Its status is empty.
    NoStatus,
    /// Its currency is no code of three letters.
    Currency,
    /// Its amount is no number.
    NoNumber,
    /// Its amount is less than zero.
    Negative,
    /// A separator in its amount may mean thousands or decimals.
    Separator,
    /// Its amount has decimals that its currency, or the smallest unit, does not have.
    Decimals,
    /// The decimals of its currency are not known, so that its amount in that currency cannot be read.
    UnknownUnit,
}

impl StatementRules {
    /// Whether a status means that the payment was paid.
    pub(super) fn is_paid(&self, status: &str) -> bool {
        let status = status.to_lowercase();
        PAID.contains(&&*status) || self.paid_words.iter().any(|word| word.trim().to_lowercase() == status)
    }

    /// The sum of a row.
    pub(super) fn sum(&self, row: &StatementRow) -> Result<Money, WhyNotJudged> {
        let code = row.currency.trim().to_ascii_uppercase();
        let currency = Currency::new(code).map_err(|_| WhyNotJudged::Currency)?;
        let amount = self.unit.read(&row.amount, &currency)?;
        Ok(Money { amount, currency: currency.as_str().to_owned() })
    }
}

impl AmountUnit {
    /// The amount that a statement writes so, in the smallest unit. What could mean two amounts is refused.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(self, text: &str, currency: &Currency) -> Result<Amount, WhyNotJudged> {
        let text = text.trim();
        if text.starts_with(['-', '\u{2212}', '(']) {
            return Err(WhyNotJudged::Negative);
        }
        let (units, decimals) = parts(text)?;
        let is_whole = decimals.bytes().all(|digit| digit == b'0');
        let digits = match (currency.exponent(), self) {
            (Some(0), _) if is_whole => units,
            (Some(0), _) => return Err(WhyNotJudged::Decimals),
            (_, Self::Minor) if !decimals.is_empty() => return Err(WhyNotJudged::Decimals),
            // Digits in groups are written for people, who read the currency itself.
            (_, Self::Minor) if units != text => return Err(WhyNotJudged::Separator),
            (_, Self::Minor) => units,
            (None, Self::Major) => return Err(WhyNotJudged::UnknownUnit),
            (Some(exponent), Self::Major) if decimals.len() <= usize::from(exponent) => {
                format!("{units}{decimals:0<width$}", width = usize::from(exponent))
            }
            (Some(_), Self::Major) => return Err(WhyNotJudged::Decimals),
        };
        Amount::new(&digits).map_err(|_| WhyNotJudged::NoNumber)
    }
}

/// The digits before and after the decimal separator.
fn parts(text: &str) -> Result<(String, &str), WhyNotJudged> {
    let Some((at, last)) = text.char_indices().rfind(|(_, c)| is_separator(*c)) else {
        return Ok((digits(text)?.to_owned(), ""));
    };
    let (before, after) = (&text[..at], &text[at + last.len_utf8()..]);
    let has_other = before.contains(is_separator);
    if !matches!(last, '.' | ',') || before.contains(last) {
        return Ok((without_groups(text)?, ""));
    }
    let after = digits(after)?;
    if after.len() == 3 && !has_other {
        return Err(WhyNotJudged::Separator);
    }
    Ok((without_groups(before)?, after))
}

/// Spaces, also those that do not break, and the two marks.
fn is_separator(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '.' | ',')
}

/// Digits that one separator parts into groups of three.
fn without_groups(text: &str) -> Result<String, WhyNotJudged> {
    let separator = text.chars().find(|c| is_separator(*c)).unwrap_or(' ');
    let groups = text.split(separator).map(digits).collect::<Result<Vec<_>, _>>()?;
    let is_grouped = groups.len() == 1 || groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3);
    if is_grouped { Ok(groups.concat()) } else { Err(WhyNotJudged::Separator) }
}

fn digits(text: &str) -> Result<&str, WhyNotJudged> {
    let are_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if are_digits { Ok(text) } else { Err(WhyNotJudged::NoNumber) }
}
