//! The test phones and cards, and what happens when each is charged: `decisions.md` 11.

use super::Operator;
use guichet::operations::{Card, Instrument};
use guichet::values::CardType;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The stored part of a customer's payment method. A card's number is not stored.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PayingWith {
    Card { brand: String, last4: String, exp_month: u8, exp_year: u16, card_type: CardType, behaviour: Behaviour },
    MobileMoney { phone: String, operator: Option<String>, behaviour: Behaviour },
}

/// The result of a charge of a payment method.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Behaviour {
    /// Asks for a one-time code before the charge.
    AsksForCode,
    /// Sends the customer to the card's issuer before the charge.
    AsksForRedirect,
    /// Declined after `after` seconds, and approved by the operator `approved_after` seconds later.
    ApprovedLate { after: u32, decline: Decline, approved_after: u32 },
    /// Declined after `after` seconds.
    Declines { after: u32, decline: Decline },
    /// Reported as failed at once, without a reason, although it succeeds after `succeeds_after` seconds.
    FailsThenSucceeds { succeeds_after: u32 },
    /// Never ends.
    Hangs,
    /// The first two attempts are declined at once, the third succeeds.
    RecoversAtTheThird { decline: Decline },
    /// Paid after `after` seconds.
    Succeeds { after: u32 },
    /// Ends when the test decides on the customer's phone.
    WaitsForHandset,
}

/// Why a charge was declined. Its words are its codes in the interface.
#[derive(Clone, Copy, Debug, Deserialize, Eq, IntoStaticStr, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Decline {
    /// The customer would have to approve it, but is not present.
    AuthenticationRequired,
    ExpiredCard,
    FraudBlocked,
    #[strum(serialize = "generic_decline")]
    Generic,
    IncorrectCvc,
    IncorrectOtp,
    InsufficientFunds,
    LimitExceeded,
    PayerNotFound,
    PayerTimeout,
    ProcessingError,
    ProviderUnavailable,
    RejectedByPayer,
}

/// Reads a payment method. `None` for a card that is not a test card, and for an operator that the phone's country does
/// not have.
pub(crate) fn read_instrument(instrument: &Instrument) -> Option<PayingWith> {
    match instrument {
        Instrument::Card { card } => test_card(card),
        Instrument::MobileMoney { phone, operator } => {
            let operator = Operator::of_phone(phone, operator.as_ref()).ok()?.map(|operator| operator.code.to_owned());
            let phone = phone.as_str();
            let last_seven = phone.get(phone.len().saturating_sub(7)..).unwrap_or(phone);
            Some(PayingWith::MobileMoney { phone: phone.to_owned(), operator, behaviour: test_phone(last_seven) })
        }
        // It is refused like a card that is no test card.
        _ => None,
    }
}

/// The last seven digits decide, with any country code.
fn test_phone(last_seven: &str) -> Behaviour {
    let at_once = |decline| Behaviour::Declines { after: 0, decline };
    match last_seven {
        "0000000" => Behaviour::Succeeds { after: 0 },
        "0000001" => Behaviour::Succeeds { after: 30 },
        "0000002" => at_once(Decline::InsufficientFunds),
        "0000003" => at_once(Decline::RejectedByPayer),
        "0000004" => Behaviour::Declines { after: 300, decline: Decline::PayerTimeout },
        "0000005" => Behaviour::Hangs,
        "0000006" => at_once(Decline::PayerNotFound),
        "0000007" => Behaviour::RecoversAtTheThird { decline: Decline::ProviderUnavailable },
        "0000008" => at_once(Decline::LimitExceeded),
        "0000009" => at_once(Decline::FraudBlocked),
        "0000010" => Behaviour::AsksForCode,
        "0000011" => Behaviour::ApprovedLate { after: 300, decline: Decline::PayerTimeout, approved_after: 300 },
        "0000012" => Behaviour::ApprovedLate { after: 0, decline: Decline::ProviderUnavailable, approved_after: 600 },
        "0000013" => Behaviour::ApprovedLate { after: 5, decline: Decline::RejectedByPayer, approved_after: 240 },
        "0000014" => Behaviour::FailsThenSucceeds { succeeds_after: 60 },
        "0000020" => Behaviour::WaitsForHandset,
        _ => Behaviour::Succeeds { after: 2 },
    }
}

/// The test cards: the number, local or international, and what happens when it is charged.
const CARDS: [(&str, CardType, Behaviour); 10] = {
    const SUCCEEDS: Behaviour = Behaviour::Succeeds { after: 0 };
    const fn declines(decline: Decline) -> Behaviour {
        Behaviour::Declines { after: 0, decline }
    }
    [
        ("4242424242424242", CardType::Local, SUCCEEDS),
        ("5555555555554444", CardType::Local, SUCCEEDS),
        ("4000008260000000", CardType::International, SUCCEEDS),
        ("4000000000000002", CardType::Local, declines(Decline::Generic)),
        ("4000000000000341", CardType::Local, declines(Decline::Generic)),
        ("4000000000009995", CardType::Local, declines(Decline::InsufficientFunds)),
        ("4000000000000069", CardType::Local, declines(Decline::ExpiredCard)),
        ("4000000000000127", CardType::Local, declines(Decline::IncorrectCvc)),
        ("4000000000000119", CardType::Local, declines(Decline::ProcessingError)),
        ("4000000000003220", CardType::Local, Behaviour::AsksForRedirect),
    ]
};

/// The numbers of the test cards.
pub(crate) fn test_cards() -> Vec<String> {
    CARDS.iter().map(|(number, ..)| (*number).to_owned()).collect()
}

fn test_card(card: &Card) -> Option<PayingWith> {
    let (_, card_type, behaviour) = CARDS.into_iter().find(|(number, ..)| *number == card.number)?;
    let brand = if card.number.starts_with('5') { "mastercard" } else { "visa" };
    Some(PayingWith::Card {
        brand: brand.into(),
        last4: card.number.get(12..).unwrap_or_default().into(),
        exp_month: card.exp_month,
        exp_year: card.exp_year,
        card_type,
        behaviour,
    })
}

impl PayingWith {
    /// Its type in the interface, which is also its fee code.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Card { .. } => "card",
            Self::MobileMoney { .. } => "mobile_money",
        }
    }

    /// The code of its operator, if it is known.
    pub(crate) fn operator(&self) -> Option<&str> {
        match self {
            Self::Card { .. } => None,
            Self::MobileMoney { operator, .. } => operator.as_deref(),
        }
    }

    /// The phone that pays, if it is mobile money.
    pub(crate) fn phone(&self) -> Option<&str> {
        match self {
            Self::Card { .. } => None,
            Self::MobileMoney { phone, .. } => Some(phone),
        }
    }

    /// The result of a charge.
    pub(crate) fn behaviour(&self) -> Behaviour {
        match self {
            Self::Card { behaviour, .. } | Self::MobileMoney { behaviour, .. } => *behaviour,
        }
    }

    /// Local or international, for its fee.
    pub(crate) fn card_type(&self) -> CardType {
        match self {
            Self::Card { card_type, .. } => *card_type,
            Self::MobileMoney { .. } => CardType::Local,
        }
    }

    /// The phone with its middle digits masked.
    pub(crate) fn masked_phone(phone: &str) -> String {
        let shown = phone.len().saturating_sub(if phone.len() < 10 { 2 } else { 4 });
        phone
            .chars()
            .enumerate()
            .map(|(position, digit)| if position < 3 || position >= shown { digit } else { '*' })
            .collect()
    }
}

impl Decline {
    /// A message for people.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::AuthenticationRequired => "The customer must approve this payment.",
            Self::ExpiredCard => "The card has expired.",
            Self::FraudBlocked => "The payment was blocked.",
            Self::Generic => "The card was declined.",
            Self::IncorrectCvc => "The security code is incorrect.",
            Self::IncorrectOtp => "The one-time code is incorrect.",
            Self::InsufficientFunds => "There is not enough money in the account.",
            Self::LimitExceeded => "The payment is above the limit of the account.",
            Self::PayerNotFound => "No mobile money account belongs to this phone.",
            Self::PayerTimeout => "The payment was not approved on the phone in time.",
            Self::ProcessingError => "The card could not be processed.",
            Self::ProviderUnavailable => "The operator cannot be reached at the moment.",
            Self::RejectedByPayer => "The payer refused the payment.",
        }
    }

    /// Whether this sandbox says that its operator may still approve the attempt, although nothing says that it will.
    pub(crate) fn leaves_open(self) -> bool {
        matches!(self, Self::PayerTimeout | Self::ProviderUnavailable)
    }

    /// Whether the customer can try again or pay another way.
    pub(crate) fn allows_another_attempt(self) -> bool {
        match self {
            Self::AuthenticationRequired
            | Self::ExpiredCard
            | Self::IncorrectCvc
            | Self::IncorrectOtp
            | Self::InsufficientFunds
            | Self::PayerTimeout
            | Self::ProcessingError
            | Self::ProviderUnavailable
            | Self::RejectedByPayer => true,
            Self::FraudBlocked | Self::Generic | Self::LimitExceeded | Self::PayerNotFound => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::values::Phone;

    #[test]
    fn the_last_seven_digits_of_a_phone_decide_in_every_country() {
        for prefix in ["23767", "22507", "1", ""] {
            let phone = Phone::new(format!("{prefix}0000005")).unwrap();
            let read = read_instrument(&Instrument::mobile_money(phone)).unwrap();
            assert_eq!(read.behaviour(), Behaviour::Hangs, "{prefix}");
        }
    }

    #[test]
    fn a_card_that_is_not_a_test_card_is_refused_and_no_number_is_stored() {
        let card = |number: &str| {
            let card = Card { number: number.into(), exp_month: 12, exp_year: 2034, cvc: "123".into() };
            read_instrument(&Instrument::Card { card })
        };
        assert_eq!(card("4111111111111111"), None);
        let kept = serde_json::to_string(&card("4242424242424242").unwrap()).unwrap();
        assert!(kept.contains("4242") && !kept.contains("42424242"), "{kept}");
        assert_eq!(card("4000008260000000").unwrap().card_type(), CardType::International);
    }

    #[test]
    fn a_phone_is_masked_in_the_middle() {
        assert_eq!(PayingWith::masked_phone("237670000002"), "237*****0002");
        assert_eq!(PayingWith::masked_phone("1234567890"), "123***7890");
        assert_eq!(PayingWith::masked_phone("1234567"), "123**67");
    }
}
