//! What a page reads by the shop's key: the payment methods and the fee of an amount. Prices are public, so no login is
//! needed.

use super::{Reason, Refused, Reply};
use crate::flow::query;
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::{Error, Kind, Operation, Request, Spec, assemble_texts, data_text};
use crate::values::{Amount, CardType, Country, Currency};

/// The longest value of a query. Those of the interface are far shorter.
const LONGEST: usize = 100;

/// A read of methods or of a fee. Nothing of a page's request is in it but the checked values.
pub struct PublicRead {
    /// The operation.
    pub spec: &'static Spec,
    /// Its request, which is the same for equal values.
    pub request: Request,
}

impl PublicRead {
    /// The methods: `GET {m}/payment-methods` with this query.
    ///
    /// # Errors
    /// [`Refused`] with 422 and each value that is missing or invalid.
    pub fn methods(query: &str) -> Result<Self, Refused> {
        Self::checked(const { &ListPaymentMethods::SPEC }, query, &[COUNTRY])
    }

    /// The fee: `GET {m}/fee` with this query.
    ///
    /// # Errors
    /// As [`PublicRead::methods`].
    pub fn fee(query: &str) -> Result<Self, Refused> {
        const FIELDS: &[Field] = &[
            Field { name: "payment_method", is_required: true, is_valid: |_| true },
            Field { name: "currency", is_required: true, is_valid: |text| Currency::new(text).is_ok() },
            Field { name: "amount", is_required: true, is_valid: |text| Amount::of_request(text).is_ok() },
            COUNTRY,
            Field { name: "card_type", is_required: false, is_valid: |text| text.parse::<CardType>().is_ok() },
        ];
        Self::checked(const { &CalculateFee::SPEC }, query, FIELDS)
    }

    fn checked(spec: &'static Spec, query: &str, fields: &[Field]) -> Result<Self, Refused> {
        let (pieces, mut texts, mut wrong) = (query::pieces(query, &[]), Vec::new(), Vec::new());
        for Field { name, is_required, is_valid } in fields {
            match query::value(&pieces, name) {
                Some(text) if text.len() <= LONGEST && is_valid(&text) => texts.push((*name, text)),
                None if !is_required => {}
                _ => wrong.push(*name),
            }
        }
        if wrong.is_empty() {
            match assemble_texts(spec, texts.into_iter()) {
                Ok(request) => return Ok(Self { spec, request }),
                // A method of dots alone would be another path.
                Err(_) => wrong.push("payment_method"),
            }
        }
        Err(Refused::invalid(&wrong))
    }

    /// The reply to a page, in the service's format: the `data` of this body, which is JSON, and nothing else of it.
    ///
    /// # Errors
    /// [`Refused`] in the service's words.
    pub fn reply(body: Result<String, Error>) -> Result<Reply, Refused> {
        match body {
            Ok(body) => {
                let parts = [r#"{"status_code":200,"response_type":"success","data":"#, data_text(&body), "}"];
                Ok(Reply::of_json(200, parts.concat()))
            }
            // Of a method or a country, and not of a payment.
            Err(error) if error.kind() == Kind::NotFound => {
                let reason = Reason { code: error.code().unwrap_or("resource_missing"), message: error.message() };
                Err(Refused::new(404, reason))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// A value of a query.
struct Field {
    name: &'static str,
    is_required: bool,
    is_valid: fn(&str) -> bool,
}

const COUNTRY: Field = Field { name: "country_code", is_required: false, is_valid: |text| Country::new(text).is_ok() };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_has_the_checked_values_and_nothing_else_of_the_query() {
        let target = |read: Result<PublicRead, Refused>| read.expect("the values are right").request.target;
        assert_eq!(target(PublicRead::methods("")), "/v1/payment-methods");
        let query = "x=1&country_code=%2F..&country_code=CM&authorization=sk_test_1";
        assert_eq!(target(PublicRead::methods(query)), "/v1/payment-methods?country_code=CM");
        let query = "amount=5000&currency=XAF&payment_method=a%2F%3Fb&card_type=international&fee=1";
        assert_eq!(target(PublicRead::fee(query)), "/v1/payment-methods/fee/a%2F%3Fb/XAF/5000?card_type=international");
    }

    #[test]
    fn every_value_that_is_missing_or_invalid_is_named() {
        let wrong = |read: Result<PublicRead, Refused>| {
            let refused = read.err().expect("a value is wrong");
            let params: Vec<String> = refused.fields().iter().map(|field| field.param.clone()).collect();
            (refused.status(), params.join(" "))
        };
        assert_eq!(wrong(PublicRead::methods("country_code=Cameroon")), (422, "country_code".to_owned()));
        let long = ["payment_method=", &"m".repeat(LONGEST + 1), "&currency=XAF&amount=5"].concat();
        for (query, params) in [
            ("", "payment_method currency amount"),
            ("payment_method=card&currency=xaf&amount=05&card_type=golden", "currency amount card_type"),
            ("payment_method=..&currency=XAF&amount=5", "payment_method"),
            (&long, "payment_method"),
        ] {
            assert_eq!(wrong(PublicRead::fee(query)), (422, params.to_owned()), "{query}");
        }
    }
}
