//! A small shop, written by hand as a merchant would, which can be broken in exactly one point.
#![allow(clippy::result_large_err, reason = "an error is the response of a handler")]

use super::money::Money;
use crate::support::port;
use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::native::reqwest;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::task::JoinSet;

/// The orders of the customer awa.
pub const ORDERS: [&str; 6] = ["17", "18", "19", "20", "21", "22"];
const PRICE: &str = "45000";
/// Stands for the attempt of a refund of a whole payment.
const WHOLE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Broken {
    Nothing,
    /// Nothing: its login is a pair of cookies, of which one is enough.
    Pair,
    /// Nothing: its timer sends what is stored again.
    SendsAgain,
    /// Nothing: it sells in the currency that the lies tell first.
    SellsInUgx,
    /// Nothing: a request needs the token of a cookie as well, in the header X-CSRF-Token.
    NeedsCsrfToken,
    /// Nothing: its first order is marked, and a restart loses the line in its books.
    LosesLineAtRestart,
    /// Needs the token, and compares no origin.
    NeedsCsrfTokenAlone,
    /// Sells in UGX, unless the page names another currency.
    SellsInUgxOrPagesCurrency,
    OmitsCheckoutUrl,
    GivesStrangersSessions,
    PutsTokenIntoAddress,
    TakesPriceFromPage,
    MakesNewReferenceEachTime,
    ForgetsNonceAtRestart,
    AnswersAnotherNonce,
    ShowsPaymentsToAll,
    TrustsOrigins,
    TrustsNull,
    TrustsSameSite,
    TrustsCrossSite,
    TakesTextPlain,
    TrustsForms,
    HandsRefusalsOn,
    BreaksOnHtml,
    WaitsForEver,
    IgnoresAmount,
    IgnoresCurrency,
    IgnoresReference,
    IgnoresOwner,
    KeepsDeclinedReference,
    NoTimer,
    MarksTwice,
    GivesUpDeclined,
    IgnoresDuplicates,
    ShowsKey,
    Money(Money),
    // What the page sends with an order.
    TakesNestedPrice,
    TakesPriceFromQuery,
    TakesCheaperPrice,
    SubtractsDiscount,
    AddsTip,
    MultipliesQuantity,
    ParsesQuantity,
    WrapsQuantity,
    TakesCurrency,
    TakesNestedCurrency,
    TakesCurrencyFromQuery,
    TakesEmail,
    TakesOwnerFromHeader,
    TakesOwnerFromCookie,
    TakesFirstname,
    TakesReference,
    TakesNestedReference,
    GivesNamedPayment,
    TakesRedirectUrl,
    TakesReturnAddressByPrefix,
    TakesNextPath,
    FollowsHost,
    FollowsForwardedHost,
    FollowsReferer,
    MergesFields,
    TakesFeeBearer,
    TakesMethodTypes,
    MarksPaidByPage,
    TakesPriceOnRepeat,
    TakesDescriptionOnRepeat,
    TakesFeeBearerOnRepeat,
    // Sessions and logins.
    GivesSessionOfLast,
    OmitsEnd,
    SessionForEmailInBody,
    SessionForCustomerInQuery,
    SessionForUserInHeader,
    SessionForCookie,
    SharesSession,
    SessionForOneEmail,
    MixesCustomersAtOnce,
    LoginForScripts,
    LoginForOtherSites,
    LoginIsGuessable,
    KeepsGivenLogin,
    ForgetsCookieOnly,
    SignsOutOfSessionsOnly,
    IgnoresSignOutForGet,
    LeavesSessionsAtSignOut,
    EndsNewestSessionAlone,
    // Strangers and other customers.
    SellsToStrangers,
    ShowsStatusToStrangers,
    ShowsStatusByOrder,
    ShowsPaymentsByIntent,
    SellsOrdersOfOthers,
    TrustsOwnerInQuery,
    // Other sites.
    TrustsPrefix,
    TrustsSuffix,
    TrustsAnyPort,
    TrustsOwnNameAnywhere,
    TrustsNullForReads,
    TrustsNullForSessions,
    TrustsSameSiteReads,
    TrustsSameSiteSessions,
    TrustsCrossSiteReads,
    TrustsCrossSiteSessions,
    RefusesAfterCreation,
    TakesTextThatNamesJson,
    TakesMultipart,
    TrustsFormsWithoutSite,
    TrustsFormsOfAnyOrigin,
    SessionByGet,
    IntentByGet,
    IntentByPut,
    AnswersAnyOrigin,
    AnswersNullOrigin,
    AnswersOriginsBySuffix,
    // Secrets.
    PutsTokenIntoRedirectUrl,
    PutsTokenIntoLink,
    ShowsClientSecret,
    ShowsCheckoutUrlInStatus,
    KeepsTokenInCookie,
    StoresSession,
    StoresStatus,
    StoresIntentsPublicly,
    ShowsKeyInScript,
    ShowsKeyInMap,
    ServesEnvironment,
    ShowsKeyInError,
    LogsKey,
    LogsTokens,
    LogsCheckoutUrl,
    // By another person.
    AnswersWithoutEnvelope,
    OmitsPaymentRef,
    RefusesRepeat,
    NumbersEachDescription,
    NamesReferenceByStart,
    ForgetsOrdersAtRestart,
    ShortensNonce,
    ReturnsWithoutNonce,
    AnswersTextOnRefusal,
    TellsSignedOutForRefusedKey,
    RedirectsOnHtml,
    HandsHtmlOn,
    WaitsForReads,
    NextReferenceAfterTimeout,
    TakesPriceFromCookie,
    TakesPriceFromHeader,
    NewReferenceForRetry,
    HandsOutForeignSession,
    StrangerNamesCustomer,
    StrangerNamesOwner,
    ListsPayments,
    LoginIsConstant,
    LoginIsTime,
    LoginNamesCustomer,
    PairForScripts,
    SignOutDoesNothing,
    TakesForeignMultipart,
    MethodByQuery,
    ShowsKeyInSettings,
    PutsTokenIntoRefresh,
    ChecksOriginOfOrdersAlone,
    TrustsNullForOrders,
    TrustsSameSiteOrders,
    ChecksSiteBesideOriginAlone,
    TakesTextWithCharset,
    CountsNonces,
    PutsKeyIntoDescription,
    ListsPaymentsForAdministrators,
    RevokesSessionsWithKey,
    HashesReference,
    HashesOrderAndCustomer,
    PadsReference,
    FollowsRedirects,
    FollowsRedirectsOfReads,
    MovesWithRedirect,
}

impl Broken {
    /// Each defect, and the rule that it breaks.
    pub fn each() -> impl Iterator<Item = (Self, &'static str)> {
        let money = Money::EACH.iter().map(|(money, rule)| (Self::Money(*money), *rule));
        Self::EACH.iter().chain(Self::REQUESTS).chain(Self::OTHERS).copied().chain(money)
    }

    const EACH: [(Self, &'static str); 26] = [
        (Self::OmitsCheckoutUrl, "order_becomes_payment"),
        (Self::GivesStrangersSessions, "session_needs_login"),
        (Self::PutsTokenIntoAddress, "token_in_no_url"),
        (Self::MakesNewReferenceEachTime, "same_order_same_payment"),
        (Self::ForgetsNonceAtRestart, "same_payment_after_restart"),
        (Self::AnswersAnotherNonce, "return_nonce_agrees"),
        (Self::ShowsPaymentsToAll, "other_customer_sees_nothing"),
        (Self::TrustsOrigins, "foreign_origin_refused"),
        (Self::TrustsNull, "null_origin_refused"),
        (Self::TrustsSameSite, "same_site_refused"),
        (Self::TrustsCrossSite, "cross_site_refused"),
        (Self::TakesTextPlain, "text_plain_refused"),
        (Self::TrustsForms, "foreign_form_refused"),
        (Self::HandsRefusalsOn, "refusing_service"),
        (Self::BreaksOnHtml, "unreadable_service"),
        (Self::WaitsForEver, "slow_service"),
        (Self::IgnoresAmount, "wrong_amount_pays_nothing"),
        (Self::IgnoresCurrency, "wrong_currency_pays_nothing"),
        (Self::IgnoresReference, "wrong_reference_pays_nothing"),
        (Self::IgnoresOwner, "wrong_owner_pays_nothing"),
        (Self::KeepsDeclinedReference, "decline_gets_next_reference"),
        (Self::NoTimer, "paid_without_return"),
        (Self::MarksTwice, "paid_once"),
        (Self::GivesUpDeclined, "late_approval_pays"),
        (Self::IgnoresDuplicates, "duplicate_is_refunded"),
        (Self::ShowsKey, "key_in_no_answer"),
    ];

    /// Further defects in what a shop does with requests.
    pub const REQUESTS: &[(Self, &'static str)] = &[
        (Self::TakesPriceFromPage, "forged_price_is_ignored"),
        (Self::TakesNestedPrice, "forged_price_is_ignored"),
        (Self::TakesPriceFromQuery, "forged_price_is_ignored"),
        (Self::TakesCheaperPrice, "forged_price_is_ignored"),
        (Self::SubtractsDiscount, "forged_price_is_ignored"),
        (Self::AddsTip, "forged_price_is_ignored"),
        (Self::MultipliesQuantity, "forged_quantity_is_refused"),
        (Self::ParsesQuantity, "forged_quantity_is_refused"),
        (Self::WrapsQuantity, "forged_quantity_is_refused"),
        (Self::TakesCurrency, "forged_currency_is_ignored"),
        (Self::TakesNestedCurrency, "forged_currency_is_ignored"),
        (Self::TakesCurrencyFromQuery, "forged_currency_is_ignored"),
        (Self::TakesEmail, "forged_customer_is_ignored"),
        (Self::TakesOwnerFromHeader, "forged_customer_is_ignored"),
        (Self::TakesOwnerFromCookie, "forged_customer_is_ignored"),
        (Self::TakesFirstname, "forged_customer_is_ignored"),
        (Self::TakesReference, "forged_reference_is_ignored"),
        (Self::TakesNestedReference, "forged_reference_is_ignored"),
        (Self::GivesNamedPayment, "forged_reference_is_ignored"),
        (Self::TakesRedirectUrl, "forged_address_is_ignored"),
        (Self::TakesReturnAddressByPrefix, "forged_address_is_ignored"),
        (Self::TakesNextPath, "forged_address_is_ignored"),
        (Self::FollowsHost, "forged_host_is_ignored"),
        (Self::FollowsForwardedHost, "forged_host_is_ignored"),
        (Self::FollowsReferer, "forged_host_is_ignored"),
        (Self::MergesFields, "forged_terms_are_ignored"),
        (Self::TakesFeeBearer, "forged_terms_are_ignored"),
        (Self::TakesMethodTypes, "forged_terms_are_ignored"),
        (Self::MarksPaidByPage, "forged_terms_are_ignored"),
        (Self::TakesPriceOnRepeat, "forged_price_is_ignored"),
        (Self::TakesDescriptionOnRepeat, "forged_terms_are_ignored"),
        (Self::TakesFeeBearerOnRepeat, "forged_terms_are_ignored"),
        (Self::GivesSessionOfLast, "session_needs_login"),
        (Self::OmitsEnd, "session_needs_login"),
        (Self::SessionForEmailInBody, "session_is_of_login"),
        (Self::SessionForCustomerInQuery, "session_is_of_login"),
        (Self::SessionForUserInHeader, "session_is_of_login"),
        (Self::SessionForCookie, "session_is_of_login"),
        (Self::SharesSession, "sessions_are_apart"),
        (Self::SessionForOneEmail, "sessions_are_apart"),
        (Self::MixesCustomersAtOnce, "sessions_are_apart"),
        (Self::LoginForScripts, "login_is_guarded"),
        (Self::LoginForOtherSites, "login_is_guarded"),
        (Self::LoginIsGuessable, "login_is_guarded"),
        (Self::KeepsGivenLogin, "login_is_guarded"),
        (Self::ForgetsCookieOnly, "sign_out_ends_login"),
        (Self::SignsOutOfSessionsOnly, "sign_out_ends_login"),
        (Self::IgnoresSignOutForGet, "sign_out_ends_login"),
        (Self::LeavesSessionsAtSignOut, "sign_out_ends_sessions"),
        (Self::EndsNewestSessionAlone, "sign_out_ends_sessions"),
        (Self::HashesOrderAndCustomer, "return_nonce_cannot_be_guessed"),
        (Self::PadsReference, "return_nonce_cannot_be_guessed"),
        (Self::FollowsRedirects, "redirect_is_not_followed"),
        (Self::FollowsRedirectsOfReads, "redirect_is_not_followed"),
        (Self::SellsToStrangers, "stranger_gets_nothing"),
        (Self::ShowsStatusToStrangers, "stranger_gets_nothing"),
        (Self::ShowsStatusByOrder, "stranger_gets_nothing"),
        (Self::ShowsPaymentsByIntent, "other_customer_sees_nothing"),
        (Self::SellsOrdersOfOthers, "other_customer_sees_nothing"),
        (Self::TrustsOwnerInQuery, "other_customer_sees_nothing"),
        (Self::TrustsPrefix, "foreign_origin_refused"),
        (Self::TrustsSuffix, "foreign_origin_refused"),
        (Self::TrustsAnyPort, "foreign_origin_refused"),
        (Self::TrustsOwnNameAnywhere, "foreign_origin_refused"),
        (Self::RefusesAfterCreation, "foreign_origin_refused"),
        (Self::TrustsNullForReads, "null_origin_refused"),
        (Self::TrustsNullForSessions, "null_origin_refused"),
        (Self::TrustsSameSiteReads, "same_site_refused"),
        (Self::TrustsSameSiteSessions, "same_site_refused"),
        (Self::TrustsCrossSiteReads, "cross_site_refused"),
        (Self::TrustsCrossSiteSessions, "cross_site_refused"),
        (Self::TakesTextThatNamesJson, "text_plain_refused"),
        (Self::TakesMultipart, "text_plain_refused"),
        (Self::TrustsFormsWithoutSite, "foreign_form_refused"),
        (Self::TrustsFormsOfAnyOrigin, "foreign_form_refused"),
        (Self::SessionByGet, "other_methods_do_nothing"),
        (Self::IntentByGet, "other_methods_do_nothing"),
        (Self::IntentByPut, "other_methods_do_nothing"),
        (Self::AnswersAnyOrigin, "cors_for_own_page"),
        (Self::AnswersNullOrigin, "cors_for_own_page"),
        (Self::AnswersOriginsBySuffix, "cors_for_own_page"),
        (Self::PutsTokenIntoRedirectUrl, "token_in_no_url"),
        (Self::PutsTokenIntoLink, "token_in_no_url"),
        (Self::ShowsClientSecret, "secrets_where_needed"),
        (Self::ShowsCheckoutUrlInStatus, "secrets_where_needed"),
        (Self::KeepsTokenInCookie, "secrets_where_needed"),
        (Self::StoresSession, "answers_are_not_stored"),
        (Self::StoresStatus, "answers_are_not_stored"),
        (Self::StoresIntentsPublicly, "answers_are_not_stored"),
        (Self::ShowsKeyInScript, "key_in_no_answer"),
        (Self::ShowsKeyInMap, "key_in_no_answer"),
        (Self::ServesEnvironment, "key_in_no_answer"),
        (Self::ShowsKeyInError, "key_in_no_answer"),
        (Self::LogsKey, "secrets_are_not_logged"),
        (Self::LogsTokens, "secrets_are_not_logged"),
        (Self::LogsCheckoutUrl, "secrets_are_not_logged"),
    ];

    /// Defects that another person made from `docs/shop.md` alone, without the rules.
    const OTHERS: &[(Self, &'static str)] = &[
        (Self::AnswersWithoutEnvelope, "order_becomes_payment"),
        (Self::OmitsPaymentRef, "order_becomes_payment"),
        (Self::RefusesRepeat, "same_order_same_payment"),
        (Self::NumbersEachDescription, "same_order_same_payment"),
        (Self::NamesReferenceByStart, "same_payment_after_restart"),
        (Self::ForgetsOrdersAtRestart, "same_payment_after_restart"),
        (Self::ShortensNonce, "return_nonce_agrees"),
        (Self::ReturnsWithoutNonce, "return_nonce_agrees"),
        (Self::AnswersTextOnRefusal, "refusing_service"),
        (Self::TellsSignedOutForRefusedKey, "refusing_service"),
        (Self::RedirectsOnHtml, "unreadable_service"),
        (Self::HandsHtmlOn, "unreadable_service"),
        (Self::WaitsForReads, "slow_service"),
        (Self::NextReferenceAfterTimeout, "slow_service"),
        (Self::TakesPriceFromCookie, "forged_price_is_ignored"),
        (Self::TakesPriceFromHeader, "forged_price_is_ignored"),
        (Self::NewReferenceForRetry, "forged_reference_is_ignored"),
        (Self::HandsOutForeignSession, "session_is_of_login"),
        (Self::StrangerNamesCustomer, "session_needs_login"),
        (Self::StrangerNamesOwner, "stranger_gets_nothing"),
        (Self::ListsPayments, "other_customer_sees_nothing"),
        (Self::LoginIsConstant, "login_is_guarded"),
        (Self::LoginIsTime, "login_is_guarded"),
        (Self::LoginNamesCustomer, "login_is_guarded"),
        (Self::PairForScripts, "login_is_guarded"),
        (Self::SignOutDoesNothing, "sign_out_ends_login"),
        (Self::TakesForeignMultipart, "foreign_form_refused"),
        (Self::MethodByQuery, "other_methods_do_nothing"),
        (Self::ShowsKeyInSettings, "key_in_no_answer"),
        (Self::PutsTokenIntoRefresh, "token_in_no_url"),
        (Self::ChecksOriginOfOrdersAlone, "foreign_origin_refused"),
        (Self::TrustsNullForOrders, "null_origin_refused"),
        (Self::TrustsSameSiteOrders, "same_site_refused"),
        (Self::ChecksSiteBesideOriginAlone, "cross_site_refused"),
        (Self::TakesTextWithCharset, "text_plain_refused"),
        (Self::CountsNonces, "return_nonce_cannot_be_guessed"),
        (Self::HashesReference, "return_nonce_cannot_be_guessed"),
        (Self::RevokesSessionsWithKey, "sign_out_ends_sessions"),
        (Self::MovesWithRedirect, "redirect_is_not_followed"),
        (Self::PutsKeyIntoDescription, "key_in_no_answer"),
        (Self::ListsPaymentsForAdministrators, "stranger_gets_nothing"),
    ];
}

/// A running shop.
pub struct ShopServer {
    pub url: String,
    /// The address at which its service must listen.
    pub service: String,
    /// What it did with each payment: a file named by its reference. The files `restart` and `settle` are requests of a
    /// command.
    pub folder: PathBuf,
    _folder: crate::support::folder::Folder,
    /// Ends the server when it is dropped, and with it the timer, which would go on asking a service that has ended.
    _serving: JoinSet<std::io::Result<()>>,
}

struct Server {
    broken: Broken,
    origin: String,
    service: String,
    key: String,
    folder: PathBuf,
    http: reqwest::Client,
    state: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    /// The customer of each login, by the cookie's value.
    logins: HashMap<String, String>,
    /// The token of the session that was created last.
    session: Option<Value>,
    /// The session tokens of each login.
    tokens: HashMap<String, Vec<String>>,
    /// The address of the service, once a redirect has named another one.
    moved_to: Option<String>,
    /// The customer of the request that came last.
    current: String,
    restarts: u32,
    created: u32,
    /// How often each order was declined for good.
    declined: HashMap<String, u32>,
    /// The body that is sent for each reference.
    bodies: HashMap<String, Value>,
    payments: HashMap<String, Payment>,
    /// The references whose payment has ended.
    ended: HashSet<String>,
    /// The references that are stored, and that the service did not confirm yet.
    unsent: HashSet<String>,
    timer_has_ended: bool,
}

impl Books {
    /// How many payments have not ended.
    fn open(&self) -> usize {
        self.bodies.keys().filter(|reference| !self.ended.contains(*reference)).count()
    }
}

#[derive(Clone)]
struct Payment {
    id: String,
    reference: String,
    order: String,
    declined: u32,
    paid: bool,
    given_up: bool,
    /// How many were created before it.
    place: usize,
    was_asked: bool,
    reads_since_paid: u32,
    /// Whether the timer and the page have seen that it is paid.
    knows: [bool; 2],
    refunds: Vec<u64>,
}

/// What is sent for an order.
struct Sale {
    declined: u32,
    reference: String,
    body: Value,
    nonce: String,
}

impl From<Money> for Broken {
    fn from(money: Money) -> Self {
        Self::Money(money)
    }
}

type Answer = Result<Response, Response>;

impl ShopServer {
    pub async fn open(name: &str, broken: Broken, key: &str) -> Self {
        let key = key.to_owned();
        let of = move |url: &str, service: &str, folder: PathBuf| router(broken, url, service, &key, folder);
        Self::serving(name, of).await
    }

    /// Serves the shop that is made of its own address, the service's, and a folder.
    pub async fn serving(name: &str, shop: impl FnOnce(&str, &str, PathBuf) -> Router) -> Self {
        let kept = crate::support::folder::Folder::new(name);
        let folder = kept.path.clone();
        let service = format!("127.0.0.1:{}", port::free());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = shop(&url, &format!("http://{service}"), folder.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await });
        Self { url, service, folder, _folder: kept, _serving: serving }
    }

    /// A command of the shell that requests a `restart`, or to `settle`, and waits until the shop has done it.
    pub fn command(&self, what: &str) -> String {
        let file = self.folder.join(what).display().to_string();
        format!(": > {file}; while [ -e {file} ]; do sleep 0.05; done")
    }
}

/// The shop as a value, with its timer.
pub fn router(broken: Broken, origin: &str, base_url: &str, key: &str, folder: PathBuf) -> Router {
    let timeout = Duration::from_secs(if broken == Broken::WaitsForEver { 3600 } else { 2 });
    let server = Arc::new(Server {
        broken,
        origin: origin.to_owned(),
        service: format!("{base_url}/v1"),
        key: key.to_owned(),
        folder,
        http: reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .build()
            .unwrap(),
        state: Mutex::default(),
    });
    tokio::spawn(keep_settling(Arc::downgrade(&server)));
    Router::new()
        .route("/", get(page))
        .route("/app.js", get(script))
        .route("/app.js.map", get(source_map))
        .route("/.env", get(environment))
        .route("/settings", get(settings))
        .route("/admin/payments", get(list))
        .route("/return", get(return_page).post(return_page))
        .route("/webhook", post(notification))
        .route("/login", post(login))
        .route("/logout", post(logout))
        .route("/guichet/session", post(session).get(session_by_get))
        .route("/guichet/intents", post(intents).get(intents_by_get).put(intents_by_put))
        .route("/guichet/intents/{payment_ref}", get(status))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&server), answer_preflights))
        .with_state(server)
}

/// The timer, until the shop is dropped.
async fn keep_settling(server: Weak<Server>) {
    while let Some(server) = server.upgrade() {
        server.settle_all().await;
        drop(server);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Server {
    /// A round of the timer. It also does what the commands `--restart` and `--settle` request.
    async fn settle_all(&self) {
        let requested = |name: &str| self.folder.join(name).exists();
        let settle = requested("settle");
        if settle || self.broken != Broken::NoTimer {
            let references = {
                let books = self.state.lock().unwrap();
                let mut payments: Vec<_> =
                    books.payments.iter().map(|(name, payment)| (payment.place, name.clone())).collect();
                payments.sort();
                if self.is(Money::SettlesYoungestAlone) {
                    payments.retain(|(_, name)| !books.ended.contains(&books.payments[name].reference));
                    payments.drain(..payments.len().saturating_sub(1));
                }
                if self.is(Money::EndsRoundAtUnsent) && !books.unsent.is_empty() {
                    payments.clear();
                }
                payments.into_iter().map(|(_, name)| name)
            };
            for payment_ref in references {
                let (ended, given_up) = {
                    let books = self.state.lock().unwrap();
                    let payment = &books.payments[&payment_ref];
                    (books.timer_has_ended, payment.given_up || (payment.was_asked && self.is(Money::ForgetsReturned)))
                };
                if ended || given_up {
                    continue;
                }
                if self.settle(&payment_ref, false).await.is_err() {
                    self.state.lock().unwrap().timer_has_ended = self.is(Money::TimerEndsAtError);
                    if self.is(Money::EndsRoundAtError) {
                        break;
                    }
                }
            }
        }
        if self.is(Broken::SendsAgain) {
            let stored = {
                let books = self.state.lock().unwrap();
                books
                    .bodies
                    .iter()
                    .filter(|(name, _)| !books.ended.contains(*name))
                    .map(|(_, body)| body.clone())
                    .collect::<Vec<_>>()
            };
            for body in stored {
                drop(self.call("POST", "/payment-intents", Some(body)).await);
            }
        }
        if settle {
            std::fs::remove_file(self.folder.join("settle")).unwrap();
        }
        if requested("restart") {
            let mut books = self.state.lock().unwrap();
            books.restarts += 1;
            if self.is(Money::ForgetsPaymentsAtRestart) {
                books.payments.clear();
            }
            if self.is(Money::MarksAgainAfterRestart) {
                books.payments.values_mut().for_each(|payment| payment.paid = false);
            }
            if self.is(Money::GivesUpOpenAtRestart) {
                books.payments.values_mut().for_each(|payment| payment.given_up = true);
            }
            if self.is(Broken::LosesLineAtRestart)
                && let Some(first) = books.payments.values_mut().min_by_key(|payment| payment.place)
            {
                first.paid = true;
                drop(std::fs::remove_file(self.folder.join(&first.reference)));
            }
            drop(books);
            std::fs::remove_file(self.folder.join("restart")).unwrap();
        }
    }
}

async fn page(State(server): State<Arc<Server>>) -> Response {
    let link = match &server.state.lock().unwrap().session {
        Some(session) if server.is(Broken::PutsTokenIntoLink) => {
            [("link", format!("</events?token={}>; rel=preload", session["data"]["session_token"].as_str().unwrap()))]
        }
        _ => [("link", "</app.js>; rel=preload".to_owned())],
    };
    ([("content-type", "text/html")], link, r#"<!doctype html><script type="module" src="/app.js"></script>"#)
        .into_response()
}

async fn script(State(server): State<Arc<Server>>) -> Response {
    let key = if server.is(Broken::ShowsKeyInScript) { base64(&format!("key: {}", server.key)) } else { String::new() };
    ([("content-type", "text/javascript")], format!("const shop = atob('{key}');")).into_response()
}

async fn source_map(State(server): State<Arc<Server>>) -> Response {
    let source = format!("// {}", server.key);
    match server.broken {
        Broken::ShowsKeyInMap => Json(json!({"sourcesContent": [source]})).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn environment(State(server): State<Arc<Server>>) -> Response {
    match server.broken {
        Broken::ServesEnvironment => format!("GUICHET_SECRET_KEY={}", server.key).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn settings(State(server): State<Arc<Server>>) -> Response {
    match server.broken {
        Broken::ShowsKeyInSettings => {
            Json(json!({"key": server.key.chars().rev().collect::<String>()})).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn list(State(server): State<Arc<Server>>) -> Response {
    match server.broken {
        Broken::ListsPaymentsForAdministrators => {
            let payments: Vec<String> = server.state.lock().unwrap().payments.keys().cloned().collect();
            Json(payments).into_response()
        }
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// What other payment services send. This one sends none.
async fn notification(State(server): State<Arc<Server>>, body: Bytes) -> StatusCode {
    let event: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reference = &event["data"]["object"]["merchant_reference"];
    if server.is(Money::PaysByNotification) && event["type"] == "payment_intent.succeeded" {
        server.mark_reference_paid(reference.as_str().unwrap_or_default());
    }
    StatusCode::NOT_FOUND
}

fn base64(text: &str) -> String {
    use guichet::native::reqwest::header::HeaderMap;
    // The value of Basic authentication is the base64 of a name, a colon and a password.
    let (name, password) = text.split_once(':').unwrap();
    let mut headers = HeaderMap::new();
    let request = reqwest::Client::new().get("http://localhost").basic_auth(name, Some(password)).build().unwrap();
    headers.extend(request.headers().clone());
    headers["authorization"].to_str().unwrap().trim_start_matches("Basic ").to_owned()
}

/// Stands for the shop's own login: it trusts any name.
async fn login(State(server): State<Arc<Server>>, headers: HeaderMap, body: String) -> Response {
    let name = if body.contains("awa") { "awa" } else { "paul" };
    let mut books = server.state.lock().unwrap();
    let token = match cookie(&headers, "login") {
        Some(given) if server.is(Broken::KeepsGivenLogin) => given,
        _ if server.is(Broken::LoginIsGuessable) => books.logins.len().to_string(),
        _ if server.is(Broken::LoginIsConstant) => nonce(name, 0),
        _ if server.is(Broken::LoginIsTime) => {
            std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros()).to_string()
        }
        _ if server.is(Broken::LoginNamesCustomer) => format!("{name}.{:016x}", random()),
        _ => format!("{:016x}{:016x}", random(), random()),
    };
    books.logins.insert(token.clone(), name.to_owned());
    let attributes = match server.broken {
        Broken::LoginForScripts | Broken::PairForScripts => "Path=/; SameSite=Lax",
        Broken::LoginForOtherSites => "Path=/; HttpOnly; SameSite=None",
        _ => "Path=/; HttpOnly; SameSite=Lax",
    };
    let mut response = ([("set-cookie", format!("login={token}; {attributes}"))], "Welcome").into_response();
    if matches!(server.broken, Broken::PairForScripts | Broken::Pair) {
        // One token stands for the other.
        let refresh = format!("{:016x}{:016x}", random(), random());
        books.logins.insert(refresh.clone(), name.to_owned());
        response.headers_mut().append("set-cookie", format!("refresh={refresh}; {attributes}").parse().unwrap());
    }
    if matches!(server.broken, Broken::NeedsCsrfToken | Broken::NeedsCsrfTokenAlone) {
        let csrf = format!("csrf={:016x}; Path=/; SameSite=Lax", random());
        response.headers_mut().append("set-cookie", csrf.parse().unwrap());
    }
    response
}

async fn logout(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    if server.is(Broken::SignOutDoesNothing) {
        return "Goodbye".into_response();
    }
    let token = cookie(&headers, "login").unwrap_or_default();
    let ended = server.state.lock().unwrap().tokens.remove(&token).unwrap_or_default();
    for session in ended.iter().filter(|_| !server.is(Broken::LeavesSessionsAtSignOut)) {
        let credential = if server.is(Broken::RevokesSessionsWithKey) { &server.key } else { session };
        drop(server.call_as(credential, "POST", "/sessions/revoke", None).await);
    }
    if !server.is(Broken::ForgetsCookieOnly) {
        let mut books = server.state.lock().unwrap();
        books.logins.remove(&cookie(&headers, "refresh").unwrap_or_default());
        let name = books.logins.remove(&token);
        if let Some(name) =
            name.filter(|_| server.is(Broken::SignsOutOfSessionsOnly) || server.is(Broken::IgnoresSignOutForGet))
        {
            books.logins.insert(format!("ended {token}"), name);
        }
    }
    [("set-cookie", "login=; Max-Age=0; Path=/")].into_response()
}

async fn session(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    server.refuse_other_sites(&headers, "session")?;
    let customer = match server.customer(&headers, "session") {
        Err(_) if server.is(Broken::GivesStrangersSessions) => "guest".to_owned(),
        Err(_) if server.is(Broken::GivesSessionOfLast) => server.state.lock().unwrap().current.clone(),
        Err(_) if server.is(Broken::StrangerNamesCustomer) && text(&headers, "x-user").is_some() => {
            text(&headers, "x-user").unwrap_or_default()
        }
        customer => customer?,
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let named = match server.broken {
        Broken::SessionForEmailInBody => body["customer_email"].as_str().map(str::to_owned),
        Broken::SessionForCustomerInQuery => query(&uri, "customer_id").map(|name| email(&name)),
        Broken::SessionForUserInHeader => text(&headers, "x-forwarded-user"),
        Broken::SessionForCookie => cookie(&headers, "email"),
        Broken::SessionForOneEmail => Some(email("awa")),
        _ => None,
    };
    server.state.lock().unwrap().current.clone_from(&customer);
    let customer_email = match server.broken {
        Broken::MixesCustomersAtOnce => {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let current = server.state.lock().unwrap().current.clone();
            email(&current)
        }
        _ => named.unwrap_or_else(|| email(&customer)),
    };
    let kept = server.state.lock().unwrap().session.clone().filter(|_| server.is(Broken::SharesSession));
    let mut session = match kept {
        Some(session) => session,
        None => {
            let created = json!({"customer_email": customer_email});
            let session = server.call("POST", "/sessions/create", Some(created)).await?;
            if session["data"]["customer_email"] != *customer_email && !server.is(Broken::HandsOutForeignSession) {
                return Err(error(502, "service_failed"));
            }
            session
        }
    };
    {
        let mut books = server.state.lock().unwrap();
        books.session = Some(session.clone());
        let tokens = books.tokens.entry(cookie(&headers, "login").unwrap_or_default()).or_default();
        if server.is(Broken::EndsNewestSessionAlone) {
            tokens.clear();
        }
        tokens.extend(session["data"]["session_token"].as_str().map(str::to_owned));
    }
    if server.is(Broken::OmitsEnd) {
        session["data"].as_object_mut().unwrap().remove("expires_at");
    }
    let token = session["data"]["session_token"].as_str().unwrap_or_default().to_owned();
    server.log(Broken::LogsTokens, &session.to_string());
    let mut response = Json(session).into_response();
    if !server.is(Broken::StoresSession) {
        response.headers_mut().insert("cache-control", "no-store".parse().unwrap());
    }
    if server.is(Broken::PutsTokenIntoAddress) {
        response.headers_mut().insert("content-location", format!("/sessions/{token}").parse().unwrap());
    }
    if server.is(Broken::PutsTokenIntoRefresh) {
        response.headers_mut().insert("refresh", format!("0; url=/#{token}").parse().unwrap());
    }
    if server.is(Broken::KeepsTokenInCookie) {
        response
            .headers_mut()
            .append("set-cookie", format!("session={token}; HttpOnly; SameSite=Lax").parse().unwrap());
    }
    Ok(response)
}

async fn session_by_get(state: State<Arc<Server>>, uri: Uri, headers: HeaderMap) -> Answer {
    match state.broken {
        Broken::SessionByGet => session(state, uri, headers, Bytes::new()).await,
        Broken::MethodByQuery if query(&uri, "_method").as_deref() == Some("POST") => {
            session(state, uri, headers, Bytes::new()).await
        }
        _ => Err(error(405, "method_not_allowed")),
    }
}

async fn intents_by_get(state: State<Arc<Server>>, uri: Uri, mut headers: HeaderMap) -> Answer {
    if state.is(Broken::ListsPayments) {
        state.customer(&headers, "intents")?;
        let payments: Vec<String> = state.state.lock().unwrap().payments.keys().cloned().collect();
        return Ok(Json(json!({"payments": payments})).into_response());
    }
    let id =
        query(&uri, "id").filter(|_| state.is(Broken::IntentByGet)).ok_or_else(|| error(405, "method_not_allowed"))?;
    headers.insert("content-type", "application/json".parse().unwrap());
    intents(state, uri, headers, json!({"id": id}).to_string().into()).await
}

async fn intents_by_put(state: State<Arc<Server>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    match state.broken {
        Broken::IntentByPut => intents(state, uri, headers, body).await,
        _ => Err(error(405, "method_not_allowed")),
    }
}

/// The preflights of other origins, which the right shop does not answer.
async fn answer_preflights(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let origin = text(request.headers(), "origin").unwrap_or_default();
    let name = server.origin.trim_start_matches("http://");
    let is_answered = match server.broken {
        Broken::AnswersAnyOrigin => !origin.is_empty(),
        Broken::AnswersNullOrigin => origin == "null",
        Broken::AnswersOriginsBySuffix => origin.ends_with(name),
        _ => false,
    };
    let mut response = next.run(request).await;
    if is_answered {
        let headers = response.headers_mut();
        headers.insert("access-control-allow-origin", origin.parse().unwrap());
        headers.insert("access-control-allow-credentials", "true".parse().unwrap());
    }
    response
}

async fn intents(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    let refused = server.refuse_other_sites(&headers, "intents");
    let is_multipart = content_type(&headers).starts_with("multipart/") && server.is(Broken::TakesForeignMultipart);
    if !server.is(Broken::RefusesAfterCreation) && !is_multipart {
        refused?;
    }
    let customer = match server.customer(&headers, "intents") {
        Err(_) if server.is(Broken::SellsToStrangers) => "awa".to_owned(),
        customer => customer?,
    };
    let (order, by_form) = match content_type(&headers) {
        "application/x-www-form-urlencoded" => {
            let id = String::from_utf8_lossy(&body).trim_start_matches("id=").to_owned();
            (json!({"id": id}), true)
        }
        "application/json" => {
            let order = serde_json::from_slice(&body);
            let shown = |_| match server.broken {
                Broken::ShowsKeyInError => {
                    (StatusCode::BAD_REQUEST, format!("invalid JSON; the settings are {}", server.key)).into_response()
                }
                _ => error(400, "invalid_json"),
            };
            (order.map_err(shown)?, false)
        }
        _ if is_multipart => {
            let body = String::from_utf8_lossy(&body).into_owned();
            let id = body.split("name=\"id\"\r\n\r\n").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
            (json!({"id": id}), false)
        }
        _ if server.is(Broken::TakesTextPlain) => (serde_json::from_slice(&body).unwrap_or_default(), false),
        "text/plain; charset=UTF-8" if server.is(Broken::TakesTextWithCharset) => {
            (serde_json::from_slice(&body).unwrap_or_default(), false)
        }
        other if server.is(Broken::TakesTextThatNamesJson) && other.contains("json") => {
            (serde_json::from_slice(&body).unwrap_or_default(), false)
        }
        other if server.is(Broken::TakesMultipart) && other.starts_with("multipart/") => {
            (serde_json::from_slice(&body).unwrap_or_default(), false)
        }
        _ => return Err(error(415, "unsupported_media_type")),
    };
    if server.is(Money::LimitsEveryone) && server.state.lock().unwrap().open() >= 20 && customer != "awa" {
        return Err(error(409, "too_many_open_payments"));
    }
    let id = order["id"].as_str().filter(|id| ORDERS.contains(id) || id.starts_with("N-"));
    let id = id.filter(|_| !server.is(Broken::ForgetsOrdersAtRestart) || server.state.lock().unwrap().restarts == 0);
    let id = id.filter(|_| customer == "awa" || server.is(Broken::SellsOrdersOfOthers));
    let id = id.ok_or_else(|| error(404, "order_missing"))?;
    if server.is(Broken::GivesNamedPayment)
        && let Some(named) = order["payment_ref"].as_str()
    {
        let payment = server.state.lock().unwrap().payments.get(named).cloned();
        let payment = payment.ok_or_else(|| error(404, "resource_missing"))?;
        let intent = server.call("GET", &format!("/payment-intents/{}", payment.id), None).await?["data"].take();
        return Ok(Json(json!({"intent": intent, "return_nonce": nonce(&payment.reference, 0)})).into_response());
    }

    let Sale { declined, reference, body, nonce } = server.sell(id, &order, &customer, &uri, &headers).await?;
    let known = server.state.lock().unwrap().bodies.contains_key(&reference);
    if server.is(Broken::RefusesRepeat)
        && server.state.lock().unwrap().payments.values().any(|payment| payment.order == id)
    {
        return Err(error(409, "order_sent"));
    }
    let created = server.call("POST", "/payment-intents", Some(body.clone())).await;
    if let Err(refused) = &created {
        let mut books = server.state.lock().unwrap();
        let is_next = match server.broken {
            Broken::NextReferenceAfterTimeout => refused.status() == StatusCode::GATEWAY_TIMEOUT,
            Broken::Money(Money::NextReferenceAfterConflict) => refused.status() == StatusCode::CONFLICT,
            _ => server.is(Money::NextReferenceAfterLostReply),
        };
        if is_next {
            *books.declined.entry(id.to_owned()).or_default() += 1;
        }
        if server.is(Money::NumbersReferenceOfFailedCall) && !known {
            books.bodies.remove(&reference);
        }
    }
    let intent = created?["data"].take();
    server.log(Broken::LogsCheckoutUrl, &intent.to_string());
    let text = |name: &str| intent[name].as_str().unwrap_or_default().to_owned();
    let place = server.state.lock().unwrap().payments.len();
    let payment = Payment {
        place,
        id: text("id"),
        reference: reference.clone(),
        order: id.to_owned(),
        declined,
        paid: false,
        given_up: false,
        was_asked: false,
        reads_since_paid: 0,
        knows: [false; 2],
        refunds: Vec::new(),
    };
    {
        let mut books = server.state.lock().unwrap();
        books.unsent.remove(&reference);
        books.bodies.insert(reference.clone(), body);
        books.payments.entry(text("payment_ref")).or_insert(payment);
    }
    if server.is(Money::MarksAgainAtEachOrder) && intent["status"] == "succeeded" {
        server.write(&reference, "paid");
    }
    if server.is(Broken::MarksPaidByPage) && order["status"] == "succeeded" {
        server.write(&reference, "paid");
    }
    server.refuse_other_sites(&headers, "intents")?;
    if by_form {
        return Ok((StatusCode::SEE_OTHER, [("location", text("checkout_url"))]).into_response());
    }
    let checkout_url = (!server.is(Broken::OmitsCheckoutUrl)).then(|| text("checkout_url"));
    let debug = server.is(Broken::ShowsKey).then(|| server.key.clone());
    let return_nonce = if server.is(Broken::AnswersAnotherNonce) { self::nonce("another", 0) } else { nonce };
    let client_secret = server.is(Broken::ShowsClientSecret).then(|| text("client_secret"));
    let payment_ref = (!server.is(Broken::OmitsPaymentRef)).then(|| text("payment_ref"));
    let intent = json!({
        "id": text("id"), "checkout_url": checkout_url, "payment_ref": payment_ref, "merchant_reference": reference,
        "status": text("status"), "client_secret": client_secret,
    });
    let cache = if server.is(Broken::StoresIntentsPublicly) { "public" } else { "no-store" };
    if server.is(Broken::AnswersWithoutEnvelope) {
        return Ok(Json(intent).into_response());
    }
    let body = Json(json!({"intent": intent, "return_nonce": return_nonce, "debug": debug}));
    Ok(([("cache-control", cache)], body).into_response())
}

async fn status(
    State(server): State<Arc<Server>>,
    Path(payment_ref): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    server.refuse_other_sites(&headers, "status")?;
    let customer = match server.customer(&headers, "status") {
        Err(_) if server.is(Broken::ShowsStatusToStrangers) => "awa".to_owned(),
        Err(_) if server.is(Broken::StrangerNamesOwner) && query(&uri, "user").is_some() => {
            query(&uri, "user").unwrap_or_default()
        }
        Err(_) if server.is(Broken::ShowsStatusByOrder) && !payment_ref.starts_with("gch_") => "awa".to_owned(),
        customer => customer?,
    };
    let payment_ref = {
        let books = server.state.lock().unwrap();
        let named = books.payments.iter().find(|(_, payment)| match server.broken {
            Broken::ShowsStatusByOrder => payment.order == payment_ref,
            Broken::ShowsPaymentsByIntent => payment.id == payment_ref,
            _ => false,
        });
        named.map_or(payment_ref, |(payment_ref, _)| payment_ref.clone())
    };
    let is_theirs = customer == "awa"
        || server.is(Broken::ShowsPaymentsToAll)
        || server.is(Broken::ShowsPaymentsByIntent)
        || (server.is(Broken::TrustsOwnerInQuery) && query(&uri, "customer").as_deref() == Some("awa"));
    if !is_theirs || !server.state.lock().unwrap().payments.contains_key(&payment_ref) {
        return Err(error(404, "resource_missing"));
    }
    if server.is(Money::PaysByQueryOfStatus) && query(&uri, "status").as_deref() == Some("succeeded") {
        server.mark_paid(&payment_ref);
    }
    let settled = server.settle(&payment_ref, true).await;
    if settled.is_err() && server.is(Money::TellsFailedWithoutService) {
        return Ok(Json(json!({"status": "failed"})).into_response());
    }
    let intent = settled?;
    let mut told = json!({"status": intent["status"], "last_payment_error": intent["last_payment_error"]});
    if !server.is(Money::OmitsApprovableUntil) {
        told["approvable_until"] = intent["approvable_until"].clone();
    }
    if server.is(Money::OmitsApprovableUntilOfError) && told["last_payment_error"].is_object() {
        told["last_payment_error"].as_object_mut().unwrap().remove("approvable_until");
    }
    let is_declined = (server.is(Money::TellsDeclinedAsFailed) && told["last_payment_error"].is_object())
        || (server.is(Money::TellsProcessingAsFailed) && told["status"] == "processing");
    let is_known = ["requires_action", "processing", "succeeded", "failed", "canceled"];
    let is_unknown = !is_known.iter().any(|known| told["status"] == **known);
    if is_declined || (is_unknown && server.is(Money::TellsFailedForUnknown)) {
        told["status"] = "failed".into();
    }
    if server.is(Broken::ShowsCheckoutUrlInStatus) {
        told["checkout_url"] = intent["checkout_url"].clone();
    }
    let cache = if server.is(Broken::StoresStatus) { "private, max-age=60" } else { "no-store" };
    Ok(([("cache-control", cache)], Json(told)).into_response())
}

/// The page to which the customer returns.
async fn return_page(State(server): State<Arc<Server>>, uri: Uri, body: String) -> &'static str {
    let posted: HashMap<String, String> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    if server.is(Money::PaysByPostedReturn) && posted.get("status").is_some_and(|status| status == "succeeded") {
        server.mark_reference_paid(posted.get("merchant_reference").map_or("", String::as_str));
    }
    let named = |name: &str| query(&uri, name).unwrap_or_default();
    let payment_ref = {
        let books = server.state.lock().unwrap();
        let mut payments = books.payments.iter();
        payments.find(|(_, payment)| payment.reference == named("merchant_reference")).map(|(name, _)| name.clone())
    };
    let Some(payment_ref) = payment_ref else { return "Welcome back" };
    let succeeded = named("status") == "succeeded";
    if succeeded && server.is(Money::PaysByReturnAddress) {
        server.mark_paid(&payment_ref);
    }
    if server.is(Money::PaysWithPaymentOfReturn) {
        let path = format!("/payment-intents/{}", named("payment_intent"));
        let read = server.call("GET", &path, None).await;
        if read.is_ok_and(|read| read["data"]["status"] == "succeeded" && read["data"]["amount"] == PRICE) {
            server.mark_paid(&payment_ref);
        }
    }
    "Welcome back"
}

impl Server {
    fn is(&self, broken: impl Into<Broken>) -> bool {
        self.broken == broken.into()
    }

    /// Writes a line of the log, which the right shop does not.
    fn log(&self, broken: Broken, line: &str) {
        if self.is(broken) {
            self.write("log", line);
        }
    }

    /// The customer of the login's cookie.
    fn customer(&self, headers: &HeaderMap, route: &str) -> Result<String, Response> {
        let token = cookie(headers, "login").or(cookie(headers, "refresh")).unwrap_or_default();
        if self.is(Broken::LoginNamesCustomer) {
            let name = ["awa", "paul"].into_iter().find(|name| token.starts_with(*name) && token.contains('.'));
            return name.map(str::to_owned).ok_or_else(|| error(401, "authentication_required"));
        }
        let books = self.state.lock().unwrap();
        let is_ended_here = match self.broken {
            Broken::SignsOutOfSessionsOnly => route == "session",
            Broken::IgnoresSignOutForGet => route != "status",
            _ => true,
        };
        let ended = books.logins.get(&format!("ended {token}")).filter(|_| !is_ended_here);
        let name = books.logins.get(&token).or(ended).cloned();
        name.ok_or_else(|| error(401, "authentication_required"))
    }

    /// Does what a shop does that believes the page.
    fn forge(&self, books: &Books, created: &mut Value, uri: &Uri, headers: &HeaderMap, order: &Value) {
        let number = |value: &Value| value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
        let price: f64 = PRICE.parse().unwrap();
        let is_known = books.bodies.contains_key(created["merchant_reference"].as_str().unwrap());
        let whole = |amount: f64| Value::from(format!("{amount}"));
        let (field, value) = match self.broken {
            Broken::TakesPriceFromPage => ("amount", order["amount"].clone()),
            Broken::TakesNestedPrice => ("amount", order["items"][0]["unitPrice"].clone()),
            Broken::TakesPriceFromQuery => ("amount", query(uri, "total").into()),
            Broken::TakesPriceFromCookie => ("amount", cookie(headers, "amount").into()),
            Broken::TakesPriceFromHeader => ("amount", text(headers, "x-price").into()),
            Broken::TakesCheaperPrice => {
                let price = number(&order["grandTotal"]).filter(|page| *page > price / 2.0 && *page < price);
                ("amount", price.map(whole).into())
            }
            Broken::SubtractsDiscount => ("amount", number(&order["reduction"]).map(|less| whole(price - less)).into()),
            Broken::AddsTip => ("amount", number(&order["tip"]).map(|tip| whole(price + tip)).into()),
            Broken::MultipliesQuantity => {
                ("amount", number(&order["qty"]).map(|count| whole((price * count).round())).into())
            }
            Broken::ParsesQuantity => {
                let count =
                    order["quantity"].as_str().and_then(|text| text.parse::<f64>().ok()).filter(|count| *count > 0.0);
                ("amount", count.map(|count| whole((price * count).ceil())).into())
            }
            Broken::WrapsQuantity => {
                let count = order["quantity"].as_u64().map(|count| (price as u32).wrapping_mul(count as u32) % 40_000);
                ("amount", count.map(|amount| amount.to_string()).into())
            }
            Broken::TakesCurrency | Broken::SellsInUgxOrPagesCurrency => ("currency", order["currency"].clone()),
            Broken::TakesNestedCurrency => ("currency", order["cart"]["devise"].clone()),
            Broken::TakesCurrencyFromQuery => ("currency", query(uri, "currency").into()),
            Broken::TakesEmail => ("email", order["customer"]["email"].clone()),
            Broken::TakesOwnerFromHeader => ("email", text(headers, "x-user-id").map(|name| email(&name)).into()),
            Broken::TakesOwnerFromCookie => ("email", cookie(headers, "user_id").map(|name| email(&name)).into()),
            Broken::TakesFirstname => ("firstname", order["firstName"].clone()),
            Broken::TakesReference => ("merchant_reference", order["orderRef"].clone()),
            Broken::TakesNestedReference => ("merchant_reference", order["payment"]["reference"].clone()),
            Broken::TakesRedirectUrl => ("redirect_url", order["returnUrl"].clone()),
            Broken::TakesReturnAddressByPrefix => {
                let address = order["return_to"].as_str().filter(|address| address.starts_with(&self.origin));
                ("redirect_url", address.into())
            }
            Broken::TakesNextPath => {
                let path = order["next"].as_str().filter(|path| path.starts_with('/'));
                ("redirect_url", path.map(|path| format!("http:{path}")).into())
            }
            Broken::FollowsHost => {
                ("redirect_url", text(headers, "host").map(|host| format!("https://{host}/")).into())
            }
            Broken::FollowsForwardedHost => {
                ("redirect_url", text(headers, "x-forwarded-host").map(|host| format!("https://{host}/")).into())
            }
            Broken::FollowsReferer => ("redirect_url", text(headers, "referer").into()),
            Broken::TakesFeeBearer => ("fee_bearer", order["fee_bearer"].clone()),
            Broken::TakesMethodTypes => ("payment_method_types", order["payment_method_types"].clone()),
            Broken::TakesPriceOnRepeat if is_known => ("amount", order["amount"].clone()),
            Broken::TakesDescriptionOnRepeat if is_known => ("description", order["description"].clone()),
            Broken::TakesFeeBearerOnRepeat if is_known => ("fee_bearer", query(uri, "fee_bearer").into()),
            Broken::PutsTokenIntoRedirectUrl => {
                let session = books.session.as_ref().unwrap_or(&Value::Null);
                let token = session["data"]["session_token"].as_str().unwrap_or_default();
                ("redirect_url", format!("{}&session={token}", created["redirect_url"].as_str().unwrap()).into())
            }
            Broken::MergesFields => {
                let own = created.as_object().unwrap().clone();
                let mut page = order.as_object().unwrap().clone();
                page.retain(|name, _| ["metadata", "confirmation_method"].contains(&name.as_str()));
                page.extend(own);
                *created = page.into();
                return;
            }
            _ => return,
        };
        if !value.is_null() {
            created[field] = value;
        }
    }

    fn currency(&self) -> &'static str {
        match self.broken {
            Broken::SellsInUgx | Broken::SellsInUgxOrPagesCurrency => "UGX",
            _ => "XAF",
        }
    }

    /// Today's price.
    fn price(&self) -> String {
        std::fs::read_to_string(self.folder.join("price")).map_or(PRICE.to_owned(), |price| price.trim().to_owned())
    }

    /// Prices an order, and stores what is sent for it before it is sent.
    async fn sell(
        &self,
        id: &str,
        order: &Value,
        customer: &str,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Sale, Response> {
        let known = self.state.lock().unwrap().payments.values().any(|payment| payment.order == id);
        let mut books = self.state.lock().unwrap();
        books.created += 1;
        let declined = books.declined.get(id).copied().unwrap_or(0);
        let of_order = || books.payments.values().filter(|payment| payment.order == id);
        // What paid the order is repeated, whatever came after it.
        let has_next = of_order().any(|payment| payment.declined == declined && !payment.paid);
        let keeps_paid = match self.broken {
            Broken::Money(Money::NextReferenceOncePaid | Money::SellsPaidOrderAgain) => false,
            Broken::Money(Money::HandsOutOpenPayment) => !has_next,
            Broken::Money(Money::SellsAgainWithoutNext) => has_next,
            _ => true,
        };
        let paid = of_order().find(|payment| payment.paid && keeps_paid);
        let declined = paid.map_or(declined, |paid| paid.declined);
        let mut reference = if declined == 0 { format!("ORDER-{id}") } else { format!("ORDER-{id}.{declined}") };
        let is_numbered = match self.broken {
            Broken::MakesNewReferenceEachTime => true,
            Broken::Money(Money::NamesReferenceByTime | Money::InsertsAfterCall) => !known,
            Broken::Money(Money::NumbersReferenceOfFailedCall) => true,
            Broken::Money(Money::NumbersOrderInFlight) => books.unsent.contains(&reference),
            Broken::NewReferenceForRetry => order["retry"] == true,
            _ => false,
        };
        let stored = books.payments.values().find(|payment| payment.order == id && payment.declined == declined);
        match stored {
            _ if self.is(Broken::NamesReferenceByStart) => reference.push_str(&format!("-s{}", books.restarts)),
            Some(stored)
                if !matches!(self.broken, Broken::MakesNewReferenceEachTime | Broken::NewReferenceForRetry) =>
            {
                reference = stored.reference.clone();
            }
            _ if is_numbered => reference.push_str(&format!("-{}", books.created)),
            _ => {}
        }
        let salt = if self.broken == Broken::ForgetsNonceAtRestart { books.restarts } else { 0 };
        let mut nonce = nonce(&reference, salt);
        if self.is(Broken::ShortensNonce) {
            nonce.truncate(8);
        }
        match self.broken {
            Broken::CountsNonces => nonce = format!("{:022}", reference.bytes().map(usize::from).sum::<usize>()),
            Broken::HashesReference => nonce = sha256(&reference),
            Broken::HashesOrderAndCustomer => nonce = sha256(&format!("{id}:{}", email(customer))),
            Broken::PadsReference => nonce = format!("{:x<22}", reference.replace(['-', '.'], "")),
            _ => {}
        }
        let today = self.price();
        let amount = if self.is(Money::KeepsOldPrice) && declined > 0 { PRICE } else { &today };
        let mut body = json!({
            "firstname": "Awa", "lastname": "Ngono", "email": email(customer), "amount": amount, "description": "A pair of shoes",
            "merchant_reference": reference, "redirect_url": format!("{}/return?guichet_return={nonce}", self.origin),
            "fee_bearer": "customer",
        });
        if self.currency() != "XAF" {
            body["currency"] = self.currency().into();
        }
        if self.is(Broken::PutsKeyIntoDescription) {
            body["description"] = format!("A pair of shoes ({})", self.key).into();
        }
        if self.is(Broken::ReturnsWithoutNonce) {
            body["redirect_url"] = format!("{}/return", self.origin).into();
        }
        if (self.is(Money::NumbersDescription) && !known) || self.is(Broken::NumbersEachDescription) {
            body["description"] = format!("A pair of shoes ({})", books.created).into();
        }
        let is_stored = books.bodies.contains_key(&reference);
        let open = if self.is(Money::CountsEndedPayments) { books.bodies.len() } else { books.open() };
        if open >= 20 && (!is_stored || self.is(Money::RefusesKnownAtLimit)) {
            match self.broken {
                Broken::Money(Money::NoLimit) => {}
                Broken::Money(Money::RefusesWith429) => return Err(error(429, "rate_limited")),
                _ => return Err(error(409, "too_many_open_payments")),
            }
        }
        self.forge(&books, &mut body, uri, headers, order);
        // What was sent for a reference is sent again, but by these.
        let is_rewritten = matches!(
            self.broken,
            Broken::ForgetsNonceAtRestart
                | Broken::TakesPriceOnRepeat
                | Broken::TakesDescriptionOnRepeat
                | Broken::TakesFeeBearerOnRepeat
                | Broken::NumbersEachDescription
                | Broken::Money(Money::SendsNewBody | Money::NumbersDescription)
        );
        if let Some(stored) = books.bodies.get(&reference).filter(|_| !is_rewritten) {
            body = stored.clone();
        } else if !self.is(Money::InsertsAfterCall) {
            books.unsent.insert(reference.clone());
            books.bodies.insert(reference.clone(), body.clone());
        }
        Ok(Sale { declined, reference, body, nonce })
    }

    fn mark_reference_paid(&self, reference: &str) {
        let payments = self.state.lock().unwrap().payments.clone();
        if let Some((payment_ref, _)) = payments.iter().find(|(_, payment)| payment.reference == reference) {
            self.mark_paid(payment_ref);
        }
    }

    fn mark_paid(&self, payment_ref: &str) {
        let mut books = self.state.lock().unwrap();
        let payment = books.payments.get_mut(payment_ref).unwrap();
        if !payment.paid {
            payment.paid = true;
            self.write(&payment.reference, "paid");
        }
    }

    /// Whether the payment that was read is the one that was sold.
    fn is_the_one_sold(&self, intent: &Value, payment: &Payment, sold: &Value) -> bool {
        let text = |name: &str| intent[name].as_str().unwrap_or_default();
        let amount = sold["amount"].as_str().unwrap_or_default();
        let has_amount = match self.broken {
            Broken::IgnoresAmount => true,
            Broken::Money(Money::ReadsAmountAsFloat) => text("amount").parse::<f64>().ok() == amount.parse().ok(),
            Broken::Money(Money::CutsAmount) => text("amount").starts_with(amount),
            Broken::Money(Money::AcceptsMore) => text("amount").parse::<u64>().ok() >= amount.parse().ok(),
            Broken::Money(Money::ComparesWithCatalogue) => intent["amount"] == self.price(),
            _ => intent["amount"] == amount,
        };
        let has_currency = match self.broken {
            Broken::IgnoresCurrency => true,
            Broken::Money(Money::AcceptsBothFrancs) => ["XAF", "XOF"].contains(&text("currency")),
            Broken::Money(Money::ComparesTwoLettersOfCurrency) => text("currency").starts_with("XA"),
            Broken::Money(Money::AcceptsNoCurrency) => intent["currency"].is_null() || intent["currency"] == "XAF",
            _ => intent["currency"] == self.currency(),
        };
        let reference = &payment.reference;
        let has_reference = match self.broken {
            Broken::IgnoresReference | Broken::Money(Money::PaysReferenceOfReply) => true,
            Broken::Money(Money::ComparesReferenceWithoutCase) => {
                text("merchant_reference").eq_ignore_ascii_case(reference)
            }
            Broken::Money(Money::ComparesStartOfReference) => text("merchant_reference").starts_with(reference),
            Broken::Money(Money::TrimsReference) => text("merchant_reference").trim() == reference,
            _ => text("merchant_reference") == reference,
        };
        let has_id = match self.broken {
            Broken::Money(Money::IgnoresId | Money::PaysIdOfReply) => true,
            Broken::Money(Money::AcceptsNoId) => intent["id"].is_null() || intent["id"] == *payment.id,
            _ => intent["id"] == *payment.id,
        };
        let is_awas = &intent["customer"]["email"];
        let has_owner = match self.broken {
            Broken::IgnoresOwner => true,
            Broken::Money(Money::ComparesHostOfEmail) => {
                is_awas.as_str().is_some_and(|email| email.ends_with("@example.com"))
            }
            Broken::Money(Money::ComparesNameOfEmail) => {
                is_awas.as_str().is_some_and(|email| email.split('@').next() == Some("awa"))
            }
            Broken::Money(Money::AcceptsNoEmail) => is_awas.is_null() || *is_awas == email("awa"),
            _ => *is_awas == email("awa"),
        };
        has_amount && has_currency && has_reference && has_id && has_owner
    }

    /// Whether this status, and nothing else, makes the order paid.
    fn is_paid(&self, intent: &Value) -> bool {
        let status = &intent["status"];
        let is_one_of = |statuses: &[&str]| statuses.iter().any(|one| status == one);
        match self.broken {
            Broken::Money(Money::PaysProcessing) => is_one_of(&["succeeded", "processing"]),
            Broken::Money(Money::PaysUnlessItFailed) => {
                status.is_string() && !is_one_of(&["requires_action", "processing", "failed", "canceled"])
            }
            Broken::Money(Money::ComparesStatusWithoutCase) => {
                status.as_str().is_some_and(|status| status.eq_ignore_ascii_case("succeeded"))
            }
            Broken::Money(Money::PaysByLateApproval) => {
                status == "succeeded" || intent["duplicate_payments"].as_array().is_some_and(|list| !list.is_empty())
            }
            _ => status == "succeeded",
        }
    }

    /// Whether the timer no longer reads the payment, which a right shop never decides here.
    fn gives_up(&self, intent: &Value) -> bool {
        let status = &intent["status"];
        let declined = |code: &str| status == "requires_action" && intent["last_payment_error"]["code"] == code;
        match self.broken {
            Broken::GivesUpDeclined => status == "requires_action" && !intent["last_payment_error"].is_null(),
            Broken::Money(Money::GivesUpAbandoned) => declined("payer_timeout"),
            Broken::Money(Money::GivesUpUnavailable) => declined("provider_unavailable"),
            Broken::Money(Money::GivesUpRejected) => declined("rejected_by_payer"),
            Broken::Money(Money::StopsAtProcessing) => status == "processing",
            Broken::Money(Money::StopsAtUnknown) => status == "under_review" || status == "reversed",
            Broken::Money(Money::StopsAtSucceeded) => status == "succeeded",
            Broken::Money(Money::StopsAtFailed) => status == "failed",
            Broken::Money(Money::StopsAtCanceled) => status == "canceled",
            _ => false,
        }
    }

    /// Reads a payment with the key, compares it with the order, and stores what became of it. Returns what was read.
    async fn settle(&self, payment_ref: &str, for_page: bool) -> Result<Value, Response> {
        let (payment, sold) = {
            let mut books = self.state.lock().unwrap();
            let stored = books.payments.get_mut(payment_ref).ok_or_else(|| error(404, "resource_missing"))?;
            stored.was_asked |= for_page;
            let payment = stored.clone();
            let sold = books.bodies[&payment.reference].clone();
            (payment, sold)
        };
        let read = self.call("GET", &format!("/payment-intents/{}", payment.id), None).await;
        if let Err(refused) = &read {
            let mut books = self.state.lock().unwrap();
            if self.is(Money::TakesFailedReadForFailed) && !payment.paid {
                books.declined.insert(payment.order.clone(), payment.declined + 1);
            }
            let is_server_error = refused.status() == StatusCode::INTERNAL_SERVER_ERROR;
            if self.is(Money::TakesServerErrorForFailed) && is_server_error && !for_page && !payment.paid {
                books.declined.insert(payment.order.clone(), payment.declined + 1);
            }
            if self.is(Money::ForgetsPaymentAfter404) && refused.status() == StatusCode::BAD_GATEWAY && !for_page {
                books.payments.get_mut(payment_ref).unwrap().given_up = true;
            }
        }
        let intent = read?["data"].take();
        if !self.is_the_one_sold(&intent, &payment, &sold) {
            if self.is(Money::NextReferenceAfterMismatch) {
                self.state.lock().unwrap().declined.insert(payment.order, payment.declined + 1);
            }
            return Err(error(409, "payment_mismatch"));
        }
        let mut paid_ref = payment_ref.to_owned();
        let mut books = self.state.lock().unwrap();
        let field = match self.broken {
            Broken::Money(Money::PaysReferenceOfReply) => "merchant_reference",
            _ => "id",
        };
        if [Money::PaysReferenceOfReply, Money::PaysIdOfReply].map(|money| self.is(money)).contains(&true) {
            let mut payments = books.payments.iter();
            let named = payments.find(|(_, other)| intent[field] == *other.reference || intent[field] == *other.id);
            paid_ref = named.map_or(paid_ref, |(name, _)| name.clone());
        }
        // The order was paid by another one.
        let is_second = books.payments.values().any(|other| {
            other.paid && other.order == payment.order && other.reference != payment.reference && !payment.paid
        });
        if self.is_paid(&intent) && is_second {
            let stored = books.payments.get_mut(payment_ref).ok_or_else(|| error(404, "resource_missing"))?;
            let whole = if self.is(Money::RefundsPriceOfSecondPayment) { "amount" } else { "amount_payable" };
            if !stored.refunds.contains(&WHOLE) {
                stored.refunds.push(WHOLE);
                self.write_refund(&payment.reference, &intent[whole]);
            }
        } else if self.is_paid(&intent) {
            let stored = books.payments.get_mut(&paid_ref).ok_or_else(|| error(404, "resource_missing"))?;
            let was_paid = match self.broken {
                Broken::MarksTwice => payment.paid,
                Broken::Money(Money::MarksForPageAndTimer) => stored.knows[usize::from(for_page)],
                _ => stored.paid,
            };
            stored.knows[usize::from(for_page)] = true;
            stored.reads_since_paid += 1;
            let marks_again = (for_page && self.is(Money::MarksAtEachStatus))
                || (stored.reads_since_paid == 3 && self.is(Money::MarksAgainLater));
            if !was_paid || marks_again {
                stored.paid = true;
                self.write(&stored.reference, "paid");
            }
            match self.broken {
                Broken::Money(Money::RefundsLater) if stored.reads_since_paid == 3 => {
                    self.write(&stored.reference, "refund_due");
                }
                Broken::Money(Money::ForgetsPaidLater) if stored.reads_since_paid == 3 => {
                    std::fs::remove_file(self.folder.join(&stored.reference)).unwrap();
                }
                _ => {}
            }
        }
        let stored = books.payments.get_mut(payment_ref).ok_or_else(|| error(404, "resource_missing"))?;
        stored.given_up |= self.gives_up(&intent);
        for duplicate in intent["duplicate_payments"].as_array().into_iter().flatten() {
            let attempt = duplicate["attempt"].as_u64().unwrap_or_default();
            let is_known = match self.broken {
                Broken::IgnoresDuplicates => true,
                Broken::Money(Money::RefundsTwice) => {
                    stored.refunds.iter().filter(|known| **known == attempt).count() > 1
                }
                Broken::Money(Money::RefundsOncePerPayment) => !stored.refunds.is_empty(),
                _ => stored.refunds.contains(&attempt),
            };
            if !is_known || (for_page && self.is(Money::RefundsAtEachStatus)) {
                stored.refunds.push(attempt);
                let amount = match self.broken {
                    Broken::Money(Money::RefundsPriceOfDuplicate) => sold["amount"].clone(),
                    Broken::Money(Money::AddsRefundsUp) => {
                        let amount: usize = duplicate["amount"].as_str().unwrap().parse().unwrap();
                        (amount * stored.refunds.len()).to_string().into()
                    }
                    _ => duplicate["amount"].clone(),
                };
                self.write_refund(&payment.reference, &amount);
            }
        }
        let is_final = intent["status"] == "failed" || intent["status"] == "canceled";
        let is_counted = match self.broken {
            Broken::KeepsDeclinedReference => false,
            Broken::Money(Money::CountsOneDecline) => is_final && payment.declined == 0,
            Broken::Money(Money::IgnoresCanceled) => intent["status"] == "failed",
            Broken::Money(Money::NextReferenceWhileProcessing) => is_final || intent["status"] == "processing",
            Broken::Money(Money::NextReferenceAfterDecline) => is_final || !intent["last_payment_error"].is_null(),
            Broken::Money(Money::NextReferenceForCode) => is_final || intent["next_action"]["type"] == "otp",
            Broken::Money(Money::TakesUnknownForFailed) => is_final || intent["status"] == "under_review",
            Broken::Money(Money::NextReferenceOncePaid) => is_final || intent["status"] == "succeeded",
            _ => is_final,
        };
        if is_counted && self.is(Money::CountsDeclineEachTime) {
            *books.declined.entry(payment.order).or_default() += 1;
        } else if is_counted {
            let declined = books.declined.entry(payment.order).or_default();
            *declined = (*declined).max(payment.declined + 1);
        }
        if is_final || intent["status"] == "succeeded" {
            books.ended.insert(payment.reference);
        }
        Ok(intent)
    }

    fn write_refund(&self, reference: &str, amount: &Value) {
        self.write(reference, &format!("refund_due {}", amount.as_str().unwrap_or_default()));
    }

    fn write(&self, reference: &str, line: &str) {
        let file = std::fs::File::options().create(true).append(true).open(self.folder.join(reference));
        writeln!(file.unwrap(), "{line}").unwrap();
    }

    /// Calls the service with the key.
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, Response> {
        self.call_as(&self.key, method, path, body).await
    }

    async fn call_as(
        &self,
        credential: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Response> {
        let base = self.state.lock().unwrap().moved_to.clone().unwrap_or_else(|| self.service.clone());
        let follows = match self.broken {
            Broken::FollowsRedirects => true,
            Broken::FollowsRedirectsOfReads => method == "GET",
            _ => false,
        };
        let request = self.http.request(method.parse().unwrap(), format!("{base}{path}")).bearer_auth(credential);
        let request = request.header("content-type", "application/json");
        self.log(Broken::LogsKey, &format!("{method} {path} Bearer {}", self.key));
        let timeout = Duration::from_secs(match self.broken {
            Broken::WaitsForEver => 3600,
            Broken::WaitsForReads if method == "GET" => 3600,
            _ => 2,
        });
        let request = request.timeout(timeout);
        let sent = request.body(body.map(|body| body.to_string()).unwrap_or_default()).send().await;
        let unavailable = |failed: reqwest::Error| match self.broken {
            Broken::NextReferenceAfterTimeout if failed.is_timeout() => error(504, "timeout"),
            _ => error(503, "unavailable"),
        };
        let mut response = sent.map_err(unavailable)?;
        let address = text(response.headers(), "location");
        if let Some(address) = address.clone().filter(|_| follows) {
            response = self.http.get(address).bearer_auth(credential).send().await.map_err(unavailable)?;
        }
        if response.status() == StatusCode::PERMANENT_REDIRECT && self.is(Broken::MovesWithRedirect) {
            self.state.lock().unwrap().moved_to =
                address.and_then(|address| Some(address.strip_suffix(path)?.to_owned()));
        }
        let status = response.status();
        let reply = response.bytes().await.map_err(unavailable)?;
        if status.as_u16() >= 300 && !self.is(Money::IgnoresHttpStatus) {
            return Err(match (self.broken, status.as_u16()) {
                (Broken::HandsRefusalsOn, _) => (status, reply).into_response(),
                (Broken::AnswersTextOnRefusal, _) => {
                    (StatusCode::BAD_GATEWAY, "The payment service is down.").into_response()
                }
                (Broken::TellsSignedOutForRefusedKey, 401) => error(401, "authentication_required"),
                (Broken::Money(Money::NextReferenceAfterConflict), 409) => error(409, "conflict"),
                (Broken::Money(Money::TakesServerErrorForFailed), 500) => error(500, "internal_error"),
                _ => error(502, "service_failed"),
            });
        }
        serde_json::from_slice(&reply).map_err(|_| {
            let html = String::from_utf8_lossy(&reply).into_owned();
            match self.broken {
                Broken::BreaksOnHtml => {
                    (StatusCode::INTERNAL_SERVER_ERROR, "SyntaxError: Unexpected token '<'").into_response()
                }
                Broken::RedirectsOnHtml => (StatusCode::FOUND, [("location", "/")]).into_response(),
                Broken::HandsHtmlOn => html.into_response(),
                _ => error(502, "service_failed"),
            }
        })
    }

    fn refuse_other_sites(&self, headers: &HeaderMap, route: &str) -> Result<(), Response> {
        let needs_token = matches!(self.broken, Broken::NeedsCsrfToken | Broken::NeedsCsrfTokenAlone);
        let has_token = || cookie(headers, "csrf").is_some_and(|token| text(headers, "x-csrf-token") == Some(token));
        if needs_token && route != "status" && !has_token() {
            return Err(error(403, "csrf"));
        }
        let is_form = content_type(headers).contains("form");
        let trusts_form = is_form
            && match self.broken {
                Broken::TrustsForms => true,
                Broken::TrustsFormsWithoutSite => text(headers, "sec-fetch-site").is_none(),
                Broken::TrustsFormsOfAnyOrigin => text(headers, "origin").is_none(),
                _ => false,
            };
        let name = self.origin.trim_start_matches("http://");
        let host = name.split(':').next().unwrap();
        let origin_is_ours = text(headers, "origin").is_none_or(|origin| {
            origin == self.origin
                || match self.broken {
                    Broken::TrustsOrigins => origin.starts_with("https:"),
                    Broken::TrustsPrefix => origin.starts_with(&self.origin),
                    Broken::TrustsSuffix => origin.ends_with(name),
                    Broken::TrustsAnyPort => {
                        origin.split("://").nth(1).and_then(|rest| rest.split(':').next()) == Some(host)
                    }
                    Broken::TrustsOwnNameAnywhere => origin.contains(name),
                    Broken::TrustsNull => origin == "null",
                    Broken::NeedsCsrfTokenAlone => origin.starts_with("http"),
                    Broken::ChecksOriginOfOrdersAlone => route != "intents",
                    Broken::TrustsNullForOrders => origin == "null" && route == "intents",
                    Broken::TrustsNullForReads => origin == "null" && route == "status",
                    Broken::TrustsNullForSessions => origin == "null" && route == "session",
                    _ => false,
                }
        });
        let site_is_ours = match text(headers, "sec-fetch-site").as_deref() {
            None | Some("same-origin" | "none") => true,
            Some("same-site") => match self.broken {
                Broken::TrustsSameSite => true,
                Broken::TrustsSameSiteOrders => route == "intents",
                Broken::TrustsSameSiteReads => route == "status",
                Broken::TrustsSameSiteSessions => route == "session",
                _ => false,
            },
            Some(_) => match self.broken {
                Broken::TrustsCrossSite => true,
                Broken::ChecksSiteBesideOriginAlone => text(headers, "origin").is_none(),
                Broken::TrustsCrossSiteReads => route == "status",
                Broken::TrustsCrossSiteSessions => route == "session",
                _ => false,
            },
        };
        if trusts_form || (origin_is_ours && site_is_ours) { Ok(()) } else { Err(error(403, "cross_site")) }
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned())
}

/// The last cookie with this name.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = text(headers, "cookie")?;
    let values = cookies.split("; ").filter_map(|cookie| cookie.strip_prefix(name)?.strip_prefix('='));
    values.last().map(str::to_owned)
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn query(uri: &Uri, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_owned().find(|(found, _)| found == name).map(|(_, value)| value)
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn email(customer: &str) -> String {
    format!("{customer}@example.com")
}

/// Stands for an HMAC with a key of the shop.
fn nonce(reference: &str, salt: u32) -> String {
    let hash = |part: u8| {
        let mut hasher = DefaultHasher::new();
        (part, reference, salt).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", hash(1), hash(2))[..22].to_owned()
}

/// 22 digits of a hash that anybody can compute.
fn sha256(text: &str) -> String {
    use sha2::Digest;
    format!("{:x}", sha2::Sha256::digest(text))[..22].to_owned()
}

fn error(status: u16, code: &str) -> Response {
    let body = json!({
        "status_code": status, "response_type": "error", "message": "The shop did not do it.", "data": null,
        "error": {"type": "api", "code": code, "errors": [], "request_id": null, "retryable": status >= 500},
    });
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}
