//! A shop's page without JavaScript: it signs in, shows the price of each payment method, pays, and shows the outcome.
//!
//! The page names the order. The shop's server sets the price and holds the secret key.

use gloo_net::http::Request;
use guichet::browser::{Client, LateApproval, Outcome, OutcomeState, Quote, QuoteRequest};
use guichet::protocol::Error;
use guichet::values::{Amount, CardType, FeeBearer};
use serde::Serialize;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Document, Element};

#[derive(Serialize)]
struct Order {
    id: &'static str,
}

const ORDER: Order = Order { id: "17" };
const AMOUNT: Amount = Amount::units(5_000);

fn main() {
    match Client::builder(service()).merchant("/guichet").build() {
        Ok(guichet) => open(guichet),
        Err(error) => show("message", &error.to_string()),
    }
}

fn open(guichet: Client) {
    on_click("sign-in", &guichet, |guichet| spawn_local(sign_in(guichet)));
    on_click("sign-out", &guichet, |guichet| spawn_local(sign_out(guichet)));
    on_click("pay", &guichet, |guichet| {
        let checkout = guichet.checkout(&ORDER);
        spawn_local(async { show_outcome(checkout.await) });
    });
    on_click("pay-in-popup", &guichet, |guichet| {
        // In the click itself: browsers block a window that opens later.
        let checkout = guichet.checkout(&ORDER).popup();
        spawn_local(async { show_outcome(checkout.await) });
    });
    spawn_local(async move {
        // The customer returned from the hosted page to this page.
        if let Some(back) = guichet.returned().await {
            show_outcome(guichet.wait_for_outcome(&back.purchase).await);
        }
        show_quotes(&guichet).await;
    });
}

/// Signs in at the shop, in the shop's own way. After that, the shop's server issues session tokens.
async fn sign_in(guichet: Client) {
    if let Err(error) = Request::post("/sign-in").send().await {
        return show("message", &error.to_string());
    }
    match guichet.session().renew().await {
        Ok(()) => show_quotes(&guichet).await,
        Err(error) => show("message", &error.to_string()),
    }
}

/// Ends the session, in every tab.
async fn sign_out(guichet: Client) {
    match guichet.session().revoke().await {
        Ok(()) => show("customer", "Nobody is signed in."),
        Err(error) => show("message", &error.to_string()),
    }
}

/// Shows what the customer pays with each method, cheapest first.
async fn show_quotes(guichet: &Client) {
    match quotes(guichet).await {
        Ok(lines) => show("quotes", &lines.join("\n")),
        Err(error) => show("quotes", &error.to_string()),
    }
    if let Some(email) = guichet.session().email() {
        show("customer", &format!("Signed in as {email}."));
    }
}

async fn quotes(guichet: &Client) -> Result<Vec<String>, Error> {
    let request = QuoteRequest::new(AMOUNT).fee_bearer(FeeBearer::Customer);
    let quotes = guichet.quotes(&request).await?;
    let line = |quote: Quote| {
        let card = match quote.card_type {
            Some(CardType::International) => " issued abroad",
            Some(_) => " issued in this country",
            None => "",
        };
        match quote.price {
            Ok(price) => format!("{}{card}: {} {}", quote.method.name, price.customer_pays, price.currency),
            Err(error) => format!("{}{card}: {error}", quote.method.name),
        }
    };
    Ok(quotes.into_iter().map(line).collect())
}

/// Shows the outcome. Ship goods when the server says that the order is paid, never because of this outcome.
fn show_outcome(outcome: Result<Outcome, Error>) {
    match outcome {
        Ok(outcome) => show("message", &sentence(&outcome)),
        Err(error) => show("message", &error.to_string()),
    }
}

/// One amount, which the customer pays. If the operator may still approve an attempt that it declined, nobody knows yet
/// whether it took the money.
fn sentence(outcome: &Outcome) -> String {
    let is_unknown = outcome.state != OutcomeState::Succeeded && outcome.late_approval != LateApproval::Never;
    let mut sentence = match is_unknown {
        true => "We do not know yet whether your operator took the money.".to_owned(),
        false => format!("The payment is {}.", outcome.state.as_str()),
    };
    if let Some(amount) = outcome.amount_payable.as_ref().or(outcome.amount.as_ref()) {
        let fee = if outcome.plus_fee { " plus the fee" } else { "" };
        sentence = format!("{sentence} {amount} XAF{fee}.");
    }
    if is_unknown {
        sentence += " If you pay a second time and both payments succeed, one of them is refunded.";
    }
    sentence
}

/// The payment service's address, from the page's `<meta name="guichet-service">`.
fn service() -> String {
    let meta = document().query_selector("meta[name=guichet-service]").ok().flatten();
    meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_default()
}

fn on_click(id: &str, guichet: &Client, action: impl Fn(Client) + 'static) {
    let guichet = guichet.clone();
    let listener = Closure::<dyn Fn()>::new(move || action(guichet.clone()));
    element(id)
        .add_event_listener_with_callback("click", listener.as_ref().unchecked_ref())
        .expect("the element can be clicked");
    listener.forget(); // it lives as long as the page
}

fn show(id: &str, text: &str) {
    element(id).set_text_content(Some(text));
}

fn element(id: &str) -> Element {
    document().get_element_by_id(id).expect("index.html has the element")
}

fn document() -> Document {
    web_sys::window().and_then(|window| window.document()).expect("this code runs in a page")
}
