//! What the shop keeps.

use crate::value::{get, get_text, object, optional};
use crate::{Host, lock, word};
use guichet::flow::is_return_nonce;
use guichet::operations::{CreatePaymentIntent, CustomerName, PaymentIntent};
use guichet::shop::{Orders, Owner, Reason, Refused, Report, Sold};
use guichet::values::{Amount, Currency, Email, IntentId, Invalid, MerchantReference, PaymentRef, RedirectUrl};
use js_sys::{Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

/// The member of a purchase that no service is sent.
const RETURN_NONCE: &str = "return_nonce";

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

    /// The nonce that the shop has stored with the purchase, so that it outlives the secret key.
    pub fn stored_nonce(&self) -> Option<String> {
        get_text(&lock(&self.purchase), RETURN_NONCE)
    }

    /// The purchase that is sent: the shop's, with its amount as a text and the marked return address.
    pub fn body(&self, purchase: &CreatePaymentIntent) -> JsValue {
        let body = Object::assign(&Object::new(), lock(&self.purchase).unchecked_ref());
        let _ = Reflect::delete_property(&body, &RETURN_NONCE.into());
        let _ = Reflect::set(&body, &"amount".into(), &optional(get_text(&body, "amount")));
        if let Some(address) = &purchase.redirect_url {
            let _ = Reflect::set(&body, &"redirect_url".into(), &address.as_str().into());
        }
        body.into()
    }
}

/// What the rules read of a purchase. The service checks the rest.
pub fn read_purchase(purchase: &JsValue) -> Result<CreatePaymentIntent, Refused> {
    let text = |name| match get_text(purchase, name) {
        None if get(purchase, name).is_some() => Err(Invalid::because(["`", name, "` must be a text."].concat())),
        text => Ok(text),
    };
    let read = || {
        let reference = MerchantReference::new(text("merchant_reference")?.unwrap_or_default())?;
        let amount = read_amount(purchase, &text("amount")?.unwrap_or_default())?;
        let mut create = CreatePaymentIntent::new(reference, amount, "", CustomerName { firstname: "", lastname: "" });
        create.redirect_url = text("redirect_url")?.map(RedirectUrl::new).transpose()?;
        if let Some(currency) = text("currency")? {
            create.currency = Currency::new(currency)?;
        }
        if text(RETURN_NONCE)?.is_some_and(|nonce| !is_return_nonce(&nonce)) {
            return Err(Invalid::because("`return_nonce` must be 22 letters and digits (0-9A-Za-z)."));
        }
        Ok((create, text("email")?))
    };
    let broken = |invalid: Invalid| Refused::broken(["`purchase`: ", invalid.reason()].concat());
    let (mut create, email) = read().map_err(broken)?;
    // The customer may have typed it.
    let mistyped =
        |invalid: Invalid| Refused::new(422, Reason { code: "parameter_invalid", message: invalid.reason() });
    create.email = email.map(Email::new).transpose().map_err(mistyped)?;
    Ok(create)
}

/// A number is read as the text that it stands for, if it stands for one alone.
fn read_amount(purchase: &JsValue, text: &str) -> Result<Amount, Invalid> {
    let number = get(purchase, "amount").and_then(|amount| amount.as_f64());
    if number.is_some_and(|number| !js_sys::Number::is_safe_integer(&number.into())) {
        return Err(Invalid::because(
            "`amount` must be a whole number up to 2^53 - 1 in the smallest unit, or a text: \"45000\".",
        ));
    }
    Amount::new(text)
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
