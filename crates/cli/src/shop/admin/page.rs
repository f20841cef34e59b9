//! What the page has in words, in English and in French.

use crate::shop::books::has_paid;
use crate::shop::utc_offset::UtcOffset;
use askama::Template;
use axum::response::{IntoResponse, Response};
use base64::prelude::{BASE64_STANDARD, Engine};
use guichet::native::ledger::{
    Day, MethodSum, Mismatch, MismatchReason, Money, Order, OrderRefund, OrderState, Restore,
};
use guichet::shop::ledger::{Entry, refunds};
use guichet::values::{Language, printable};
use http::{HeaderValue, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The most rows of a list.
const MOST_ROWS: usize = 200;
const STYLE: &str = include_str!("../../../templates/admin.css");
/// A kind and a word of it, and what the page says of it in English and in French.
static WORDS: LazyLock<BTreeMap<&str, [&str; 2]>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../templates/words.json")).unwrap_or_default());

/// The page loads nothing, runs nothing, and is in no frame.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
});

/// What every page shows, and how it is addressed.
pub(super) struct Page {
    pub(super) language: Language,
    /// The shop's name.
    pub(super) shop: String,
    /// The path of the page.
    pub(super) base: String,
    /// The code of the language, if it was chosen.
    pub(super) lang: Option<&'static str>,
    /// What each of its addresses carries on: the language and the clock, if they were chosen.
    pub(super) query: String,
    /// The same page in English and in French.
    pub(super) languages: [String; 2],
    pub(super) utc_offset: UtcOffset,
    /// Who decides, as the history keeps it; none: they type it.
    pub(super) who: Option<String>,
    /// The token of its forms.
    pub(super) token: String,
    /// What was just done.
    pub(super) done: Option<String>,
    /// The restores that are open, for a person who may know of them.
    pub(super) restores: Vec<Restore>,
}

/// The rows of a list, and how many more there are.
pub(super) struct List<T> {
    pub(super) rows: Vec<T>,
    pub(super) more: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), more: 0 }
    }
}

impl<T> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, rows: I) {
        for row in rows {
            if self.rows.len() < MOST_ROWS { self.rows.push(row) } else { self.more += 1 }
        }
    }
}

impl<T> List<T> {
    fn count(&self) -> usize {
        self.rows.len() + self.more
    }
}

/// What is to be done.
#[derive(Template)]
#[template(path = "books.html")]
pub(super) struct BooksPage<'a> {
    pub(super) page: &'a Page,
    pub(super) refunds: List<OrderRefund>,
    /// Each with what the shop has named last.
    pub(super) mismatches: List<(Mismatch, Option<Money>)>,
    pub(super) events: List<(String, Option<OrderState>)>,
    pub(super) day: Day,
    pub(super) date: String,
}

/// Orders that were found.
#[derive(Template)]
#[template(path = "orders.html")]
pub(super) struct OrdersPage<'a> {
    pub(super) page: &'a Page,
    /// Each with whether the application has received what it has become.
    pub(super) orders: Vec<(Order, bool)>,
}

/// The question before a sum is stored.
#[derive(Template)]
#[template(path = "confirm.html")]
pub(super) struct ConfirmPage<'a> {
    pub(super) page: &'a Page,
    pub(super) mismatch: &'a Mismatch,
    pub(super) id: &'a str,
    pub(super) sum: Money,
    pub(super) by: &'a str,
    pub(super) note: &'a str,
    pub(super) confirmed: String,
    /// What becomes of the payment: a word of the kind `then`.
    pub(super) then: &'static str,
}

/// Why something is not shown, or was not done.
#[derive(Template)]
#[template(path = "notice.html")]
pub(super) struct NoticePage<'a> {
    pub(super) page: &'a Page,
    pub(super) sentence: String,
    /// Whether there is a page to go back to.
    pub(super) is_in: bool,
}

/// A page as an answer, which nothing keeps.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Response {
    let Ok(text) = page.render() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let policy = HeaderValue::from_str(&POLICY).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (status, fixed, [(header::CONTENT_SECURITY_POLICY, policy)], text).into_response()
}

impl Page {
    pub(super) fn say<'a>(&self, english: &'a str, french: &'a str) -> &'a str {
        self.language.pick(english, french)
    }

    /// The clocks to choose from: those near Cameroon, and the one that was chosen.
    fn offsets(&self) -> Vec<String> {
        let mut offsets: Vec<String> = ["+00:00", "+01:00", "+02:00", "+03:00"].map(str::to_owned).into();
        let own = self.utc_offset.to_string();
        if !offsets.contains(&own) {
            offsets.push(own);
        }
        offsets
    }

    fn is_offset(&self, offset: &str) -> bool {
        self.utc_offset.to_string() == offset
    }

    /// The two lists of a day, each with its heading.
    fn groups<'a>(&self, day: &'a Day) -> [(&'static str, &'a [MethodSum]); 2] {
        [
            (self.say("Paid", "Payé"), &day.paid),
            (self.say("Paid besides, to be given back", "Payé en plus, à rembourser"), &day.besides),
        ]
    }

    fn money(&self, sum: &Money) -> String {
        // No line ends within a sum.
        self.language.money(sum.amount, &self.text(&sum.currency)).replace(' ', "\u{a0}")
    }

    fn total(&self, sum: &MethodSum) -> String {
        let money = sum.total.map(|amount| self.money(&Money { amount, currency: sum.currency.clone() }));
        money.unwrap_or_else(|| self.say("not known", "inconnu").to_owned())
    }

    fn at(&self, unix: &i64) -> String {
        let at = self.utc_offset.at(*unix).map(|at| at.strftime("%Y-%m-%d %H:%M").to_string());
        at.unwrap_or_else(|_| unix.to_string())
    }

    fn text(&self, text: &str) -> String {
        printable(text).to_string()
    }

    fn order_path(&self, name: &str) -> String {
        format!("{}/orders/{}{}", self.base, utf8_percent_encode(name, NON_ALPHANUMERIC), self.query)
    }

    /// What the page says of a word of this kind, or else the word itself.
    pub(super) fn word(&self, kind: &str, word: impl Serialize) -> String {
        let word = serde_json::to_value(word).ok();
        let word = word.as_ref().and_then(Value::as_str).unwrap_or("none");
        let found = WORDS.get(&*format!("{kind} {word}"));
        found.map_or_else(|| self.text(word), |[english, french]| self.say(english, french).to_owned())
    }

    /// A line of the history: what a person has decided, or the word of the service.
    fn history(&self, Entry { what, who, .. }: &Entry) -> String {
        if who.is_none() {
            return format!(
                "{}: {}",
                self.say("the payment company", "la société de paiement"),
                self.word("status", what)
            );
        }
        let (word, rest) = what.split_at(what.find([':', ',']).unwrap_or(what.len()));
        let rest = rest.replacen(", attempt ", self.say(", attempt ", ", tentative "), 1);
        [self.word("history", word), self.text(&rest)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_both_languages() {
        assert!(WORDS.len() > 30, "the file is read");
        for (word, languages) in &*WORDS {
            assert!(languages.iter().all(|text| !text.trim().is_empty()), "{word}");
        }
    }
}
