//! The return page and the status route: what an address says proves nothing, and what the service says is handed on.

use crate::foreign_names::{Meaning, names};
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::{DECLINED_FOR_GOOD, STAYS_PROCESSING};
use crate::shop::{
    Books, CheckedShop, Customer, Exchange, Expected, Payment, RequestBuilder, Settled, ToldPaid, orders_missing,
};
use serde_json::{Map, Value, json};
use std::rc::Rc;
use std::time::Duration;

/// The headers of a browser that fetches a page before anyone has opened it.
const PREFETCH: [(&str, &str); 3] =
    [("Sec-Purpose", "prefetch;prerender"), ("Purpose", "prefetch"), ("X-Moz", "prefetch")];

/// Nobody has paid the order. Its return address is opened with every lie, and the order stays unpaid.
pub(super) async fn return_page_pays_nothing(shop: &CheckedShop, _: &ToldPaid, expected: &[Expected]) -> Settled {
    let (customer, payment) = shop.fresh_payment().await?;
    let paid = shop.paid_payment(expected).await?;
    let Some(addresses) = addresses(shop, &payment, paid.as_ref()) else {
        return not_checked(format!("The redirect_url of the payment is no address of {}.", shop.options.shop.origin));
    };
    let stranger = Rc::new(Customer::default());
    let mut visitors = vec![Rc::clone(&customer), stranger];
    if shop.options.logins.len() > 1 {
        visitors.push(shop.customer(1).await?);
    }
    for visitor in &visitors {
        for address in &addresses {
            for method in ["GET", "HEAD"] {
                open(shop, visitor, method, address).send().await;
            }
        }
        let mut prefetched = open(shop, visitor, "GET", &addresses[0]);
        for (name, value) in PREFETCH {
            prefetched = prefetched.header(name, value);
        }
        prefetched.send().await;
        // Once more, as in another tab.
        open(shop, visitor, "GET", &addresses[0]).send().await;
        for address in &addresses {
            post(shop, visitor, address).await;
        }
        for path in names(Meaning::NotificationPath) {
            let query = addresses[0].split_once('?').map_or("", |(_, query)| query);
            post(shop, visitor, &format!("{path}?{query}")).await;
        }
        must_be_unpaid(shop, &payment, &addresses).await?;
    }
    let exchange = shop.status(&customer, &payment).await;
    if exchange.tells("succeeded") {
        let why = "The return address was opened with status=succeeded, nobody paid, and the page was told that the \
                   payment has succeeded.";
        return Err(exchange.fail(why));
    }
    let what = "The return address was opened with lies in it, and nobody paid";
    shop.same_payment_still(&customer, &payment, what).await?;
    shop.run_settle().await?;
    shop.pause(Duration::from_millis(500)).await;
    must_be_unpaid(shop, &payment, &addresses).await?;
    if shop.options.orders_command.is_none() {
        return Err(orders_missing());
    }
    if !shop.has_fresh_orders() {
        return Ok(Vec::new());
    }
    shop.release(&customer, &payment).await;
    let what = "The return address was opened with lies in it, and nobody paid.";
    Ok(vec![Expected::new(what, &payment, Books::UNPAID)])
}

/// Paths of the shop with lies in their query: the return address, the page, and the status route. `None` if the shop
/// returns elsewhere.
fn addresses(shop: &CheckedShop, payment: &Payment, paid: Option<&Payment>) -> Option<Vec<String>> {
    let returns = url::Url::parse(payment.creation.body["redirect_url"].as_str()?).ok()?;
    // A page on another origin is not the shop's server.
    let is_own = returns.origin().ascii_serialization() == shop.options.shop.origin;
    let with_query = |path: &str, pairs: &[(&str, &str)]| {
        let mut url = url::Url::parse(&shop.options.shop.origin).ok()?.join(path).ok()?;
        url.query_pairs_mut().extend_pairs(pairs);
        Some(format!("{}?{}", url.path(), url.query().unwrap_or_default()))
    };
    let back = format!("{}?{}", returns.path(), returns.query().unwrap_or_default());
    let status = format!("{}/intents/{}", shop.options.shop.routes, payment.payment_ref);
    let nonce = payment.return_nonce.as_deref().unwrap_or_default();
    let of = |payment: &Payment, status: &'static str| {
        let Payment { id, payment_ref, reference, .. } = payment;
        [
            ("payment_intent", id.clone()),
            ("payment_ref", payment_ref.clone()),
            ("merchant_reference", reference.clone()),
            ("status", status.into()),
        ]
    };
    let mut lies = vec![of(payment, "succeeded"), of(payment, "failed"), of(payment, "canceled")];
    if let Some(paid) = paid {
        // A payment that was really made, for another order: as a whole, and mixed with this one.
        lies.push(of(paid, "succeeded"));
        let mut mixed = of(payment, "succeeded");
        mixed[0].1.clone_from(&paid.id);
        mixed[1].1.clone_from(&paid.payment_ref);
        lies.push(mixed);
        let mut mixed = of(paid, "succeeded");
        mixed[2].1.clone_from(&payment.reference);
        lies.push(mixed);
    }
    let mut found = Vec::new();
    for lie in &lies {
        let pairs: Vec<(&str, &str)> = lie.iter().map(|(name, value)| (*name, value.as_str())).collect();
        found.extend(is_own.then(|| with_query(&back, &pairs)).flatten());
        let with_nonce = [&pairs[..], &[("guichet_return", nonce), ("paid", "1"), ("success", "true")]].concat();
        found.extend(with_query(&shop.options.page, &with_nonce));
        found.extend(with_query(&status, &with_nonce));
    }
    Some(found)
}

async fn must_be_unpaid(shop: &CheckedShop, payment: &Payment, addresses: &[String]) -> Outcome {
    let sent = || format!("GET, HEAD and POST, by the customer and by others: {}", addresses.join(" "));
    shop.must_be_unpaid(payment, || "Nobody paid, and the return address was opened.".to_owned(), sent).await
}

/// Sends what is in an address as the service would send a notification: the interface has none, so whatever comes is
/// forged.
async fn post(shop: &CheckedShop, visitor: &Customer, address: &str) {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let mut fields: Map<String, Value> = pairs.map(|(name, value)| (name.into_owned(), value.into())).collect();
    let id = fields.get("payment_intent").cloned().unwrap_or_default();
    fields.insert("id".into(), id);
    let intent = Value::Object(fields.clone());
    fields.extend([
        ("type".to_owned(), json!("payment_intent.succeeded")),
        ("data".to_owned(), json!({"object": intent})),
    ]);
    let json = Value::Object(fields);
    shop.request(visitor, "POST", path).body("application/x-www-form-urlencoded", query.to_owned()).send().await;
    shop.request(visitor, "POST", path).json(&json).send().await;
    // As a script on the shop's own page would.
    shop.request(visitor, "POST", path).on_own_page().json(&json).send().await;
}

/// As a browser does: it comes to a page from another site, which the hosted page is, and asks a route from the shop's
/// own page.
fn open<'a>(shop: &'a CheckedShop, visitor: &'a Customer, method: &'static str, address: &str) -> RequestBuilder<'a> {
    let request = shop.request(visitor, method, address);
    if address.starts_with(&format!("{}/", shop.options.shop.routes)) {
        return request.on_own_page();
    }
    request
        .header("Sec-Fetch-Site", "cross-site")
        .header("Sec-Fetch-Mode", "navigate")
        .header("Sec-Fetch-Dest", "document")
}

/// What the page needs to say what is known: until when a declined attempt may still be approved.
pub(super) async fn approvable_until_is_handed_on(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.fresh_payment().await?;
    // An attempt that the operator never approves, so that no refund comes into the books later.
    shop.service.pay(&payment.id, STAYS_PROCESSING).await;
    true_status(shop, &customer, &payment).await?;
    shop.service.abandon(&payment.id, 1).await;
    hands_on(shop, &customer, &payment).await?;
    shop.service.pay(&payment.id, DECLINED_FOR_GOOD).await;
    hands_on(shop, &customer, &payment).await
}

/// Checks that the page is told the payment's status. Returns the answer, and the payment.
async fn true_status(
    shop: &CheckedShop,
    customer: &Customer,
    payment: &Payment,
) -> Result<(Exchange, Value), RuleError> {
    let exchange = shop.sure_status(customer, payment).await;
    let intent = shop.service.intent(&payment.id).await;
    if exchange.data()["status"] != intent["status"] {
        let why = format!("The payment is {}, and the page was not told so.", intent["status"]);
        return Err(exchange.fail(why));
    }
    Ok((exchange, intent))
}

async fn hands_on(shop: &CheckedShop, customer: &Customer, payment: &Payment) -> Outcome {
    let (exchange, intent) = true_status(shop, customer, payment).await?;
    let told = exchange.data();
    // What is absent says something else than null.
    let until = |object: &Value| object.get("approvable_until").map_or("absent".to_owned(), Value::to_string);
    for (name, is, must) in [
        ("approvable_until", until(&told), until(&intent)),
        (
            "last_payment_error.approvable_until",
            until(&told["last_payment_error"]),
            until(&intent["last_payment_error"]),
        ),
    ] {
        if is != must {
            let why = format!(
                "An attempt was declined, and the operator may still approve it. The answer has {name} {is}, and the \
                 service's reply {must}: the page would say that the payment has failed, and the customer would pay \
                 twice."
            );
            return Err(exchange.fail(why));
        }
    }
    Ok(())
}
