//! The payment methods that the sandbox takes.

use crate::problem::Problem;
use crate::rules::{Operator, PayingWith, read_instrument};
use guichet::operations::Instrument;
use guichet::protocol::{ErrorCode, FieldError};

/// Reads a payment method. A card that is not a test card is an error, and so is an unknown operator.
pub(crate) fn paying_with(instrument: &Instrument) -> Result<PayingWith, Problem> {
    read_instrument(instrument).ok_or_else(|| Problem::fields(vec![not_usable(instrument)]))
}

/// The field error for a card that is not a test card, or for an operator that the phone's country does not have.
pub(super) fn not_usable(instrument: &Instrument) -> FieldError {
    if matches!(instrument, Instrument::MobileMoney { .. }) {
        let codes = Operator::codes().join(", ");
        let message = format!("The phone's country has no such operator. The codes for 237 are: {codes}.");
        return FieldError::of("payment_method.operator", &ErrorCode::PaymentMethodUnavailable, message);
    }
    FieldError::of(
        "payment_method.card.number",
        &ErrorCode::TestCardRequired,
        "The sandbox accepts only test cards, such as 4242424242424242. The number was neither stored nor logged.",
    )
}
