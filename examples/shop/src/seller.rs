//! The shop's side of the three routes: who buys, what an order costs, and what becomes of it.

use crate::catalogue::{Customer, Language, SHOP_NAME};
use crate::database::Database;
use crate::logins::login_of;
use crate::orders::{Line, NAME, Order, lines_of, total};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Owner, Purchase, Reason, Refused, Shop};
use guichet::operations::{CreatePaymentIntent, CustomerName, Item};
use guichet::values::{Amount, Currency, Email, FeeBearer, Invalid, MerchantReference, RedirectUrl};
use serde_json::Value;

#[derive(Clone, Debug)]
pub(crate) struct Seller {
    pub database: Database,
    /// The shop's own address, as browsers name it.
    pub url: String,
}

impl Seller {
    /// The signed-in customer, and their login.
    pub(crate) async fn customer(&self, headers: &HeaderMap) -> Result<Option<(&'static Customer, String)>, Refused> {
        let Some(login) = login_of(headers) else { return Ok(None) };
        let id = self.database.customer_of(&login).await?;
        Ok(id.and_then(|id| Customer::of(&id)).map(|customer| (customer, login)))
    }
}

impl Shop for Seller {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        let Some((customer, login)) = self.customer(&request.headers).await? else { return Ok(None) };
        Ok(Some(buyer_of(customer, login)))
    }

    /// The page names the order, and the server sets the price, the customer and the reference. Another customer's
    /// order gets the same 404 as an unknown one.
    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<Purchase, Refused> {
        let Owner::Customer(customer) = &buyer.owner else { return Err(order_missing()) };
        let customer = Customer::of(customer).ok_or_else(order_missing)?;
        let text = |name| order.get(name).and_then(Value::as_str);
        // The page without script names a product: that is one order of one pair, until it is paid.
        let id = match text("sku") {
            Some(sku) => {
                let pair = lines_of(&[(sku.to_owned(), 1)].into(), Language::default()).ok_or_else(order_missing)?;
                self.database.place(customer.id, &pair, &format!("{}/guichet/return", self.url)).await?.id
            }
            None => text("id").ok_or_else(order_missing)?.to_owned(),
        };
        let order = self.database.order(&id, customer.id).await?.ok_or_else(order_missing)?;
        let name = order.name().map_err(Refused::broken)?;
        match order.lines_today() {
            None => Ok(Purchase::OrderEnded(name)),
            Some(lines) => purchase(&order, name, &lines, customer, email_of(customer)?).map_err(Refused::broken),
        }
    }

    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        let id = changed.name.strip_prefix(NAME).unwrap_or_default();
        if self.database.store(id, changed).await? {
            for refund in &changed.refunds_due {
                let (id, amount, currency) = (&refund.key.id, refund.sum.amount.to_string(), &refund.sum.currency);
                tracing::warn!(
                    order = changed.name,
                    id,
                    amount,
                    currency,
                    "a refund is due: make it with the payment company"
                );
            }
        }
        Ok(())
    }
}

pub(crate) fn order_missing() -> Refused {
    Refused::new(404, Reason { code: "order_missing", message: "There is no such order." })
}

/// A real shop names an address as verified if the customer has opened a link that was sent there. One that the service
/// does not take gets no session, and all else works.
fn buyer_of(customer: &Customer, login: String) -> Buyer {
    let buyer = Buyer::customer(customer.id).login(login);
    match Email::new(customer.email) {
        Ok(email) => buyer.verified_email(email),
        Err(_) => buyer,
    }
}

/// The customer may have mistyped it.
fn email_of(customer: &Customer) -> Result<Email, Refused> {
    let mistyped =
        |invalid: Invalid| Refused::new(422, Reason { code: "parameter_invalid", message: invalid.reason() });
    Email::new(customer.email).map_err(mistyped)
}

fn purchase(
    order: &Order,
    name: MerchantReference,
    lines: &[Line],
    customer: &Customer,
    email: Email,
) -> Result<Purchase, Invalid> {
    let item = |name: &str, price, quantity| Item::new(name, Amount::units(price), Currency::xaf(), quantity);
    let items = lines.iter().map(|line| item(&line.name, line.price, u64::from(line.quantity))).collect();
    let who = CustomerName { firstname: customer.firstname, lastname: customer.lastname };
    let purchase =
        CreatePaymentIntent::new(name, Amount::units(total(lines)), format!("{SHOP_NAME} #{}", order.id), who);
    let purchase = purchase.email(email).fee_bearer(FeeBearer::Customer).items(items);
    Ok(purchase.redirect_url(RedirectUrl::new(&order.return_url)?).into())
}

#[test]
fn an_odd_e_mail_address_is_refused_in_words_and_only_where_it_is_needed() {
    let odd = Customer { email: "Awa <awa@example.com>", ..*Customer::of("awa").expect("a customer") };
    let buyer = buyer_of(&odd, "login".to_owned());
    assert_eq!((buyer.verified_email, buyer.login.as_deref()), (None, Some("login")));
    let refused = email_of(&odd).expect_err("no address");
    assert_eq!((refused.status(), refused.code()), (422, "parameter_invalid"));
    assert!(!refused.message().is_empty());
}
