//! What the shop keeps.

use crate::value::{get_text, object, optional};
use crate::{Host, lock, word};
use guichet::operations::{CreatePaymentIntent, CustomerName, PaymentIntent};
use guichet::shop::{Orders, Owner, Refused, Report, Sold};
use guichet::values::{Amount, Currency, Email, IntentId, Invalid, MerchantReference, PaymentRef, RedirectUrl};
use js_sys::Object;
use wasm_bindgen::{JsCast, JsValue};

impl Orders for Host {
    async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        let open = self.ask("openPayments", &[owner.to_string().into(), next.as_str().into()]).await?.as_f64();
        let not_a_number = || Refused::broken("`orders.openPayments` must return a number");
        open.filter(|open| *open >= 0.0).map(|open| open as usize).ok_or_else(not_a_number)
    }
    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        let sold = write_sold(sold);
        self.keep_sold(&sold);
        self.ask("remember", &[sold]).await.map(drop)
    }
    async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
        let sold = self.ask("find", &[payment_ref.as_str().into(), owner.to_string().into()]).await?;
        if sold.is_undefined() {
            return Ok(None);
        }
        self.keep_sold(&sold);
        read_sold(&sold).map(Some)
    }
    async fn report(&self, _: &Sold, _: &PaymentIntent, report: Report<'_>) -> Result<(), Refused> {
        let (sold, intent) = (lock(&self.sold).clone(), self.intent());
        match report {
            Report::Settled(again) => self.ask("settled", &[sold, intent, word(again).into()]).await.map(drop),
            Report::Overpaid(duplicate) => {
                let amount = optional(duplicate.amount.map(|amount| amount.to_string()));
                let duplicate = object(&[
                    ("intent", &duplicate_of(&intent)),
                    ("attempt", &duplicate.attempt.into()),
                    ("amount", &amount),
                    ("currency", &duplicate.currency.as_str().into()),
                ]);
                self.ask("overpaid", &[sold, duplicate]).await.map(drop)
            }
        }
    }
}

fn duplicate_of(intent: &JsValue) -> JsValue {
    optional(get_text(intent, "id"))
}

impl Host {
    pub fn keep_sold(&self, sold: &JsValue) {
        *lock(&self.sold) = sold.clone();
    }

    pub fn intent(&self) -> JsValue {
        lock(&self.intent).clone()
    }

    /// The purchase that is sent: the shop's, with the marked return address.
    pub fn body(&self, purchase: &CreatePaymentIntent) -> JsValue {
        let body = Object::assign(&Object::new(), lock(&self.purchase).unchecked_ref());
        let Some(address) = &purchase.redirect_url else { return body.into() };
        let marked = object(&[("redirect_url", &address.as_str().into())]);
        Object::assign(&body, marked.unchecked_ref()).into()
    }
}

/// What the rules read of a purchase. The service checks the rest.
pub fn read_purchase(purchase: &JsValue) -> Result<CreatePaymentIntent, Refused> {
    let text = |name| get_text(purchase, name);
    let read = || {
        let reference = MerchantReference::new(text("merchant_reference").unwrap_or_default())?;
        let amount = Amount::new(&text("amount").unwrap_or_default())?;
        let mut create = CreatePaymentIntent::new(reference, amount, "", CustomerName { firstname: "", lastname: "" });
        create.email = text("email").map(Email::new).transpose()?;
        create.redirect_url = text("redirect_url").map(RedirectUrl::new).transpose()?;
        if let Some(currency) = text("currency") {
            create.currency = Currency::new(currency)?;
        }
        Ok(create)
    };
    read().map_err(|invalid: Invalid| Refused::broken(["`purchase`: ", invalid.reason()].concat()))
}

fn write_sold(sold: &Sold) -> JsValue {
    object(&[
        ("payment_ref", &sold.payment_ref.as_str().into()),
        ("intent", &sold.intent.as_str().into()),
        ("merchant_reference", &sold.merchant_reference.as_str().into()),
        ("amount", &sold.amount.to_string().into()),
        ("currency", &sold.currency.as_str().into()),
        ("owner", &sold.owner.to_string().into()),
        ("email", &sold.email.as_ref().map_or(JsValue::NULL, |email| email.as_str().into())),
    ])
}

pub fn read_sold(sold: &JsValue) -> Result<Sold, Refused> {
    let text = |name| get_text(sold, name).unwrap_or_default();
    let read = || {
        let owner = text("owner");
        let owner = match owner.split_once(':') {
            Some(("customer", id)) => Owner::Customer(id.to_owned()),
            Some(("guest", login)) => Owner::Guest(login.to_owned()),
            _ => return Err(Invalid::because("`owner` is the text that `remember` was given.")),
        };
        Ok(Sold {
            payment_ref: PaymentRef::new(text("payment_ref"))?,
            intent: IntentId::new(text("intent"))?,
            merchant_reference: MerchantReference::new(text("merchant_reference"))?,
            amount: Amount::new(&text("amount"))?,
            currency: Currency::new(text("currency"))?,
            owner,
            email: get_text(sold, "email").map(Email::new).transpose()?,
        })
    };
    read().map_err(|invalid: Invalid| Refused::broken(["a sale that the shop keeps: ", invalid.reason()].concat()))
}
