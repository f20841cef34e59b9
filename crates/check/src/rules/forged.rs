//! Orders that the page forges. The shop has not seen the order before: a shop that believes the page at first sight
//! stores the lie.

use super::{LOGIN, Rule};
use crate::payment::Payment;
use crate::service::Call;
use crate::shop::{Customer, Exchange};
use crate::{Check, Outcome, RuleError, not_checked};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "forged_price_is_ignored",
        title: "The price is the server's, whatever prices and discounts the page sends with a new order",
        needs: &[],
        guide: "post-guichetintents",
        fix: FIX,
        run: |check| Box::pin(forged(check, Kind::Price)),
    },
    Rule {
        id: "forged_quantity_is_refused",
        title: "No quantity that the page sends makes an order cheaper: negative, zero, fractional or huge",
        needs: &[],
        guide: "post-guichetintents",
        fix: "If the page names quantities, accept whole numbers from 1 to a limit of yours, and refuse all others with 422.",
        run: |check| Box::pin(forged(check, Kind::Quantity)),
    },
    Rule {
        id: "forged_currency_is_ignored",
        title: "The currency is the server's, whatever the page sends with a new order",
        needs: &[],
        guide: "post-guichetintents",
        fix: FIX,
        run: |check| Box::pin(forged(check, Kind::Currency)),
    },
    Rule {
        id: "forged_customer_is_ignored",
        title: "The customer is the one who is signed in, whatever the page sends with a new order",
        needs: &[LOGIN],
        guide: "post-guichetintents",
        fix: "Take the customer's id from your own login alone: not from the body, the query, a header or an unsigned cookie.",
        run: |check| Box::pin(forged(check, Kind::Customer)),
    },
    Rule {
        id: "forged_reference_is_ignored",
        title: "The reference is the server's, and the page gets no payment but that of its order",
        needs: &[],
        guide: "post-guichetintents",
        fix: FIX,
        run: |check| Box::pin(forged(check, Kind::Reference)),
    },
    Rule {
        id: "forged_address_is_ignored",
        title: "redirect_url is the server's, whatever addresses the page sends with a new order",
        needs: &[],
        guide: "post-guichetintents",
        fix: "Build redirect_url from an address in your settings: otherwise any page can send your customers to another site.",
        run: |check| Box::pin(forged(check, Kind::Address)),
    },
    Rule {
        id: "forged_host_is_ignored",
        title: "redirect_url does not follow Host, X-Forwarded-Host or another header",
        needs: &[],
        guide: "post-guichetintents",
        fix: "Build redirect_url from an address in your settings, and not from the request's headers.",
        run: |check| Box::pin(forged_host(check)),
    },
    Rule {
        id: "forged_terms_are_ignored",
        title: "fee_bearer, payment methods, description and all other fields of a payment are the server's",
        needs: &[],
        guide: "post-guichetintents",
        fix: "Send the service only fields that you have written down one by one: never what the page sent, merged into them.",
        run: |check| Box::pin(forged(check, Kind::Terms)),
    },
];

const FIX: &str = "Take only the order's id from the page. Read price, currency and reference from your own data, and the customer from the login.";

/// What a lie is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Price,
    Quantity,
    Currency,
    Customer,
    Reference,
    Address,
    Terms,
}

/// What a page adds to an order.
#[derive(Clone, Debug)]
struct Lie {
    kind: Kind,
    fields: Map<String, Value>,
    place: Place,
}

/// Where it is added.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// Beside the order's own fields, and beside the fields of the objects in it.
    Beside,
    /// In an object of its own.
    Nested,
    Query,
    Header,
}

/// A forged order, and what the shop did with it.
struct Trial {
    lies: Vec<Lie>,
    exchange: Exchange,
    creations: Vec<Call>,
    payment: Option<Payment>,
    /// The same order, honest and after it.
    again: Option<Result<Payment, Exchange>>,
    /// What the service was sent for the honest order, and when it was forged again.
    creations_again: Vec<Call>,
}

/// A word that is in no honest order.
const FORGED: &str = "forged";
const ELSEWHERE: &str = "evil.example";
/// What a lie makes of the currency: the first, unless the shop sells in it.
const OTHER_CURRENCIES: [&str; 2] = ["UGX", "XOF"];

/// Names under which shops take these from a page, with a space between each two.
const PRICES: &str = "\
    amount price total unit_price unitPrice total_price totalPrice total_amount totalAmount amount_payable \
    amountPayable subtotal sub_total grand_total grandTotal order_total orderTotal sum cost value base_price \
    price_override custom_price montant prix amount_xaf";
const DISCOUNTS: &str = "\
    discount discount_amount discountAmount reduction rebate remise credit voucher_amount coupon_amount promo \
    gift_card wallet";
const CHARGES: &str = "tip shipping shipping_fee delivery delivery_fee fee fees tax donation";
const QUANTITIES: &str = "quantity qty count units pieces quantite num number_of_items nb";
const CURRENCIES: &str = "currency currency_code currencyCode Currency devise monnaie";
pub(super) const EMAILS: &str = "\
    email customer_email customerEmail user_email userEmail payer_email payerEmail mail";
const NAMES: &str = "firstname lastname first_name last_name firstName lastName";
pub(super) const OWNERS: &str = "\
    customer_id customerId user_id userId user username owner owner_id ownerId uid account account_id login \
    buyer buyer_id customer";
pub(super) const OWNER_HEADERS: &str = "\
    X-User X-User-Id X-Customer X-Customer-Id X-Forwarded-User X-Remote-User Remote-User X-Auth-User \
    X-User-Email X-Customer-Email X-Forwarded-Email X-Auth-Request-Email X-Auth-Request-User X-Email";
const REFERENCES: &str = "\
    merchant_reference merchantReference reference ref order_reference orderReference order_ref orderRef \
    payment_reference external_reference invoice order_number";
/// Words by which a page might get another payment for the order.
const AGAIN: &str = "retry new again force force_new reset restart refresh renew attempt try replace";
const PAYMENTS: &str = "\
    payment_ref paymentRef intent_id intentId intent payment_id paymentId payment_intent payment_intent_id";
const ADDRESSES: &str = "\
    redirect_url redirectUrl return_url returnUrl success_url successUrl cancel_url cancelUrl callback_url \
    callbackUrl redirect redirect_to return_to returnTo next base_url origin host";
const HOST_HEADERS: &str = "\
    X-Forwarded-Host X-Forwarded-Server X-Original-Host X-Host X-HTTP-Host-Override X-Real-Host Referer \
    Forwarded Host";

/// The names of a list.
pub(super) fn names(list: &'static str) -> std::str::SplitWhitespace<'static> {
    list.split_whitespace()
}

impl Lie {
    fn new(kind: Kind, place: Place, list: &'static str, value: &Value) -> Self {
        let fields = names(list).map(|name| (name.to_owned(), value.clone())).collect();
        Self { kind, fields, place }
    }

    fn of(kind: Kind, place: Place, fields: Value) -> Self {
        let Value::Object(fields) = fields else { unreachable!("the fields are an object") };
        Self { kind, fields, place }
    }

    /// The texts and numbers that it tells.
    fn values(&self) -> Vec<Value> {
        let mut values = Vec::new();
        for value in self.fields.values() {
            values.extend(leaves(value).into_values());
        }
        values
    }
}

/// What the rules of this group found in orders that the shop had not seen, without `--order-pattern`.
pub(crate) struct SharedOut {
    /// By the kind of the lie.
    errors: BTreeMap<u8, RuleError>,
    is_sold: bool,
}

/// What is known of honest orders and of their customers.
pub(crate) struct Known {
    /// What the service was sent for honest orders; empty without `--order-pattern`.
    honest: Vec<Value>,
    /// The values by which a login of the other customer names them.
    other: Vec<String>,
    /// The reference and the payments' identifiers of another order.
    others_payment: Option<Payment>,
    page_origin: String,
}

impl Known {
    fn amount(&self) -> Option<u64> {
        let first = self.honest.first()?;
        text_of(&first["amount"]).parse().ok()
    }

    /// The lies of a kind, each of which is for an order of its own.
    fn lies(&self, kind: Kind) -> Vec<Lie> {
        use Place::{Beside, Header, Nested, Query};
        let new = |place, list, value: Value| Lie::new(kind, place, list, &value);
        match kind {
            Kind::Price => {
                let mut lies = vec![
                    new(Beside, PRICES, "1".into()),
                    new(Beside, PRICES, 1.into()),
                    new(Nested, PRICES, 1.into()),
                    new(Nested, PRICES, "1".into()),
                    new(Query, PRICES, "1".into()),
                    new(Header, "X-Amount X-Price X-Total X-Order-Amount", "1".into()),
                    Lie::of(kind, Header, json!({"Cookie": cookies(PRICES, "1")})),
                ];
                // Without an honest order nobody knows what a discount is taken from.
                if let Some(amount) = self.amount().filter(|amount| *amount > 20) {
                    // No price of another order.
                    let less = amount - amount / 10 - 7;
                    lies.push(new(Beside, PRICES, less.to_string().into()));
                    lies.push(new(Beside, PRICES, less.into()));
                    lies.push(new(Beside, DISCOUNTS, (amount - 1).into()));
                    lies.push(new(Beside, "discount discount_percent discountPercent percent_off", 99.into()));
                    lies.push(new(Beside, CHARGES, (1 - i64::try_from(amount).unwrap_or(2)).into()));
                }
                lies
            }
            Kind::Quantity => [
                json!(-1),
                json!(0),
                json!(0.000_001),
                json!("-1"),
                json!(0.5),
                json!("0.01"),
                json!(4_294_967_295_u64),
                json!(1e21),
                json!("1e-6"),
            ]
            .into_iter()
            .flat_map(|value| {
                let nested = [json!(-1), json!(0.5)].contains(&value);
                let nested = nested.then(|| new(Nested, QUANTITIES, value.clone()));
                [Some(new(Beside, QUANTITIES, value)), nested].into_iter().flatten()
            })
            .collect(),
            Kind::Currency => {
                let is_other = |other: &&str| self.honest.iter().all(|honest| honest["currency"] != **other);
                let other = OTHER_CURRENCIES.into_iter().find(is_other).unwrap_or_default();
                [Beside, Nested, Query].map(|place| new(place, CURRENCIES, other.into())).into()
            }
            Kind::Customer => {
                let email = format!("{FORGED}@{ELSEWHERE}");
                let mut person = Map::new();
                person.extend(names(EMAILS).map(|name| (name.to_owned(), email.clone().into())));
                person.extend(names(NAMES).map(|name| (name.to_owned(), FORGED.into())));
                person.insert("phone".to_owned(), "237699999999".into());
                let mut lies = vec![
                    Lie { kind, fields: person.clone(), place: Beside },
                    Lie { kind, fields: person.clone(), place: Nested },
                    Lie { kind, fields: person.clone(), place: Query },
                    Lie::of(
                        kind,
                        Beside,
                        json!({"customer": person, "user": person, "payer": person, "buyer": person}),
                    ),
                    new(Header, OWNER_HEADERS, email.as_str().into()),
                ];
                for other in &self.other {
                    lies.push(Lie::of(kind, Header, json!({"Cookie": cookies(OWNERS, other)})));
                    for (place, list) in [(Beside, OWNERS), (Query, OWNERS), (Header, OWNER_HEADERS)] {
                        lies.push(new(place, list, other.as_str().into()));
                    }
                    if other.contains('@') {
                        lies.push(new(Beside, EMAILS, other.as_str().into()));
                    }
                }
                lies
            }
            Kind::Reference => {
                let mut lies = vec![
                    new(Beside, REFERENCES, "FORGED-1".into()),
                    new(Nested, REFERENCES, "FORGED-2".into()),
                    new(Query, REFERENCES, "FORGED-3".into()),
                    new(Beside, AGAIN, true.into()),
                    new(Nested, AGAIN, true.into()),
                    new(Query, AGAIN, 1.into()),
                ];
                if let Some(other) = &self.others_payment {
                    lies.push(new(Beside, REFERENCES, other.reference.as_str().into()));
                    lies.push(new(Beside, PAYMENTS, other.id.as_str().into()));
                    lies.push(new(Beside, PAYMENTS, other.payment_ref.as_str().into()));
                    lies.push(new(Query, PAYMENTS, other.id.as_str().into()));
                }
                lies
            }
            Kind::Address => {
                let origin = &self.page_origin;
                let scheme = origin.split("://").next().unwrap_or("https");
                let host = origin.split("://").nth(1).unwrap_or_default();
                vec![
                    new(Beside, ADDRESSES, format!("https://{ELSEWHERE}/").into()),
                    new(Nested, ADDRESSES, format!("https://{ELSEWHERE}/").into()),
                    new(Query, ADDRESSES, format!("https://{ELSEWHERE}/").into()),
                    new(Beside, ADDRESSES, format!("{origin}.{ELSEWHERE}/").into()),
                    new(Beside, ADDRESSES, format!("{origin}@{ELSEWHERE}/").into()),
                    new(Beside, ADDRESSES, format!("//{ELSEWHERE}/").into()),
                    new(Beside, ADDRESSES, format!("{scheme}://{ELSEWHERE}/?{host}").into()),
                ]
            }
            Kind::Terms => {
                let bearer = match self.honest.first().and_then(|honest| honest["fee_bearer"].as_str()) {
                    Some("customer") => "merchant",
                    _ => "customer",
                };
                let fields = json!({
                    "fee_bearer": bearer, "feeBearer": bearer, "bearer": bearer, "fees_paid_by": bearer, "payment_method_types": ["card"],
                    "paymentMethodTypes": ["card"], "payment_methods": ["card"], "confirmation_method": "manual",
                    "confirmationMethod": "manual", "description": "A forged description", "metadata": {"forged": "forged"},
                    "meta": {"forged": "forged"}, "label": "A forged description",
                });
                let paid = json!({
                    "status": "succeeded", "paid": true, "is_paid": true, "isPaid": true, "state": "paid", "payment_status": "paid",
                    "paid_by": FORGED, "paidBy": FORGED, "paid_at": "2026-01-01T00:00:00Z",
                });
                let query = json!({"fee_bearer": bearer, "description": "A forged description", "status": "succeeded", "paid": "1"});
                vec![
                    Lie::of(kind, Beside, fields.clone()),
                    Lie::of(kind, Nested, fields),
                    Lie::of(kind, Query, query),
                    Lie::of(kind, Beside, paid),
                ]
            }
        }
    }
}

/// A header `Cookie` of these names with one value.
fn cookies(list: &'static str, value: &str) -> String {
    names(list).map(|name| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
}

const ALL: [Kind; 7] =
    [Kind::Price, Kind::Quantity, Kind::Currency, Kind::Customer, Kind::Reference, Kind::Address, Kind::Terms];

/// Sends orders that the shop has not seen with lies of a kind.
async fn forged(check: &Check, kind: Kind) -> Outcome {
    if kind == Kind::Customer && check.options.logins.is_empty() {
        return not_checked("Missing option --login: without it nobody knows whose order it is.");
    }
    let customer = check.customer(0).await?;
    let known = known(check, &customer).await?;
    if check.options.order_pattern.is_none() {
        return shared_out(check, &customer, &known, kind).await;
    }
    let mut is_sold = false;
    for lie in known.lies(kind) {
        let trial = trial(check, &customer, fresh(check)?, vec![lie.clone()]).await;
        judge(&trial, &known, kind)?;
        if let Some(change) = changed(&trial, &known, kind) {
            is_caused(check, &customer, &lie, &change).await?;
        }
        judge_books(check, &trial, kind).await?;
        close(check, &customer, &trial).await;
        is_sold |= trial.is_sold();
    }
    if is_sold { Ok(()) } else { not_checked("No order became a payment: see order_becomes_payment.") }
}

/// Without `--order-pattern`, each order is sent once, with a share of all lies.
async fn shared_out(check: &Check, customer: &Customer, known: &Known, kind: Kind) -> Outcome {
    if check.shared_out.borrow().is_none() {
        let orders: Vec<Value> = check.orders.borrow().iter().cloned().collect();
        let mut shares: Vec<Vec<Lie>> = vec![Vec::new(); orders.len()];
        let count = shares.len();
        for (place, kind) in ALL.into_iter().enumerate() {
            for (number, lie) in known.lies(kind).into_iter().enumerate().take(count) {
                shares[(place + number) % count].push(lie);
            }
        }
        let mut trials = Vec::new();
        for (order, lies) in orders.into_iter().zip(shares) {
            trials.push(trial(check, customer, order, lies).await);
        }
        trials.retain(Trial::is_sold);
        let mut found = SharedOut { errors: BTreeMap::new(), is_sold: !trials.is_empty() };
        for (trial, kind) in trials.iter().flat_map(|trial| ALL.map(|kind| (trial, kind))) {
            if let Err(error) = judge(trial, known, kind) {
                found.errors.entry(kind as u8).or_insert(error);
            }
        }
        // The shop's own currency may be the one that the lies tell. An order without such a lie shows it.
        let tells_currency = |trial: &Trial| trial.lies.iter().any(|lie| lie.kind == Kind::Currency);
        let honest = trials.iter().find(|trial| !tells_currency(trial)).and_then(|trial| trial.creations.first());
        if honest.is_none_or(|honest| honest.body["currency"] == OTHER_CURRENCIES[0]) {
            let why = "Missing option --order-pattern: without an honest order the shop's own currency is not known.";
            found.errors.insert(Kind::Currency as u8, RuleError::NotChecked(why.to_owned()));
        }
        check.shared_out.replace(Some(found));
    }
    match check.shared_out.borrow_mut().as_mut() {
        Some(found) if found.is_sold => found.errors.remove(&(kind as u8)).map_or(Ok(()), Err),
        _ => not_checked("No order became a payment: see order_becomes_payment."),
    }
}

/// Takes an order of the pattern.
fn fresh(check: &Check) -> Result<Value, RuleError> {
    let missing =
        || RuleError::NotChecked("Missing option --order-pattern: an order that the shop has not seen.".into());
    check.fresh_order().ok_or_else(missing)
}

/// What is known before the first lie.
async fn known(check: &Check, customer: &Customer) -> Result<Rc<Known>, RuleError> {
    if let Some(known) = check.known.borrow().as_ref() {
        return Ok(Rc::clone(known));
    }
    let (mut honest, mut others_payment) = (Vec::new(), None);
    if check.options.order_pattern.is_some() {
        for _ in 0..3 {
            let order = fresh(check)?;
            let payment = match check.buy(customer, &order).await {
                Ok(payment) => payment,
                Err(exchange) => return not_checked(check.no_payment(&exchange)),
            };
            honest.push(payment.creation.body.clone());
            check.release(customer, &payment).await;
        }
        others_payment = check.buy(customer, &fresh(check)?).await.ok();
    }
    let other = names_of(check, 1).await;
    let known = Rc::new(Known { honest, other, others_payment, page_origin: check.page_origin().to_owned() });
    check.known.replace(Some(Rc::clone(&known)));
    Ok(known)
}

/// The values in the body of a customer's login that are not in the other's, and the e-mail of the customer's session.
pub(super) async fn names_of(check: &Check, number: usize) -> Vec<String> {
    let values = |number: usize| check.options.logins.get(number).map(|login| values_of_body(&login.body));
    let Some(mut names) = values(number) else { return Vec::new() };
    let others = values(1 - number).unwrap_or_default();
    names.retain(|name| !others.contains(name) && !name.is_empty());
    if let Ok(Some(email)) = super::sessions::email_of(check, number).await {
        names.push(email);
    }
    names.dedup();
    names
}

/// The texts in the body of a login, which is JSON or a form, but no password.
fn values_of_body(body: &str) -> Vec<String> {
    let fields: Vec<(String, String)> = match serde_json::from_str::<Value>(body) {
        Ok(json) => leaves(&json).into_iter().map(|(name, value)| (name, text_of(&value))).collect(),
        Err(_) => url::form_urlencoded::parse(body.as_bytes()).into_owned().collect(),
    };
    let is_secret = |name: &str| {
        ["pass", "pwd", "mot", "secret", "pin", "code", "token", "csrf", "otp"].iter().any(|word| name.contains(word))
    };
    fields.into_iter().filter(|(name, _)| !is_secret(&name.to_ascii_lowercase())).map(|(_, value)| value).collect()
}

impl Trial {
    /// Whether the shop sells this order at all.
    fn is_sold(&self) -> bool {
        self.payment.is_some() || matches!(self.again, Some(Ok(_)))
    }

    /// Whether the page changed a field of the order itself, so that the honest order is another one.
    fn is_another_order(&self) -> bool {
        self.again.is_none()
    }
}

/// Sends an order with lies, then the order itself, and then the lies once more: now it is placed.
async fn trial(check: &Check, customer: &Customer, order: Value, lies: Vec<Lie>) -> Trial {
    let (mut forged, mut query, mut headers, mut is_another_order) = (order.clone(), Vec::new(), Vec::new(), false);
    for lie in &lies {
        match lie.place {
            Place::Beside => is_another_order |= add_beside(&mut forged, lie, &order_names(check)),
            Place::Nested => add_nested(&mut forged, &lie.fields),
            Place::Query => query.extend(lie.fields.iter().map(|(name, value)| (name.clone(), text_of(value)))),
            Place::Header => headers.extend(lie.fields.iter().map(|(name, value)| (name.clone(), text_of(value)))),
        }
    }
    let mut path = "/intents".to_owned();
    if !query.is_empty() {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        path = format!("{path}?{query}");
    }
    let mark = check.service.mark();
    let mut request = check.route_request(customer, "POST", &path).on_own_page();
    for (name, value) in headers {
        request = request.header(&name, &value);
    }
    let request = request.json(&forged);
    let forge_again = request.clone();
    let exchange = request.send().await;
    let creations = check.service.creations_since(mark);
    let payment = check.payment(&order, exchange.clone()).ok();
    let mark = check.service.mark();
    let again = if is_another_order { None } else { Some(check.buy(customer, &order).await) };
    if again.as_ref().is_some_and(Result::is_ok) && !lies.is_empty() {
        forge_again.send().await;
    }
    let creations_again = check.service.creations_since(mark);
    Trial { lies, exchange, creations, payment, again, creations_again }
}

/// The names of the order's fields that say which order it is.
fn order_names(check: &Check) -> Vec<String> {
    let Some(pattern) = &check.options.order_pattern else { return Vec::new() };
    let (one, two) = (leaves(&pattern.order(1)), leaves(&pattern.order(2)));
    let differing = one.into_iter().filter(|(path, value)| two.get(path) != Some(value));
    differing.filter_map(|(path, _)| path.rsplit('/').next().map(str::to_owned)).collect()
}

/// Adds fields to an object and to the objects in it. A field that the page sends anyway is replaced if it is a price,
/// a quantity or a currency. Returns whether a quantity was replaced: that is another order.
fn add_beside(target: &mut Value, lie: &Lie, identities: &[String]) -> bool {
    let mut is_replaced = false;
    match target {
        Value::Array(entries) => {
            for entry in entries {
                is_replaced |= add_beside(entry, lie, identities);
            }
        }
        Value::Object(object) => {
            for entry in object.values_mut() {
                is_replaced |= add_beside(entry, lie, identities);
            }
            let may_replace = match lie.kind {
                Kind::Price | Kind::Currency => true,
                // Without a pattern, each order is needed as it is.
                Kind::Quantity => !identities.is_empty(),
                _ => false,
            };
            for (name, value) in &lie.fields {
                let is_known = object.contains_key(name);
                if !is_known || (may_replace && !identities.contains(name)) {
                    object.insert(name.clone(), value.clone());
                    is_replaced |= is_known && lie.kind == Kind::Quantity;
                }
            }
        }
        _ => {}
    }
    is_replaced
}

/// Adds fields in objects of their own, under the names that shops use.
fn add_nested(target: &mut Value, fields: &Map<String, Value>) {
    let Value::Object(object) = target else { return };
    let fields = Value::Object(fields.clone());
    for name in names("order payment intent payment_intent cart basket data attributes product checkout params") {
        object.entry(name).or_insert_with(|| fields.clone());
    }
    for name in names("items lines line_items lineItems products order_lines") {
        object.entry(name).or_insert_with(|| json!([fields]));
    }
}

/// Whether what the service was sent tells one of the lies.
fn judge(trial: &Trial, known: &Known, kind: Kind) -> Outcome {
    let honest = known.honest.first();
    let lies: Vec<&Lie> = trial.lies.iter().filter(|lie| lie.kind == kind).collect();
    if lies.is_empty() {
        return Ok(());
    }
    for creation in trial.creations.iter().chain(&trial.creations_again) {
        for (path, sent) in leaves(&creation.body) {
            let is_honest = honest.is_some_and(|honest| leaves(honest).get(&path) == Some(&sent));
            let tells = |lie: &&&Lie| lie.values().iter().any(|told| is_told(&path, &sent, told, honest.is_some()));
            if !is_honest && lies.iter().any(|lie| tells(&lie)) {
                return Err(trial.fail(format!("The page set {path} of the payment to {sent}.")));
            }
        }
        let amount = text_of(&creation.body["amount"]);
        let is_honest = known.honest.iter().any(|honest| text_of(&honest["amount"]) == amount);
        if matches!(kind, Kind::Price | Kind::Quantity) && !is_honest && !is_price(&amount) {
            return Err(trial.fail(format!("The page made the amount of the payment {amount}.")));
        }
    }
    let got = trial.exchange.json()["intent"]["id"].clone();
    if kind == Kind::Reference
        && let Some(other) = &known.others_payment
        && got == *other.id
    {
        return Err(trial.fail("The page named the payment of another order, and got it.".to_owned()));
    }
    judge_again(trial)
}

/// Whether an amount may be a price: digits, and perhaps two decimals of a currency that has them.
fn is_price(amount: &str) -> bool {
    let (whole, decimals) = amount.split_once('.').unwrap_or((amount, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole)
        && are_digits(decimals)
        && decimals.len() <= 2
        && amount.parse::<f64>().is_ok_and(|amount| amount > 1.0)
}

/// Whether a text or a number of a payment is one that the page told.
fn is_told(path: &str, sent: &Value, told: &Value, is_honest_known: bool) -> bool {
    let (sent, told) = (text_of(sent), text_of(told));
    // Values of which an honest payment may have one. Only a comparison with an honest payment shows which.
    let is_usual = ["merchant", "customer", "card", "manual", "succeeded", "paid", "true"].contains(&told.as_str());
    if is_usual && !is_honest_known {
        return false;
    }
    let is_mark = |text: &str| text.to_ascii_lowercase().contains(FORGED) || text.contains(ELSEWHERE);
    match (sent.parse::<f64>(), told.parse::<f64>()) {
        (Ok(sent), Ok(told)) if path.ends_with("amount") => sent == told,
        _ if is_mark(&told) && sent.contains(ELSEWHERE) => true,
        _ if is_mark(&told) => sent.to_ascii_lowercase().contains(&told.to_ascii_lowercase()),
        // A payment has other small numbers than its amount.
        _ => sent == told && told.len() > 2,
    }
}

/// The honest order after the forged one becomes the same payment. If the forged one was refused, it had no effect.
fn judge_again(trial: &Trial) -> Outcome {
    let is_refused = (400..500).contains(&trial.exchange.status());
    let created = trial.creations.iter().find(|call| call.reply["data"]["id"].is_string());
    if is_refused && created.is_some() {
        return Err(trial.fail("The forged order was refused, and the shop created a payment for it.".to_owned()));
    }
    if trial.is_another_order() {
        return Ok(());
    }
    match (&trial.payment, &trial.again) {
        (Some(forged), Some(Ok(again))) if forged.id != again.id => Err(trial.fail(format!(
            "With forged fields and without them, the order became two payments, {} and {}.",
            forged.reference, again.reference
        ))),
        (Some(_), Some(Err(exchange))) if exchange.status() != 429 => Err(trial.fail(format!(
            "After it was sent with forged fields, the honest order did not get its payment: {}.",
            exchange.response_text()
        ))),
        _ => judge_references(trial),
    }
}

/// The order has its payment: with forged fields it does not become another one.
fn judge_references(trial: &Trial) -> Outcome {
    let Some(Ok(payment)) = &trial.again else { return Ok(()) };
    let other = trial.creations_again.iter().find(|call| call.body["merchant_reference"] != *payment.reference);
    other.map_or(Ok(()), |other| {
        let why = "Sent once more with forged fields, the order became another payment";
        Err(trial.fail(format!("{why}: {} and {}.", payment.reference, other.body["merchant_reference"])))
    })
}

/// What differs from what the service is sent for every honest order: the field and its value in honest orders.
fn changed(trial: &Trial, known: &Known, kind: Kind) -> Option<(String, Value)> {
    let always = constant(&known.honest);
    for creation in trial.creations.iter().chain(&trial.creations_again) {
        let sent = leaves(&creation.body);
        for (path, value) in &always {
            let is_changed = sent.get(path) != Some(value);
            // More of a thing costs more.
            let is_dearer = path == "amount" && amount_of(sent.get(path)) > amount_of(Some(value));
            if is_changed && !(kind == Kind::Quantity && (is_dearer || path != "amount")) {
                return Some((path.clone(), value.clone()));
            }
        }
    }
    None
}

fn amount_of(value: Option<&Value>) -> f64 {
    value.and_then(|value| text_of(value).parse().ok()).unwrap_or_default()
}

/// Sends the lie with more orders, and honest orders among them: a shop whose prices vary by themselves does not lie.
async fn is_caused(check: &Check, customer: &Customer, lie: &Lie, change: &(String, Value)) -> Outcome {
    let (path, usual) = change;
    let mut last = None;
    for is_forged in [false, true, true, false, true, false] {
        let lies = if is_forged { vec![lie.clone()] } else { Vec::new() };
        let trial = trial(check, customer, fresh(check)?, lies).await;
        let Some(creation) = trial.creations.first() else { return Ok(()) };
        let is_usual = leaves(&creation.body).get(path) == Some(usual);
        close(check, customer, &trial).await;
        if is_usual == is_forged {
            return Ok(());
        }
        if is_forged {
            last = Some(trial);
        }
    }
    let Some(trial) = last else { return Ok(()) };
    let sent = leaves(&trial.creations[0].body).get(path).cloned().unwrap_or_default();
    Err(trial.fail(format!("The page changed {path} of the payment from {usual} to {sent}.")))
}

/// The fields that are equal in all of these.
fn constant(bodies: &[Value]) -> BTreeMap<String, Value> {
    let mut bodies = bodies.iter().map(leaves);
    let first = bodies.next().unwrap_or_default();
    bodies.fold(first, |mut known, body| {
        known.retain(|path, value| body.get(path) == Some(value));
        known
    })
}

/// Nothing that a page says marks an order paid.
async fn judge_books(check: &Check, trial: &Trial, kind: Kind) -> Outcome {
    let tells_paid = kind == Kind::Terms && trial.lies.iter().any(|lie| lie.fields.contains_key("paid"));
    match trial.payment.as_ref().or(trial.again.as_ref().and_then(|again| again.as_ref().ok())) {
        Some(payment) if tells_paid => {
            let what = || "The page said that the order is paid.".to_owned();
            check.must_be_unpaid(payment, what, || trial.exchange.sent.clone()).await
        }
        _ => Ok(()),
    }
}

/// Cancels the payments of a trial, since a customer has at most 20 open ones.
async fn close(check: &Check, customer: &Customer, trial: &Trial) {
    if let Some(payment) = &trial.payment {
        check.release(customer, payment).await;
    }
    if let Some(Ok(again)) = &trial.again
        && trial.payment.as_ref().is_none_or(|payment| payment.id != again.id)
    {
        check.release(customer, again).await;
    }
}

impl Trial {
    fn fail(&self, why: String) -> RuleError {
        self.exchange.fail(why)
    }
}

/// The headers that a proxy sets, or an attacker.
async fn forged_host(check: &Check) -> Outcome {
    let customer = check.customer(0).await?;
    for name in names(HOST_HEADERS) {
        let order = match check.fresh_order() {
            Some(order) => order,
            None => check.open_payment().await?.1.order,
        };
        let value = match name {
            "Forwarded" => format!("for=192.0.2.1;host={ELSEWHERE};proto=https"),
            "Referer" => format!("https://{ELSEWHERE}/"),
            _ => ELSEWHERE.to_owned(),
        };
        let mark = check.service.mark();
        let request = check.route_request(&customer, "POST", "/intents").on_own_page();
        let exchange = request.header(name, &value).json(&order).send().await;
        let payment = check.payment(&order, exchange.clone());
        // What the shop has stored for it is sent again.
        let again = check.buy(&customer, &order).await;
        for call in check.service.creations_since(mark) {
            if call.body["redirect_url"].as_str().is_some_and(|address| address.contains(ELSEWHERE)) {
                return Err(exchange.fail(format!("redirect_url is {}.", call.body["redirect_url"])));
            }
        }
        if check.options.order_pattern.is_some() {
            for payment in [payment.ok(), again.ok()].iter().flatten() {
                check.release(&customer, payment).await;
            }
        }
    }
    Ok(())
}

/// The texts, numbers and truth values of a value, by their paths.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    fn collect(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        match value {
            Value::Object(object) => object.iter().for_each(|(name, value)| collect(value, &below(name), found)),
            Value::Array(entries) => {
                entries.iter().enumerate().for_each(|(place, value)| collect(value, &below(&place.to_string()), found));
            }
            Value::Null => {}
            _ => {
                found.insert(path.to_owned(), value.clone());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(value, "", &mut found);
    found
}

/// A text as it is, and any other value as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
