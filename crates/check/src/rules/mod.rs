//! The rules of a safe shop, one function each.

mod books;
mod errors;
mod orders;
mod origins;
mod sessions;

use super::{Boxed, Check, Outcome};

/// A rule, and how to keep it.
pub struct Rule {
    /// Its name: `session_needs_login`.
    pub id: &'static str,
    /// The rule in one sentence, without a full stop.
    pub title: &'static str,
    /// The options without which it is not checked.
    pub needs: &'static [&'static str],
    /// How to fix a shop that breaks it.
    pub fix: &'static str,
    pub(crate) run: fn(&Check) -> Boxed<'_, Outcome>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// The rules to check: these, or all.
pub fn rules(only: &[&'static Rule]) -> Vec<&'static Rule> {
    RULES.iter().filter(|rule| only.is_empty() || only.iter().any(|only| only.id == rule.id)).collect()
}

const LOGIN: &str = "--login";
const TWO_LOGINS: &str = "--login, twice";
const ORDERS: &str = "--orders";
const RESTART: &str = "--restart";

/// All rules, in the order in which they are checked: those that pay an order come late, since a paid order is used up.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        id: "order_becomes_payment",
        title: "An order becomes a payment with all that the page needs",
        needs: &[],
        fix: "Answer POST /intents with {\"intent\": {id, checkout_url, payment_ref, merchant_reference, status}, \"return_nonce\"}, \
              from the reply to the create call.",
        run: |check| Box::pin(orders::order_becomes_payment(check)),
    },
    Rule {
        id: "session_needs_login",
        title: "Only a customer who is signed in gets a session; all others get 401, 403 or 419",
        needs: &[LOGIN],
        fix: "Answer POST /session with 401 unless your own login knows the customer, and create the session for that customer's e-mail.",
        run: |check| Box::pin(sessions::session_needs_login(check)),
    },
    Rule {
        id: "server_decides",
        title: "Price, currency, customer and reference are the server's, whatever the page sends",
        needs: &[],
        fix: "Take only the order's id from the page. Read price, currency and reference from your own data, and the customer from the login.",
        run: |check| Box::pin(orders::server_decides(check)),
    },
    Rule {
        id: "same_order_same_payment",
        title: "The same order twice is one payment",
        needs: &[],
        fix: "Send the same merchant_reference and the same body each time for one order: no time, no random text in it.",
        run: |check| Box::pin(orders::same_order_same_payment(check)),
    },
    Rule {
        id: "same_payment_after_restart",
        title: "The same order is the same payment after a restart",
        needs: &[RESTART],
        fix: "Derive merchant_reference and return_nonce from stored data and a key that outlives the process.",
        run: |check| Box::pin(orders::same_payment_after_restart(check)),
    },
    Rule {
        id: "return_nonce_agrees",
        title: "return_nonce is the guichet_return of redirect_url, and the same each time",
        needs: &[],
        fix: "Derive 22 characters of [0-9A-Za-z] from the reference (an HMAC). Append guichet_return=<nonce> to redirect_url, and \
              answer the same text as return_nonce. Otherwise a popup never closes.",
        run: |check| Box::pin(orders::return_nonce_agrees(check)),
    },
    Rule {
        id: "other_customer_sees_nothing",
        title: "Another customer's payment is answered like an unknown one: 404",
        needs: &[TWO_LOGINS],
        fix: "Look up a payment by its reference and the signed-in customer together, and answer 404 if there is none.",
        run: |check| Box::pin(orders::other_customer_sees_nothing(check)),
    },
    Rule {
        id: "foreign_origin_refused",
        title: "A request with another site's Origin is refused",
        needs: &[],
        fix: FIX_ORIGIN,
        run: |check| Box::pin(origins::refused(check, "Origin", "https://evil.example")),
    },
    Rule {
        id: "null_origin_refused",
        title: "A request with the Origin null is refused",
        needs: &[],
        fix: FIX_ORIGIN,
        run: |check| Box::pin(origins::refused(check, "Origin", "null")),
    },
    Rule {
        id: "same_site_refused",
        title: "A request from another origin of the same site is refused",
        needs: &[],
        fix: FIX_SITE,
        run: |check| Box::pin(origins::refused(check, "Sec-Fetch-Site", "same-site")),
    },
    Rule {
        id: "cross_site_refused",
        title: "A request from another site is refused by Sec-Fetch-Site",
        needs: &[],
        fix: FIX_SITE,
        run: |check| Box::pin(origins::refused(check, "Sec-Fetch-Site", "cross-site")),
    },
    Rule {
        id: "text_plain_refused",
        title: "A body of text/plain is refused",
        needs: &[],
        fix: "Accept application/json only, and answer 415 otherwise: a page of another site sends text/plain without asking.",
        run: |check| Box::pin(origins::text_plain_refused(check)),
    },
    Rule {
        id: "foreign_form_refused",
        title: "A form of another site is refused; one of the shop may answer 303 to checkout_url",
        needs: &[],
        fix: "Check Origin and Sec-Fetch-Site before the body is read, also for forms, or accept JSON only.",
        run: |check| Box::pin(origins::foreign_form_refused(check)),
    },
    Rule {
        id: "refusing_service",
        title: "If the service refuses, the page gets an error in the service's shape and no wrong status",
        needs: &[],
        fix: FIX_ERROR,
        run: |check| Box::pin(errors::refusing_service(check)),
    },
    Rule {
        id: "unreadable_service",
        title: "If the service's reply is no JSON, the page gets an error in the service's shape",
        needs: &[],
        fix: FIX_ERROR,
        run: |check| Box::pin(errors::unreadable_service(check)),
    },
    Rule {
        id: "slow_service",
        title: "If the service does not answer, the page gets an error in time",
        needs: &[],
        fix: "Give each call to the service a timeout of at most 30 seconds, and answer 503 with an error in the service's shape.",
        run: |check| Box::pin(errors::slow_service(check)),
    },
    Rule {
        id: "wrong_amount_pays_nothing",
        title: "A payment of another amount pays no order",
        needs: &[ORDERS],
        fix: FIX_COMPARE,
        run: |check| Box::pin(books::wrong_reply_pays_nothing(check, "amount", "1".into())),
    },
    Rule {
        id: "wrong_currency_pays_nothing",
        title: "A payment in another currency pays no order",
        needs: &[ORDERS],
        fix: FIX_COMPARE,
        run: |check| Box::pin(books::wrong_reply_pays_nothing(check, "currency", "UGX".into())),
    },
    Rule {
        id: "wrong_reference_pays_nothing",
        title: "A payment with another reference pays no order",
        needs: &[ORDERS],
        fix: FIX_COMPARE,
        run: |check| Box::pin(books::wrong_reply_pays_nothing(check, "merchant_reference", "ANOTHER-ORDER".into())),
    },
    Rule {
        id: "wrong_owner_pays_nothing",
        title: "A payment of another customer pays no order",
        needs: &[ORDERS],
        fix: FIX_COMPARE,
        run: |check| {
            let owner = serde_json::json!({"firstname": "Eve", "lastname": "Eve", "email": "eve@evil.example"});
            Box::pin(books::wrong_reply_pays_nothing(check, "customer", owner))
        },
    },
    Rule {
        id: "decline_gets_next_reference",
        title: "After a final decline the order gets the next reference, and can be paid",
        needs: &[],
        fix: "When a payment is read as failed or canceled, give the order its next merchant_reference (ORDER-17.1), so that the next \
              POST /intents creates another payment.",
        run: |check| Box::pin(books::decline_gets_next_reference(check)),
    },
    Rule {
        id: "paid_without_return",
        title: "A customer who pays and never comes back is settled without a request of a browser",
        needs: &[],
        fix: "Read each open payment with the key every few seconds by a timer, or by a command that cron runs (--settle).",
        run: |check| Box::pin(books::paid_without_return(check)),
    },
    Rule {
        id: "paid_once",
        title: "Answers at the same time mark the order paid once",
        needs: &[ORDERS],
        fix: "Mark it by one conditional write (UPDATE orders SET paid = 1 WHERE id = ? AND paid = 0), and ship only if that changed a row.",
        run: |check| Box::pin(books::paid_once(check)),
    },
    Rule {
        id: "late_approval_pays",
        title: "A late approval that makes the payment succeeded marks the order paid",
        needs: &[ORDERS],
        fix: "Go on reading a payment after a declined attempt, until its status is final: last_payment_error is no end.",
        run: |check| Box::pin(books::late_approval_pays(check)),
    },
    Rule {
        id: "duplicate_is_refunded",
        title: "A late approval in duplicate_payments is noticed as a refund that is due",
        needs: &[ORDERS],
        fix: "Look at duplicate_payments at every reading, also of a paid order, and store each entry by payment and attempt.",
        run: |check| Box::pin(books::duplicate_is_refunded(check)),
    },
    Rule {
        id: "token_in_no_url",
        title: "A session token is in no address, redirect or referrer",
        needs: &[LOGIN],
        fix: "Send the token in the body of the answer to POST /session alone.",
        run: |check| Box::pin(sessions::token_in_no_url(check)),
    },
    Rule {
        id: "key_in_no_answer",
        title: "The secret key is in no answer of the shop",
        needs: &[],
        fix: "Keep the key on the server: in no page, script, header or error. Then replace it, since it is known now.",
        run: |check| Box::pin(sessions::key_in_no_answer(check)),
    },
];

const FIX_ORIGIN: &str =
    "Refuse a request whose Origin is not your own with 403, on all three routes: null is not your own either.";
const FIX_SITE: &str =
    "Refuse a request whose Sec-Fetch-Site is neither same-origin nor none with 403, on all three routes.";
const FIX_COMPARE: &str = "Before an order is marked paid, compare reference, amount, currency and the customer's e-mail of the payment that \
                           was read with those of the order.";
const FIX_ERROR: &str = "Answer {\"status_code\", \"response_type\": \"error\", \"message\", \"data\": null, \"error\": {\"type\", \"code\", \"errors\": [], \
                         \"request_id\", \"retryable\"}} with 502 or 503. A 401 of the service is about your key: a 401 to the page would say that nobody is signed in.";
