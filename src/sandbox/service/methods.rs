//! Payment methods and what they cost.

use super::{Done, Handle, Outcomes, Service};
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::ErrorCode;
use crate::sandbox::auth::Caller;
use crate::sandbox::problem::Problem;
use crate::sandbox::replies;
use crate::sandbox::rules::FeeProblem;
use crate::values::Country;

impl Handle<ListPaymentMethods> for Service {
    const OUTCOMES: Outcomes = Outcomes::OK;

    async fn handle(&self, _: Caller, operation: ListPaymentMethods) -> Result<Done, Problem> {
        let country = operation.country_code.unwrap_or_else(Country::cm);
        Ok(Done::ok(replies::methods(&self.fees.methods(&country))).saying("The payment methods of the country."))
    }
}

impl Handle<CalculateFee> for Service {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[
        ErrorCode::PaymentMethodUnavailable,
        ErrorCode::AmountOutOfRange,
        ErrorCode::CurrencyUnsupported,
    ]);

    async fn handle(&self, _: Caller, operation: CalculateFee) -> Result<Done, Problem> {
        let CalculateFee { payment_method, currency, amount, country_code, card_type } = operation;
        let country = country_code.unwrap_or_else(Country::cm);
        let fee = self.fees.fee(payment_method.as_str(), &currency, &country, card_type, amount.units()).map_err(|problem| match problem {
            FeeProblem::Country => {
                Problem::field("country_code", ErrorCode::PaymentMethodUnavailable, format!("{payment_method} is not available in {country}."))
            }
            FeeProblem::Currency => Problem::field("currency", ErrorCode::CurrencyUnsupported, format!("{currency} is not supported.")),
            FeeProblem::Method => Problem::field(
                "payment_method",
                ErrorCode::PaymentMethodUnavailable,
                "There is no such payment method. The codes are mobile_money and card; svc_… are identifiers of the list.",
            ),
        })?;
        Ok(Done::ok(replies::fee(amount.units(), &currency, fee)).saying("The fee of the amount."))
    }
}
