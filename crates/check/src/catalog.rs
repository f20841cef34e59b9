//! The rules of a safe shop, in words. What each does is the function of its name in `rules`.

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
    /// Of these options, those without which it does not begin, each with what for.
    pub(crate) begins_with: &'static [(&'static str, &'static str)],
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

/// All rules, in the order in which they are checked.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(_, rules)| *rules)
}

pub(crate) const LOGIN: &str = "--login";
pub(crate) const TWO_LOGINS: &str = "--login, twice";
pub(crate) const ORDERS: &str = "--orders";
pub(crate) const RESTART: &str = "--restart";
pub(crate) const PATTERN: &str = "--order-pattern";
pub(crate) const REPRICE: &str = "--reprice";
pub(crate) const LOG: &str = "--log";

/// Declares rules: the name, the heading of the guide, what it promises, the options that it needs (with what for, if
/// it does not begin without), and the remedy.
macro_rules! rules {
    (
        $($id:ident in $guide:literal:
            $title:literal,
            $(needs $($option:ident $(= $why:literal)?)+,)?
            fix $fix:expr;)*
    ) => {
        &[$(Rule {
            id: stringify!($id),
            title: $title,
            needs: &[$($($option),+)?],
            guide: $guide,
            fix: $fix,
            begins_with: &[$($($(($option, $why),)?)+)?],
        }),*]
    };
}

/// The groups, in the order in which they are checked: the forged orders are those that the shop has not seen, and the
/// secrets are looked for in all that the shop has answered.
const GROUPS: [(&str, &[Rule]); 7] = [
    ("forged", OF_FORGED),
    ("orders", OF_ORDERS),
    ("sessions", OF_SESSIONS),
    ("strangers", OF_STRANGERS),
    ("origins", OF_ORIGINS),
    ("payments", OF_PAYMENTS),
    ("secrets", OF_SECRETS),
];

const OF_FORGED: &[Rule] = rules! {
    forged_price_is_ignored in "post-guichetintents":
        "The price is the server's, whatever prices and discounts the page sends with a new order",
        fix FIX_OWN_DATA;
    forged_quantity_is_refused in "post-guichetintents":
        "No quantity that the page sends makes an order cheaper: negative, zero, fractional or huge",
        fix "If the page names quantities, accept whole numbers from 1 to a limit of yours, and refuse all others \
             with 422.";
    forged_currency_is_ignored in "post-guichetintents":
        "The currency is the server's, whatever the page sends with a new order",
        fix FIX_OWN_DATA;
    forged_customer_is_ignored in "post-guichetintents":
        "The customer is the one who is signed in, whatever the page sends with a new order",
        needs LOGIN = "without it nobody knows whose order it is.",
        fix "Take the customer's id from your own login alone: not from the body, the query, a header or an unsigned \
             cookie.";
    forged_reference_is_ignored in "post-guichetintents":
        "The reference is the server's, and the page gets no payment but that of its order",
        fix FIX_OWN_DATA;
    forged_address_is_ignored in "post-guichetintents":
        "redirect_url is the server's, whatever addresses the page sends with a new order",
        fix "Build redirect_url from an address in your settings: otherwise any page can send your customers to \
             another site.";
    forged_host_is_ignored in "post-guichetintents":
        "redirect_url does not follow Host, X-Forwarded-Host or another header",
        fix "Build redirect_url from an address in your settings, and not from the request's headers.";
    forged_terms_are_ignored in "post-guichetintents":
        "fee_bearer, payment methods, description and all other fields of a payment are the server's",
        fix "Send the service only fields that you have written down one by one: never what the page sent, merged \
             into them.";
};

const OF_ORDERS: &[Rule] = rules! {
    order_becomes_payment in "post-guichetintents":
        "An order becomes a payment with all that the page needs",
        fix "Answer POST /intents with {\"intent\": {id, checkout_url, payment_ref, merchant_reference, status}, \
             \"return_nonce\"}, from the reply to the create call.";
    same_order_same_payment in "post-guichetintents":
        "The same order twice is one payment",
        fix "Send the same merchant_reference and the same body each time for one order: no time, no random text in \
             it.";
    same_payment_after_restart in "what-to-store":
        "The same order is the same payment after a restart",
        needs RESTART = "a command that restarts the shop.",
        fix "Derive merchant_reference and return_nonce from stored data and a key that outlives the process.";
    return_nonce_agrees in "guichet_return-how-the-page-recognizes-its-own-return":
        "return_nonce is the guichet_return of redirect_url, and the same each time",
        fix "Derive 22 characters of [0-9A-Za-z] from the reference (an HMAC). Append guichet_return=<nonce> to \
             redirect_url, and answer the same text as return_nonce. Otherwise a popup never closes.";
    return_nonce_cannot_be_guessed in "guichet_return-how-the-page-recognizes-its-own-return":
        "return_nonce is no hash of what others know, no number that is counted on, and no padded text",
        fix "Store 22 random hexadecimal digits with the payment, or take them from an HMAC of the reference under a \
             key that only the server has.";
};

const OF_SESSIONS: &[Rule] = rules! {
    session_needs_login in "post-guichetsession":
        "Only a customer who is signed in gets a session; all others get 401, 403 or 419",
        needs LOGIN,
        fix "Answer POST /session with 401 unless your own login knows the customer, and create the session for that \
             customer's e-mail.";
    session_is_of_login in "post-guichetsession":
        "A session is for the e-mail of the customer who is signed in, whatever the page sends",
        needs LOGIN = "it signs the customer in.",
        fix "Create the session for the e-mail that your own data has of the customer of the login. Read no e-mail \
             and no id from the request.";
    sessions_are_apart in "post-guichetsession":
        "Two customers, one after the other and at once, get sessions of their own",
        needs TWO_LOGINS = "it signs in another customer.",
        fix "Keep the customer and the session of a request in variables of that request, and what you keep by the \
             customer's id.";
    login_is_guarded in "whose-payment-it-is":
        "The login's cookie is random, HttpOnly, SameSite, Secure under https, and new at each sign-in",
        needs LOGIN = "it signs the customer in.",
        fix "Set the login's cookie with HttpOnly, SameSite=Lax and (under https) Secure, to a new random text at \
             each sign-in.";
    sign_out_ends_login in "whose-payment-it-is":
        "If the shop has an address to sign out, its use ends the login on the server",
        needs LOGIN = "it signs the customer in.",
        fix "Delete the login on the server when the customer signs out: the cookie may be kept elsewhere.";
    sign_out_ends_sessions in "whose-payment-it-is":
        "If the shop has an address to sign out, the service accepts no session token of the login afterwards",
        needs LOGIN = "it signs the customer in.",
        fix "Keep each session token with the login that it was given to, and send POST /v1/sessions/revoke with each \
             when the customer signs out.";
};

const OF_STRANGERS: &[Rule] = rules! {
    stranger_gets_nothing in "whose-payment-it-is":
        "Without a login nobody orders or reads a payment; where guests may buy (--guests), none but their own",
        needs LOGIN,
        fix "Answer 401 on all three routes if nobody is signed in. If guests may buy, a payment belongs to the login \
             of the guest.";
    other_customer_sees_nothing in "get-guichetintentspayment_ref":
        "Another customer's payment is answered like an unknown one: 404",
        needs TWO_LOGINS,
        fix "Look up a payment by its reference and the signed-in customer together, and answer 404 if there is none.";
};

const OF_ORIGINS: &[Rule] = rules! {
    foreign_origin_refused in "refuse-other-sites-requests-csrf":
        "A request with another site's Origin is refused, also if it only looks like the shop's",
        fix FIX_ORIGIN;
    null_origin_refused in "refuse-other-sites-requests-csrf":
        "A request with the Origin null is refused",
        fix FIX_ORIGIN;
    same_site_refused in "refuse-other-sites-requests-csrf":
        "A request from another origin of the same site is refused",
        fix FIX_SITE;
    cross_site_refused in "refuse-other-sites-requests-csrf":
        "A request from another site is refused by Sec-Fetch-Site",
        fix FIX_SITE;
    text_plain_refused in "refuse-other-sites-requests-csrf":
        "A body of text/plain, or of another type that needs no permission across sites, is refused",
        fix "Accept application/json only, and answer 415 otherwise: a page of another site sends text/plain without \
             asking.";
    foreign_form_refused in "refuse-other-sites-requests-csrf":
        "A form of another site is refused; one of the shop may answer 303 to checkout_url",
        fix "Check Origin and Sec-Fetch-Site before the body is read, also for forms, or accept JSON only.";
    other_methods_do_nothing in "refuse-other-sites-requests-csrf":
        "Sessions and payments are created by POST alone: a link and an image send GET with the cookie",
        fix "Route POST /session, POST /intents and GET /intents/{payment_ref} alone, and answer 404 or 405 to all \
             other methods.";
    cors_for_own_page in "refuse-other-sites-requests-csrf":
        "No other site may read an answer; a page on another origin (--page-origin) may, with the cookie",
        fix "Answer Access-Control-Allow-Origin with the one origin of your page and \
             Access-Control-Allow-Credentials: true, also to the preflight. Never answer with * or with whatever \
             Origin was sent.";
};

/// The first rule about late approvals comes early: it makes the payments of all of them, and the shop reads the final
/// ones once a minute, while other rules are checked. Rules that pay an order come late, since a paid order is used up.
const OF_PAYMENTS: &[Rule] = rules! {
    refusing_service in "errors":
        "If the service refuses, the page gets an error in the service's shape and no wrong status",
        fix FIX_ERROR;
    unreadable_service in "errors":
        "If the service's reply is no JSON, the page gets an error in the service's shape",
        fix FIX_ERROR;
    slow_service in "errors":
        "If the service does not answer, the page gets an error in time",
        fix "Give each call to the service a timeout of at most 30 seconds, and answer 503 with an error in the \
             service's shape.";
    redirect_is_not_followed in "calls-to-the-service":
        "If the service redirects a call to another origin, the secret key does not go there",
        fix "Turn redirects off in the HTTP client that calls the service (redirect: \"manual\", \
             CURLOPT_FOLLOWLOCATION false), and treat a redirect as a call that failed.";
    late_approval_pays in "late-and-double-approvals":
        "A late approval that makes the payment succeeded marks the order paid",
        needs ORDERS = "only the shop's books say what became of a late approval.",
        fix "Go on reading a payment after a declined attempt, until its status is final: last_payment_error is no \
             end.";
    wrong_amount_pays_nothing in "get-guichetintentspayment_ref":
        "A payment of another amount pays no order",
        needs ORDERS,
        fix FIX_COMPARE;
    wrong_currency_pays_nothing in "get-guichetintentspayment_ref":
        "A payment in another currency pays no order",
        needs ORDERS,
        fix FIX_COMPARE;
    wrong_reference_pays_nothing in "get-guichetintentspayment_ref":
        "A payment with another reference pays no order",
        needs ORDERS,
        fix FIX_COMPARE;
    wrong_id_pays_nothing in "get-guichetintentspayment_ref":
        "A reply about another payment pays no order",
        needs ORDERS,
        fix FIX_COMPARE;
    wrong_owner_pays_nothing in "get-guichetintentspayment_ref":
        "A payment of another customer pays no order",
        needs ORDERS,
        fix FIX_COMPARE;
    only_succeeded_pays in "settle-every-few-seconds":
        "Only the status succeeded, in a reply that is no error, pays an order",
        needs ORDERS,
        fix "Mark the order paid if the HTTP status is 2xx and the status is the text succeeded, and in no other case.";
    unknown_status_is_read_on in "settle-every-few-seconds":
        "A status that the guide does not name is not final",
        fix "Name the three final statuses (succeeded, failed, canceled), and go on reading a payment with any other.";
    return_page_pays_nothing in "what-happens-in-a-purchase":
        "The return address pays no order, whatever is in it and whoever opens it",
        needs ORDERS,
        fix "Let the return page ask GET /intents/{payment_ref}, which reads the payment with the key. Do nothing \
             because of a parameter.";
    approvable_until_is_handed_on in "get-guichetintentspayment_ref":
        "The page is told the true status, and until when a declined attempt may still be approved",
        fix "Answer with the status of the service's reply, its approvable_until, and its last_payment_error with the \
             approvable_until in it.";
    failed_read_is_no_decline in "errors":
        "A service that cannot be reached is no failed payment",
        fix "Change nothing if a call to the service fails: no status, no next reference. Read the payment again in a \
             few seconds.";
    decline_gets_next_reference in "declines-and-the-next-reference":
        "After a final decline or a cancellation the order gets the next reference, once",
        fix "When a payment is read as failed or canceled, give the order its next merchant_reference (ORDER-17-1), \
             so that the next POST /intents creates another payment. Store the number of each payment, and count its \
             decline once.";
    second_reference_only_after_end in "declines-and-the-next-reference":
        "An order gets no second payment while the first one can still be paid, or once it is paid",
        fix "Create the next reference only once a payment was read as failed or canceled: not while it is \
             processing, and not after an attempt that was declined. A paid order keeps its reference.";
    lost_reply_same_payment in "what-to-store":
        "If the reply to the creation is lost, the order is the same payment the next time",
        fix "Store the reference and the whole body before you send it, and send what is stored again.";
    same_order_at_once in "post-guichetintents":
        "The same order several times at once is one payment",
        fix "Derive merchant_reference from the order, and insert the payment by one statement with a unique key.";
    open_payments_have_a_limit in "post-guichetintents":
        "A customer has at most 20 open payments",
        needs PATTERN = "it takes 21 orders.",
        fix "Count the customer's payments that are not final and insert the next one in one statement, and answer \
             409 too_many_open_payments for the 21st. Repeat one that exists all the same.";
    paid_without_return in "settle-every-few-seconds":
        "A customer who pays and never comes back is settled once, without a request of a browser",
        fix "Read each open payment with the key every few seconds by a timer, or by a command that cron runs \
             (--settle).";
    paid_once in "settle-every-few-seconds":
        "Answers at the same time mark the order paid once",
        needs ORDERS = "only the shop's books say how often it was marked.",
        fix FIX_ONCE;
    failing_read_delays_none in "settle-every-few-seconds":
        "A payment whose read fails keeps no other one from being settled",
        needs ORDERS = "only the shop's books say which orders are paid."
              PATTERN = "each of these payments needs an order of its own.",
        fix "Catch the error of each payment where it is read, and go on with the next one.";
    duplicate_is_refunded in "late-and-double-approvals":
        "Each late approval in duplicate_payments is a refund that is due, once",
        needs ORDERS = "only the shop's books say what became of a late approval.",
        fix FIX_REFUND;
    late_approval_after_end_is_refunded in "late-and-double-approvals":
        "A late approval of a payment that failed, was canceled or was replaced is a refund that is due, once",
        needs ORDERS = "only the shop's books say that a refund is due."
              PATTERN = "each of these payments needs an order of its own.",
        fix FIX_REFUND;
    refund_has_fee in "late-and-double-approvals":
        "A refund that is due is the amount that the customer paid, with the fee",
        needs ORDERS = "only the shop's books say how much is paid back.",
        fix "Store the amount of the entry of duplicate_payments; if a second payment of the order has succeeded, its \
             amount_payable.";
    paid_order_is_not_sold_again in "declines-and-the-next-reference":
        "If a payment that was reported as failed succeeds later, its order gets no other payment",
        needs PATTERN = "each of these payments needs an order of its own.",
        fix "Look first at what paid the order: if anything did, repeat that payment, also if the order has a later \
             one that is open.";
    paid_across_restart in "more-than-one-server":
        "A payment that was made around a restart pays its order once",
        needs ORDERS = "only the shop's books say what became of the order."
              RESTART = "a command that restarts the shop.",
        fix "Keep orders and payments in a database, mark an order paid by one conditional statement, and let the \
             timer read what is open after a start.";
    open_payment_keeps_price in "declines-and-the-next-reference":
        "An open payment keeps its price or is canceled, and the next takes today's",
        needs REPRICE = "a command that changes a price.",
        fix "Store the body of each payment and compare the service's reply with that, not with the catalogue. Read \
             the catalogue when the next reference is created.";
    books_stay_true in "settle-every-few-seconds":
        "What the books said of an order they still say at the end of the check",
        needs ORDERS = "only the shop's books say what became of the payments.",
        fix FIX_ONCE;
};

const OF_SECRETS: &[Rule] = rules! {
    token_in_no_url in "post-guichetsession":
        "A session token is in no address, redirect or referrer",
        needs LOGIN,
        fix "Send the token in the body of the answer to POST /session alone.";
    secrets_where_needed in "post-guichetintents":
        "A session token is in the answer to POST /session alone, and a client secret in checkout_url alone",
        fix "Answer with the fields that the page needs, one by one: no client_secret, no checkout_url beside a \
             status, no token in a page, a cookie or a payment's fields.";
    answers_are_not_stored in "the-three-routes":
        "No cache stores an answer of the three routes",
        fix "Answer with Cache-Control: no-store on all three routes.";
    key_in_no_answer in "calls-to-the-service":
        "The secret key is in no answer of the shop and in no file that anyone can load, encoded or not",
        fix "Keep the key on the server: in no page, script, header or error. Then replace it, since it is known now.";
    secrets_are_not_logged in "what-to-monitor":
        "The shop's log has no secret key, session token or client secret",
        needs LOG = "the file to which the shop writes its log.",
        fix "Log the request_id and the code of an error, and no header, body or address of a call.";
};

const FIX_OWN_DATA: &str = "Take only the order's id from the page. Read price, currency and reference from your own \
     data, and the customer from the login.";
const FIX_ORIGIN: &str = "Refuse a request whose Origin is not your own with 403, on all three routes: compare the \
     whole text, and null is not your own either.";
const FIX_SITE: &str = "Refuse a request whose Sec-Fetch-Site is neither same-origin nor none with 403, on all three \
     routes.";
const FIX_COMPARE: &str = "Before an order is marked paid, compare id, reference, amount, currency and the customer's \
     e-mail of the payment that was read with those that are stored, as whole texts: no conversion to numbers, no \
     prefix, no default.";
const FIX_ONCE: &str = "Mark the order by one conditional statement that stores which reference paid it (UPDATE \
     orders SET paid_by = :reference WHERE id = :order AND paid_by IS NULL). If it changed no row and paid_by is \
     another reference, a refund is due. Let a job ship what is paid and not shipped yet, because the process may be \
     killed in between.";
const FIX_REFUND: &str = "Look at duplicate_payments at every reading, also of a paid order. Read a final payment \
     with declined attempts every minute for 24 hours, and store each entry by payment and attempt under a unique \
     key.";
const FIX_ERROR: &str = "Answer {\"status_code\", \"response_type\": \"error\", \"message\", \"data\": null, \
     \"error\": {\"type\", \"code\", \"errors\": [], \"request_id\", \"retryable\"}} with 502 or 503. A 401 of the \
     service is about your key: a 401 to the page would say that nobody is signed in.";
