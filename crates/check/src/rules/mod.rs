//! The rules of a safe shop, one function each.

mod errors;
mod forged;
mod late;
mod next;
mod nonces;
mod orders;
mod origins;
mod replies;
mod returns;
mod secrets;
mod sessions;
mod settling;
mod strangers;

use super::{Boxed, Check, Outcome};
pub(crate) use forged::{Known, SharedOut};
pub(crate) use late::Late;

/// A rule, and how to keep it.
pub struct Rule {
    /// Its name: `session_needs_login`.
    pub id: &'static str,
    /// The rule in one sentence, without a full stop.
    pub title: &'static str,
    /// The options without which it is not checked.
    pub needs: &'static [&'static str],
    /// The heading of `docs/shop.md` that promises it, as in an address.
    pub guide: &'static str,
    /// How to fix a shop that breaks it.
    pub fix: &'static str,
    pub(crate) run: fn(&Check) -> Boxed<'_, Outcome>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// A rule, or a group of rules.
#[derive(Clone, Copy, Debug)]
pub struct Selection(&'static [Rule]);

impl Selection {
    /// The rule or the group with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        // A rule of earlier versions, which each rule of this group has become.
        let name = if name == "server_decides" { "forged" } else { name };
        let group = GROUPS.iter().find(|(group, _)| *group == name).map(|(_, rules)| *rules);
        let rule = || all().find(|rule| rule.id == name).map(std::slice::from_ref);
        group.or_else(rule).map(Self)
    }

    /// The names that can be given.
    pub(crate) fn names() -> String {
        let name = |(group, rules): &(&str, &[Rule])| {
            let ids: Vec<&str> = rules.iter().map(|rule| rule.id).collect();
            format!("{group} ({})", ids.join(", "))
        };
        GROUPS.iter().map(name).collect::<Vec<_>>().join("; ")
    }
}

/// The rules to check: these, or all.
pub(crate) fn selected(only: &[Selection]) -> Vec<&'static Rule> {
    let is_wanted = |rule: &Rule| only.iter().any(|only| only.0.iter().any(|only| only.id == rule.id));
    all().filter(|rule| only.is_empty() || is_wanted(rule)).collect()
}

fn all() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(_, rules)| *rules)
}

/// The groups, in the order in which they are checked: the forged orders are those that the shop has not seen, and the
/// secrets are looked for in all that the shop has answered.
const GROUPS: &[(&str, &[Rule])] = &[
    ("forged", forged::RULES),
    ("orders", orders::RULES),
    ("sessions", sessions::RULES),
    ("strangers", strangers::RULES),
    ("origins", origins::RULES),
    ("payments", RULES),
    ("secrets", secrets::RULES),
];

const LOGIN: &str = "--login";
const TWO_LOGINS: &str = "--login, twice";
const ORDERS: &str = "--orders";
const RESTART: &str = "--restart";
const PATTERN: &str = "--order-pattern";
const REPRICE: &str = "--reprice";

/// Test phones of the sandbox.
const PAYS_AT_ONCE: &str = "237670000000";
const DECLINED_FOR_GOOD: &str = "237670000006";
const STAYS_PROCESSING: &str = "237670000005";
/// Declined at once, and approved late.
const APPROVED_LATE: &str = "237670000012";

/// The rules about payments, in the order in which they are checked. The first one about late approvals comes early: it
/// makes the payments of all three, and the shop reads the final ones once a minute, while other rules are checked.
/// Rules that pay an order come late, since a paid order is used up.
const RULES: &[Rule] = &[
    Rule {
        id: "refusing_service",
        title: "If the service refuses, the page gets an error in the service's shape and no wrong status",
        needs: &[],
        guide: "errors",
        fix: FIX_ERROR,
        run: |check| Box::pin(errors::refusing_service(check)),
    },
    Rule {
        id: "unreadable_service",
        title: "If the service's reply is no JSON, the page gets an error in the service's shape",
        needs: &[],
        guide: "errors",
        fix: FIX_ERROR,
        run: |check| Box::pin(errors::unreadable_service(check)),
    },
    Rule {
        id: "slow_service",
        title: "If the service does not answer, the page gets an error in time",
        needs: &[],
        guide: "errors",
        fix: "Give each call to the service a timeout of at most 30 seconds, and answer 503 with an error in the service's shape.",
        run: |check| Box::pin(errors::slow_service(check)),
    },
    Rule {
        id: "redirect_is_not_followed",
        title: "If the service redirects a call to another origin, the secret key does not go there",
        needs: &[],
        guide: "calls-to-the-service",
        fix: "Turn redirects off in the HTTP client that calls the service (redirect: \"manual\", CURLOPT_FOLLOWLOCATION false), and treat a redirect as a call that failed.",
        run: |check| Box::pin(errors::redirect_is_not_followed(check)),
    },
    Rule {
        id: "late_approval_pays",
        title: "A late approval that makes the payment succeeded marks the order paid",
        needs: &[ORDERS],
        guide: "late-and-double-approvals",
        fix: "Go on reading a payment after a declined attempt, until its status is final: last_payment_error is no end.",
        run: |check| Box::pin(late::late_approval_pays(check)),
    },
    Rule {
        id: "wrong_amount_pays_nothing",
        title: "A payment of another amount pays no order",
        needs: &[ORDERS],
        guide: "get-guichetintentspayment_ref",
        fix: FIX_COMPARE,
        run: |check| Box::pin(replies::wrong_amount_pays_nothing(check)),
    },
    Rule {
        id: "wrong_currency_pays_nothing",
        title: "A payment in another currency pays no order",
        needs: &[ORDERS],
        guide: "get-guichetintentspayment_ref",
        fix: FIX_COMPARE,
        run: |check| Box::pin(replies::wrong_currency_pays_nothing(check)),
    },
    Rule {
        id: "wrong_reference_pays_nothing",
        title: "A payment with another reference pays no order",
        needs: &[ORDERS],
        guide: "get-guichetintentspayment_ref",
        fix: FIX_COMPARE,
        run: |check| Box::pin(replies::wrong_reference_pays_nothing(check)),
    },
    Rule {
        id: "wrong_id_pays_nothing",
        title: "A reply about another payment pays no order",
        needs: &[ORDERS],
        guide: "get-guichetintentspayment_ref",
        fix: FIX_COMPARE,
        run: |check| Box::pin(replies::wrong_id_pays_nothing(check)),
    },
    Rule {
        id: "wrong_owner_pays_nothing",
        title: "A payment of another customer pays no order",
        needs: &[ORDERS],
        guide: "get-guichetintentspayment_ref",
        fix: FIX_COMPARE,
        run: |check| Box::pin(replies::wrong_owner_pays_nothing(check)),
    },
    Rule {
        id: "only_succeeded_pays",
        title: "Only the status succeeded, in a reply that is no error, pays an order",
        needs: &[ORDERS],
        guide: "settle-every-few-seconds",
        fix: "Mark the order paid if the HTTP status is 2xx and the status is the text succeeded, and in no other case.",
        run: |check| Box::pin(replies::only_succeeded_pays(check)),
    },
    Rule {
        id: "unknown_status_is_read_on",
        title: "A status that the guide does not name is not final",
        needs: &[],
        guide: "settle-every-few-seconds",
        fix: "Name the three final statuses (succeeded, failed, canceled), and go on reading a payment with any other.",
        run: |check| Box::pin(replies::unknown_status_is_read_on(check)),
    },
    Rule {
        id: "return_page_pays_nothing",
        title: "The return address pays no order, whatever is in it and whoever opens it",
        needs: &[ORDERS],
        guide: "what-happens-in-a-purchase",
        fix: "Let the return page ask GET /intents/{payment_ref}, which reads the payment with the key. Do nothing because of a parameter.",
        run: |check| Box::pin(returns::return_page_pays_nothing(check)),
    },
    Rule {
        id: "approvable_until_is_handed_on",
        title: "The page is told the true status, and until when a declined attempt may still be approved",
        needs: &[],
        guide: "get-guichetintentspayment_ref",
        fix: "Answer with the status of the service's reply, its approvable_until, and its last_payment_error with the approvable_until in it.",
        run: |check| Box::pin(returns::approvable_until_is_handed_on(check)),
    },
    Rule {
        id: "failed_read_is_no_decline",
        title: "A service that cannot be reached is no failed payment",
        needs: &[],
        guide: "errors",
        fix: "Change nothing if a call to the service fails: no status, no next reference. Read the payment again in a few seconds.",
        run: |check| Box::pin(settling::failed_read_is_no_decline(check)),
    },
    Rule {
        id: "decline_gets_next_reference",
        title: "After a final decline or a cancellation the order gets the next reference, once",
        needs: &[],
        guide: "declines-and-the-next-reference",
        fix: "When a payment is read as failed or canceled, give the order its next merchant_reference (ORDER-17-1), so that the next POST /intents creates another payment. Store the number of each payment, and count its decline once.",
        run: |check| Box::pin(next::decline_gets_next_reference(check)),
    },
    Rule {
        id: "second_reference_only_after_end",
        title: "An order gets no second payment while the first one can still be paid, or once it is paid",
        needs: &[],
        guide: "declines-and-the-next-reference",
        fix: "Create the next reference only once a payment was read as failed or canceled: not while it is processing, and not after an attempt that was declined. A paid order keeps its reference.",
        run: |check| Box::pin(next::second_reference_only_after_end(check)),
    },
    Rule {
        id: "lost_reply_same_payment",
        title: "If the reply to the creation is lost, the order is the same payment the next time",
        needs: &[],
        guide: "what-to-store",
        fix: "Store the reference and the whole body before you send it, and send what is stored again.",
        run: |check| Box::pin(next::lost_reply_same_payment(check)),
    },
    Rule {
        id: "same_order_at_once",
        title: "The same order several times at once is one payment",
        needs: &[],
        guide: "post-guichetintents",
        fix: "Derive merchant_reference from the order, and insert the payment by one statement with a unique key.",
        run: |check| Box::pin(next::same_order_at_once(check)),
    },
    Rule {
        id: "open_payments_have_a_limit",
        title: "A customer has at most 20 open payments",
        needs: &[PATTERN],
        guide: "post-guichetintents",
        fix: "Count the customer's payments that are not final and insert the next one in one statement, and answer 409 too_many_open_payments for the 21st. Repeat one that exists all the same.",
        run: |check| Box::pin(next::open_payments_have_a_limit(check)),
    },
    Rule {
        id: "paid_without_return",
        title: "A customer who pays and never comes back is settled once, without a request of a browser",
        needs: &[],
        guide: "settle-every-few-seconds",
        fix: "Read each open payment with the key every few seconds by a timer, or by a command that cron runs (--settle).",
        run: |check| Box::pin(settling::paid_without_return(check)),
    },
    Rule {
        id: "paid_once",
        title: "Answers at the same time mark the order paid once",
        needs: &[ORDERS],
        guide: "settle-every-few-seconds",
        fix: FIX_ONCE,
        run: |check| Box::pin(settling::paid_once(check)),
    },
    Rule {
        id: "failing_read_delays_none",
        title: "A payment whose read fails keeps no other one from being settled",
        needs: &[ORDERS, PATTERN],
        guide: "settle-every-few-seconds",
        fix: "Catch the error of each payment where it is read, and go on with the next one.",
        run: |check| Box::pin(settling::failing_read_delays_none(check)),
    },
    Rule {
        id: "duplicate_is_refunded",
        title: "Each late approval in duplicate_payments is a refund that is due, once",
        needs: &[ORDERS],
        guide: "late-and-double-approvals",
        fix: FIX_REFUND,
        run: |check| Box::pin(late::duplicate_is_refunded(check)),
    },
    Rule {
        id: "late_approval_after_end_is_refunded",
        title: "A late approval of a payment that failed, was canceled or was replaced is a refund that is due, once",
        needs: &[ORDERS, PATTERN],
        guide: "late-and-double-approvals",
        fix: FIX_REFUND,
        run: |check| Box::pin(late::late_approval_after_end_is_refunded(check)),
    },
    Rule {
        id: "refund_has_fee",
        title: "A refund that is due is the amount that the customer paid, with the fee",
        needs: &[ORDERS],
        guide: "late-and-double-approvals",
        fix: "Store the amount of the entry of duplicate_payments; if a second payment of the order has succeeded, its amount_payable.",
        run: |check| Box::pin(late::refund_has_fee(check)),
    },
    Rule {
        id: "paid_order_is_not_sold_again",
        title: "If a payment that was reported as failed succeeds later, its order gets no other payment",
        needs: &[PATTERN],
        guide: "declines-and-the-next-reference",
        fix: "Look first at what paid the order: if anything did, repeat that payment, also if the order has a later one that is open.",
        run: |check| Box::pin(late::paid_order_is_not_sold_again(check)),
    },
    Rule {
        id: "paid_across_restart",
        title: "A payment that was made around a restart pays its order once",
        needs: &[ORDERS, RESTART],
        guide: "more-than-one-server",
        fix: "Keep orders and payments in a database, mark an order paid by one conditional statement, and let the timer read what is open after a start.",
        run: |check| Box::pin(settling::paid_across_restart(check)),
    },
    Rule {
        id: "open_payment_keeps_price",
        title: "An open payment keeps its price or is canceled, and the next takes today's",
        needs: &[REPRICE],
        guide: "declines-and-the-next-reference",
        fix: "Store the body of each payment and compare the service's reply with that, not with the catalogue. Read the catalogue when the next reference is created.",
        run: |check| Box::pin(next::open_payment_keeps_price(check)),
    },
    Rule {
        id: "books_stay_true",
        title: "What the books said of an order they still say at the end of the check",
        needs: &[ORDERS],
        guide: "settle-every-few-seconds",
        fix: FIX_ONCE,
        run: |check| Box::pin(settling::books_stay_true(check)),
    },
];

const FIX_COMPARE: &str = "Before an order is marked paid, compare id, reference, amount, currency and the customer's e-mail of the payment that \
                           was read with those that are stored, as whole texts: no conversion to numbers, no prefix, no default.";
const FIX_ONCE: &str = "Mark the order by one conditional statement that stores which reference paid it (UPDATE orders SET paid_by = :reference \
                        WHERE id = :order AND paid_by IS NULL). If it changed no row and paid_by is another reference, a refund is due. \
                        Let a job ship what is paid and not shipped yet, because the process may be killed in between.";
const FIX_REFUND: &str = "Look at duplicate_payments at every reading, also of a paid order. Read a final payment with declined attempts every \
                          minute for 24 hours, and store each entry by payment and attempt under a unique key.";
const FIX_ERROR: &str = "Answer {\"status_code\", \"response_type\": \"error\", \"message\", \"data\": null, \"error\": {\"type\", \"code\", \"errors\": [], \
                         \"request_id\", \"retryable\"}} with 502 or 503. A 401 of the service is about your key: a 401 to the page would say that nobody is signed in.";
