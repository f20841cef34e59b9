//! Payment methods and their fees.

use super::examples::{Examples, valid};
use super::{Described, Done, Handle, Outcomes, Service};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::rules::{FeeProblem, OperatorStatuses};
use guichet::operations::{CalculateFee, CreatePaymentIntent, ListPaymentMethods};
use guichet::protocol::ErrorCode;
use guichet::values::{CardType, Country, MethodCode};

const METHODS: &str = "The payment methods of the country.";
const FEE: &str = "The fee of the amount.";

impl Handle<ListPaymentMethods> for Service {
    async fn handle(&self, caller: Caller, operation: ListPaymentMethods) -> Result<Done, Problem> {
        let country = operation.country_code.unwrap_or_else(Country::cm);
        // Without a credential, as the first merchant reads it.
        let statuses = match caller.known_merchant() {
            Some(merchant) => merchant.operators(),
            None => self.merchants.first().operators(),
        };
        Ok(Done::ok(replies::methods(&self.fees.methods(&country), &country, &statuses)).with_message(METHODS))
    }
}

impl Described for ListPaymentMethods {
    fn example(examples: &Examples) -> (Self, Done) {
        let country = Country::cm();
        let methods = replies::methods(&examples.fees.methods(&country), &country, &OperatorStatuses::default());
        (ListPaymentMethods::new().country_code(country), Done::ok(methods).with_message(METHODS))
    }
}

impl Handle<CalculateFee> for Service {
    async fn handle(&self, _: Caller, operation: CalculateFee) -> Result<Done, Problem> {
        let CalculateFee { payment_method, currency, amount, country_code, card_type, .. } = operation;
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

impl Described for CalculateFee {
    const OUTCOMES: Outcomes = Outcomes::OK.or(&[
        ErrorCode::PaymentMethodUnavailable,
        ErrorCode::AmountOutOfRange,
        ErrorCode::CurrencyUnsupported,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let CreatePaymentIntent { amount, currency, .. } = examples.order();
        let method = valid(MethodCode::new("mobile_money"));
        let units = amount.whole_units().unwrap_or_default();
        let fee = examples.fees.fee(method.as_str(), &currency, &Country::cm(), CardType::Local, units);
        let data = replies::fee(units, &currency, fee.unwrap_or_default());
        let request = CalculateFee::new(method, currency, amount).country_code(Country::cm());
        (request, Done::ok(data).with_message(FEE))
    }
}
