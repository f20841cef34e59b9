//! Payment methods and their fees.

use super::{Done, Handle, Service};
use crate::auth::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::rules::FeeProblem;
use guichet::operations::{CalculateFee, ListPaymentMethods};
use guichet::protocol::ErrorCode;
use guichet::values::Country;

pub(crate) const METHODS: &str = "The payment methods of the country.";
pub(crate) const FEE: &str = "The fee of the amount.";

impl Handle<ListPaymentMethods> for Service {
    async fn handle(&self, _: Caller, operation: ListPaymentMethods) -> Result<Done, Problem> {
        let country = operation.country_code.unwrap_or_else(Country::cm);
        Ok(Done::ok(replies::methods(&self.fees.methods(&country))).with_message(METHODS))
    }
}

impl Handle<CalculateFee> for Service {
    async fn handle(&self, _: Caller, operation: CalculateFee) -> Result<Done, Problem> {
        let CalculateFee { payment_method, currency, amount, country_code, card_type } = operation;
        let country = country_code.unwrap_or_else(Country::cm);
        let amount = amount.whole_units().expect("an amount that was read from a request is whole");
        let fee = self.fees.fee(payment_method.as_str(), &currency, &country, card_type, amount).map_err(|problem| match problem {
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
        Ok(Done::ok(replies::fee(amount, &currency, fee)).with_message(FEE))
    }
}
