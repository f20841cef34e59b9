//! The forms of the page: the ways of paying with their prices, their fields, and what is wrong with a field.

use super::{Amount, Asked, Payment};
use crate::problem::Problem;
use crate::rules::{CAMEROON, OPERATORS, Operator, OperatorStatus, OperatorStatuses};
use crate::service::Service;
use crate::words::{Language, Sentence, Sentences, codes, hosted, methods};
use guichet::protocol::ErrorCode;
use guichet::values::{CardType, Country, FeeBearer};

/// One way of paying, with its form.
pub(super) struct Method {
    /// The type in the interface.
    pub(super) kind: &'static str,
    pub(super) label: &'static str,
    pub(super) price: Amount,
    /// The amount that the page names while this method is chosen, and the fee in it.
    pub(super) headline: Amount,
    pub(super) fee: String,
    /// The note under the price.
    pub(super) note: String,
    pub(super) pay: Amount,
    pub(super) is_chosen: bool,
    /// Whether it is shown and not offered.
    pub(super) is_closed: bool,
    pub(super) fields: Vec<Field>,
    pub(super) operators: Vec<OperatorChoice>,
    pub(super) tests: Vec<TestNumber>,
}

/// One operator to choose.
pub(super) struct OperatorChoice {
    pub(super) code: &'static str,
    pub(super) name: &'static str,
    /// What its numbers begin with, after the country's prefix.
    pub(super) prefixes: String,
    pub(super) is_closed: bool,
    pub(super) note: &'static str,
}

/// One field of a form.
#[derive(Default)]
pub(super) struct Field {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) help: &'static str,
    /// What the page's script shows while what is typed has too few or too many digits.
    pub(super) hint: &'static str,
    /// How few and how many digits it has. The service reads what is typed, and decides.
    pub(super) digits: (usize, usize),
    pub(super) kind: &'static str,
    pub(super) inputmode: &'static str,
    pub(super) autocomplete: &'static str,
    /// Only a phone is written back: no number or code of a card is.
    pub(super) value: String,
    pub(super) wrong: &'static str,
    /// Whether it takes the focus when the page is loaded.
    pub(super) is_focused: bool,
    /// Whether it is typed again for another attempt.
    pub(super) is_once: bool,
    pub(super) in_fours: bool,
    pub(super) is_wide: bool,
    /// The prefix of the country of a phone without one.
    pub(super) dial: &'static str,
    /// How many digits a phone of that country has after it.
    pub(super) national: usize,
    /// What the script shows if the phone's operator takes no payments.
    pub(super) closed: &'static str,
}

/// A number of the sandbox that fills in the form.
pub(super) struct TestNumber {
    pub(super) number: &'static str,
    pub(super) shown: String,
    /// The fields and their values, as in a query.
    pub(super) fills: String,
    pub(super) sentence: &'static Sentence,
}

/// The one-time code's form.
pub(super) struct CodeForm {
    pub(super) field: Field,
    pub(super) tests: Vec<TestNumber>,
    pub(super) pay: Amount,
}

const PHONES: [(&str, &Sentence); 8] = [
    ("237670000000", &hosted::TEST_SUCCESS),
    ("237670000001", &hosted::TEST_SLOW),
    ("237670000002", &hosted::TEST_FUNDS),
    ("237670000009", &hosted::TEST_FINAL),
    ("237670000010", &hosted::TEST_CODE),
    ("237670000013", &hosted::TEST_LATE),
    ("237670000014", &hosted::TEST_FAILED),
    ("237670000020", &hosted::TEST_HANDSET),
];
const CARDS: [(&str, &Sentence); 4] = [
    ("4242424242424242", &hosted::TEST_SUCCESS),
    ("5555555555554444", &hosted::TEST_SUCCESS),
    ("4000000000000002", &hosted::TEST_FINAL),
    ("4000000000003220", &hosted::TEST_BANK),
];

/// The ways of paying that the payment takes, with what the customer pays by each. A card costs what the more expensive
/// kind costs: its number decides which kind it is.
pub(super) fn methods(service: &Service, payment: &Payment, asked: &Asked) -> Vec<Method> {
    let (terms, language) = (&payment.intent.terms, asked.language);
    let money = |units: u64| language.money(guichet::values::Amount::units(units), terms.currency.as_str());
    let amount = terms.amount.whole_units().unwrap_or_default();
    let fee = |kind: &str, card: CardType| -> Option<u64> {
        let fee = service.fees.fee(kind, &terms.currency, &Country::cm(), card, amount).ok()?;
        Some(if terms.fee_bearer == FeeBearer::Merchant { 0 } else { fee })
    };
    let method = |kind: &'static str, label: &Sentence| {
        let (local, abroad) = (fee(kind, CardType::Local)?, fee(kind, CardType::International)?);
        let highest = local.max(abroad);
        let price = money(amount.saturating_add(highest));
        let (is_card, is_apart) = (kind == "card", local != abroad);
        let price_of = |label: &Sentence, fee: u64| {
            let price = money(amount.saturating_add(fee));
            language.fill(&hosted::PRICE_OF, &[("what", language.of(label)), ("price", &price)])
        };
        let included = fee_included(highest, &money(highest), language);
        let operators = if is_card { Vec::new() } else { operators(&payment.operators, language) };
        let is_closed = !is_card && operators.iter().all(|operator| operator.is_closed);
        let note = if is_closed {
            language.of(&hosted::OPERATORS_CLOSED).to_owned()
        } else if is_apart {
            let kinds = [(&methods::CARD_LOCAL, local), (&methods::CARD_INTERNATIONAL, abroad)];
            kinds.map(|(label, fee)| price_of(label, fee)).join(" · ")
        } else if terms.fee_bearer == FeeBearer::Merchant {
            language.of(&hosted::FEE_NONE).to_owned()
        } else {
            included.clone()
        };
        let of_price = |sentence| Amount(language.fill(sentence, &[("amount", &price)]));
        Some(Method {
            kind,
            label: language.of(label),
            headline: if is_apart { of_price(&hosted::UP_TO) } else { Amount(price.clone()) },
            pay: of_price(if is_apart { &hosted::PAY_UP_TO } else { &hosted::PAY_AMOUNT }),
            fee: included,
            note,
            is_chosen: false,
            is_closed,
            fields: marked(if is_card { card_fields(language) } else { vec![phone_field(asked)] }, asked),
            operators,
            tests: if is_card { test_cards() } else { test_phones() },
            price: Amount(price),
        })
    };
    let all = [("mobile_money", &methods::MOBILE_MONEY), ("card", &methods::CARD)];
    let mut all: Vec<_> = all
        .into_iter()
        .filter(|(kind, _)| terms.accepts(kind))
        .filter_map(|(kind, label)| method(kind, label))
        .collect();
    let wanted = all.iter().position(|method| !method.is_closed && method.kind == asked.kind);
    let chosen = wanted.or_else(|| all.iter().position(|method| !method.is_closed));
    if let Some(method) = chosen.and_then(|chosen| all.get_mut(chosen)) {
        method.is_chosen = true;
    }
    all
}

/// The customer's fee as a part of what they pay. Empty if there is none.
pub(super) fn fee_included(fee: u64, money: &str, language: Language) -> String {
    if fee == 0 { String::new() } else { language.fill(&hosted::FEE_INCLUDED, &[("fee", money)]) }
}

/// The form of the one-time code.
pub(super) fn code(asked: &Asked, pay: String) -> CodeForm {
    let say = |sentence| asked.language.of(sentence);
    let field = Field {
        label: say(&hosted::OTP),
        help: say(&hosted::OTP_HELP),
        hint: say(&hosted::OTP_WRONG),
        digits: (4, 10),
        is_once: true,
        ..Field::text("otp", "otp", "one-time-code")
    };
    let number = "123456";
    let right = TestNumber {
        number,
        shown: number.to_owned(),
        fills: format!("otp={number}"),
        sentence: &hosted::TEST_RIGHT_CODE,
    };
    CodeForm { field: marked(vec![field], asked).pop().unwrap_or_default(), tests: vec![right], pay: Amount(pay) }
}

impl Field {
    fn text(id: &'static str, name: &'static str, autocomplete: &'static str) -> Self {
        Self { id, name, kind: "text", inputmode: "numeric", autocomplete, ..Self::default() }
    }
}

fn phone_field(asked: &Asked) -> Field {
    let say = |sentence| asked.language.of(sentence);
    Field {
        kind: "tel",
        inputmode: "tel",
        label: say(&hosted::PHONE),
        help: say(&hosted::PHONE_HELP),
        hint: say(&hosted::PHONE_WRONG),
        digits: (7, 15),
        value: asked.phone.clone(),
        dial: CAMEROON,
        national: 9,
        closed: say(&hosted::PHONE_CLOSED),
        is_wide: true,
        ..Field::text("phone", "phone", "tel")
    }
}

fn card_fields(language: Language) -> Vec<Field> {
    let say = |sentence| language.of(sentence);
    vec![
        Field {
            label: say(&hosted::CARD_NUMBER),
            hint: say(&hosted::CARD_NUMBER_WRONG),
            digits: (12, 19),
            in_fours: true,
            is_wide: true,
            ..Field::text("card-number", "number", "cc-number")
        },
        Field {
            label: say(&hosted::EXP_MONTH),
            help: say(&hosted::EXP_MONTH_HELP),
            ..Field::text("exp-month", "exp_month", "cc-exp-month")
        },
        Field {
            label: say(&hosted::EXP_YEAR),
            help: say(&hosted::EXP_YEAR_HELP),
            ..Field::text("exp-year", "exp_year", "cc-exp-year")
        },
        Field {
            label: say(&hosted::CVC),
            help: say(&hosted::CVC_HELP),
            hint: say(&hosted::CVC_WRONG),
            digits: (3, 4),
            is_once: true,
            ..Field::text("cvc", "cvc", "cc-csc")
        },
    ]
}

/// The fields, with what the refusal of the form says of each. The first one that is wrong takes the focus.
fn marked(mut fields: Vec<Field>, asked: &Asked) -> Vec<Field> {
    let mut is_first = true;
    for (id, sentence) in asked.problem.iter().flat_map(wrong_fields) {
        if let Some(field) = fields.iter_mut().find(|field| field.id == id && field.wrong.is_empty()) {
            field.wrong = asked.language.of(sentence);
            field.is_focused = std::mem::take(&mut is_first);
        }
    }
    fields
}

/// The fields that the service refuses, by their ids, and what to do.
fn wrong_fields(problem: &Problem) -> impl Iterator<Item = (&'static str, &'static Sentence)> + '_ {
    problem.params().filter_map(|param| {
        Some(match param {
            // The phone is the only part of mobile money that a customer types.
            "payment_method" | "payment_method.phone" => ("phone", &hosted::PHONE_WRONG),
            "payment_method.operator" => ("phone", &hosted::PHONE_CLOSED),
            "payment_method.card.number" if problem.code == ErrorCode::TestCardRequired => {
                ("card-number", &codes::TEST_CARD_REQUIRED)
            }
            "payment_method.card.number" => ("card-number", &hosted::CARD_NUMBER_WRONG),
            "payment_method.card.exp_month" => ("exp-month", &hosted::EXP_MONTH_WRONG),
            "payment_method.card.exp_year" => ("exp-year", &hosted::EXP_YEAR_WRONG),
            "payment_method.card.cvc" => ("cvc", &hosted::CVC_WRONG),
            "otp" => ("otp", &hosted::OTP_WRONG),
            _ => return None,
        })
    })
}

/// Why a form was refused, if no field of these says it.
pub(super) fn wrong(asked: &Asked, shown: &[Method], code: Option<&CodeForm>) -> String {
    let Some(problem) = &asked.problem else { return String::new() };
    let offered = shown.iter().filter(|method| !method.is_closed);
    let mut fields = offered.flat_map(|method| &method.fields).chain(code.map(|code| &code.field));
    if fields.any(|field| !field.wrong.is_empty()) {
        return String::new();
    }
    let is_unavailable =
        ["payment_method.type", "payment_method.operator"].contains(&problem.param().unwrap_or_default());
    let sentence = if is_unavailable { &codes::PAYMENT_METHOD_UNAVAILABLE } else { &codes::PARAMETER_INVALID };
    asked.language.of(sentence).to_owned()
}

fn operators(statuses: &OperatorStatuses, language: Language) -> Vec<OperatorChoice> {
    let choice = |operator: &'static Operator| {
        let status = statuses.of(operator.code);
        OperatorChoice {
            code: operator.code,
            name: operator.name,
            prefixes: operator.prefixes.join(","),
            is_closed: status == OperatorStatus::Closed,
            note: match status {
                OperatorStatus::Closed => language.of(&hosted::OPERATOR_CLOSED),
                OperatorStatus::Delayed => language.of(&hosted::OPERATOR_DELAYED),
                OperatorStatus::Operational => "",
            },
        }
    };
    OPERATORS.iter().map(choice).collect()
}

fn test_phones() -> Vec<TestNumber> {
    let test = |(number, sentence)| TestNumber {
        number,
        shown: String::from(number),
        fills: format!("phone={number}"),
        sentence,
    };
    PHONES.map(test).into()
}

fn test_cards() -> Vec<TestNumber> {
    let in_fours = |number: &str| {
        let fours = number.as_bytes().chunks(4).map(String::from_utf8_lossy);
        fours.collect::<Vec<_>>().join(" ")
    };
    let test = |(number, sentence)| TestNumber {
        number,
        shown: in_fours(number),
        fills: format!("card-number={number}&exp-month=12&exp-year=34&cvc=123"),
        sentence,
    };
    CARDS.map(test).into()
}
