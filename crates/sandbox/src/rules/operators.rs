//! The mobile money operators: whose a phone is, what the customer does there, and how each works now. `decisions.md`
//! 3.

use guichet::values::{Country, OperatorCode, Phone};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

/// By how many seconds every attempt of a delayed operator ends later.
const DELAY: u32 = 60;

/// A mobile money operator.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) code: &'static str,
    pub(crate) name: &'static str,
    country: &'static str,
    /// What its phones begin with, after the country's prefix.
    pub(crate) prefixes: &'static [&'static str],
    /// What a customer dials to find a payment that waits for them.
    pub(crate) ussd: &'static str,
}

/// The prefix of the operators' country.
pub(crate) const CAMEROON: &str = "237";

/// Cameroon's operators. Their prefixes are those of the numbering plan that the regulator ART announced through the
/// ITU on 6 October 2014 (67 and 650 to 654: MTN; 69 and 655 to 659: Orange), with 680 to 683 from the carrier table of
/// libphonenumber (`resources/carrier/en/237.txt`). Other tables contradict it: some give 640 and 686 to 689 to Orange,
/// some end MTN's at 680. Such a phone has no operator here until its customer names one. A number may also have been
/// ported.
pub(crate) static OPERATORS: [Operator; 2] = [
    Operator {
        code: "mtn_cm",
        name: "MTN Mobile Money",
        country: "CM",
        prefixes: &["650", "651", "652", "653", "654", "67", "680", "681", "682", "683"],
        ussd: "*126#",
    },
    Operator {
        code: "orange_cm",
        name: "Orange Money",
        country: "CM",
        prefixes: &["655", "656", "657", "658", "659", "69"],
        ussd: "#150*50#",
    },
];

impl Operator {
    /// The codes of all operators.
    pub(crate) fn codes() -> Vec<&'static str> {
        OPERATORS.iter().map(|operator| operator.code).collect()
    }

    /// The operator with this code.
    pub(crate) fn of_code(code: &str) -> Option<&'static Self> {
        OPERATORS.iter().find(|operator| operator.code == code)
    }

    /// The operators of a country.
    pub(crate) fn of_country(country: &Country) -> impl Iterator<Item = &'static Self> {
        OPERATORS.iter().filter(move |operator| operator.country == country.as_str())
    }

    /// The operator of a phone: the one that its customer names, or else the one of its prefix.
    ///
    /// # Errors
    /// If no operator of the phone's country has the named code.
    pub(crate) fn of_phone(
        phone: &Phone,
        named: Option<&OperatorCode>,
    ) -> Result<Option<&'static Self>, UnknownOperator> {
        let national = phone.as_str().strip_prefix(CAMEROON).filter(|national| national.len() == 9);
        match (named, national) {
            (None, None) => Ok(None),
            (None, Some(national)) => Ok(OPERATORS.iter().find(|operator| operator.owns(national))),
            (Some(code), Some(_)) => Self::of_code(code.as_str()).map(Some).ok_or(UnknownOperator),
            (Some(_), None) => Err(UnknownOperator),
        }
    }

    fn owns(&self, national: &str) -> bool {
        self.prefixes.iter().any(|prefix| national.starts_with(prefix))
    }
}

/// A phone's country has no operator with this code.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct UnknownOperator;

/// How an operator works now.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, IntoStaticStr, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OperatorStatus {
    /// It is shown and not offered: it takes no payments.
    Closed,
    /// Its attempts end later.
    Delayed,
    /// As usual.
    #[default]
    Operational,
}

impl OperatorStatus {
    pub(crate) const ALL: [Self; 3] = [Self::Operational, Self::Delayed, Self::Closed];

    /// Its name in the interface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// How the operators work now, for one merchant: those that do not work as usual, by their codes.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct OperatorStatuses(BTreeMap<String, OperatorStatus>);

impl OperatorStatuses {
    /// As they are stored: a JSON object.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(&self.0).expect("a map of words is JSON")
    }

    /// Reads what is stored.
    ///
    /// # Errors
    /// If it is not that.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The status of an operator.
    #[must_use]
    pub fn of(&self, code: &str) -> OperatorStatus {
        self.0.get(code).copied().unwrap_or_default()
    }

    /// The statuses with another one of this operator.
    #[must_use]
    pub fn with(mut self, code: &str, status: OperatorStatus) -> Self {
        self.0.remove(code);
        if status != OperatorStatus::Operational {
            self.0.insert(code.to_owned(), status);
        }
        self
    }

    /// By how many seconds an attempt that begins now ends later.
    pub(crate) fn delay(&self, code: Option<&str>) -> u32 {
        let status = code.map(|code| self.of(code)).unwrap_or_default();
        if status == OperatorStatus::Delayed { DELAY } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_has_the_operator_of_its_prefix_or_the_one_that_its_customer_names() {
        let of = |phone: &str, named: Option<&str>| {
            let named = named.map(|code| OperatorCode::new(code).unwrap());
            Operator::of_phone(&Phone::new(phone).unwrap(), named.as_ref())
                .map(|found| found.map(|operator| operator.code))
        };
        for (phone, code) in [
            ("237650000000", Some("mtn_cm")),
            ("237654000000", Some("mtn_cm")),
            ("237655000000", Some("orange_cm")),
            ("237659000000", Some("orange_cm")),
            ("237670000000", Some("mtn_cm")),
            ("237679999999", Some("mtn_cm")),
            ("237683000000", Some("mtn_cm")),
            ("237690000000", Some("orange_cm")),
            // Tables contradict each other about these two, and the third is another operator's.
            ("237640000000", None),
            ("237686000000", None),
            ("237660000000", None),
            ("225070000000", None),
            ("23767000000", None),
        ] {
            assert_eq!(of(phone, None), Ok(code), "{phone}");
        }
        assert_eq!(of("237670000000", Some("orange_cm")), Ok(Some("orange_cm")), "a number may have been ported");
        assert_eq!(of("237686000000", Some("orange_cm")), Ok(Some("orange_cm")));
        assert_eq!(of("237670000000", Some("orange")), Err(UnknownOperator));
        assert_eq!(of("225070000000", Some("mtn_cm")), Err(UnknownOperator), "it is of another country");
    }

    #[test]
    fn the_statuses_are_read_back_and_the_usual_one_is_not_stored() {
        let statuses = OperatorStatuses::default().with("mtn_cm", OperatorStatus::Delayed);
        assert_eq!(OperatorStatuses::read(&statuses.text()).unwrap(), statuses);
        assert_eq!(
            (statuses.delay(Some("mtn_cm")), statuses.delay(Some("orange_cm")), statuses.delay(None)),
            (60, 0, 0)
        );
        assert_eq!(statuses.with("mtn_cm", OperatorStatus::Operational).text(), "{}");
    }
}
