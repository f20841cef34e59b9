//! The hosted page of a payment, as HTML: what each of its states fills in. `templates/checkout.html` draws all of
//! them, for browsers with and without a script.

mod forms;
mod texts;
mod view;

use super::{CHECKOUT_STYLE, POLICY};
use crate::problem::Problem;
use crate::replies;
use crate::rules::{Intent, MAX_ATTEMPTS, OperatorStatuses, PayingWith};
use crate::server::site::Version;
use crate::server::static_file::gzip;
use crate::service::Service;
use crate::words::{Language, Sentence, Sentences, codes, hosted, plain};
use askama::Template;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use forms::{CodeForm, Method};
use guichet::flow::{LateApproval, PaymentAsRead, late_approval, redirect_address};
use guichet::values::Moment;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use texts::{Line, Row, Step, Texts};
use url::Url;
use view::View;

/// How many seconds a page without script waits before it is loaded again, and how many the script waits before it
/// reads again: at first, and once the payment has been under way for a while.
const REFRESHES: [i64; 2] = [3, 10];
const READS: [i64; 2] = [2, 10];
/// When a payment has been under way for a while, in seconds.
const LONG: i64 = 30;
/// How often the script reads while an operator may still take the money of a declined attempt, in seconds.
const READS_IN_DOUBT: i64 = 20;
/// How many seconds the page shows that the payment has succeeded before it leads to the shop.
const LEAVES_AFTER: i64 = 6;
/// How long after the payment the page leads to the shop by itself, in seconds. A customer who comes back later stays.
const LEAVES_WITHIN: i64 = 60;
/// The header with the address of the card's issuer, which the page's script follows.
const ISSUER: HeaderName = HeaderName::from_static("guichet-issuer");
/// A waiting page is loaded again after ten seconds where scripts are allowed and the page's own script does not run.
const RELOAD: &str = "setTimeout(function(){window.guichetRuns||location.reload()},1e4)";

/// A payment as its page shows it.
pub(super) struct Payment {
    pub(super) intent: Intent,
    pub(super) merchant: String,
    pub(super) operators: OperatorStatuses,
    pub(super) now: Moment,
}

impl Payment {
    /// What the customer pays.
    fn payable(&self, service: &Service) -> u64 {
        let amount = || self.intent.terms.amount.whole_units();
        self.intent.amount_payable(&service.fees).or_else(amount).unwrap_or_default()
    }

    /// Whether an operator may still take the money of a declined attempt, as every client reads it.
    fn late_approval(&self) -> LateApproval {
        let state = &self.intent.state;
        let mut read = PaymentAsRead::new(state.status.into_str().to_owned().into());
        read.attempts = Some(state.attempts);
        read.is_card = !self.is_mobile();
        read.is_declined = state.declined.is_some();
        read.approvable_until = replies::approvable_until(state);
        read.duplicates = state.duplicate_payments.len();
        read.expires_at = Some(self.intent.expires_at.unix());
        read.as_of = Some(self.now.unix());
        late_approval(&read)
    }

    /// For how many seconds it has had its status.
    fn waited(&self) -> i64 {
        self.intent.state.status_history.last().map_or(0, |(at, _)| self.now.unix() - at)
    }

    /// Whether its page leads to the shop by itself, once it has succeeded.
    fn leads_away(&self) -> bool {
        self.waited() < LEAVES_WITHIN && !leads_to(&self.intent).is_empty()
    }

    fn is_mobile(&self) -> bool {
        matches!(self.intent.state.paying_with, Some(PayingWith::MobileMoney { .. }))
    }
}

/// What the customer asks the page for.
pub(super) struct Asked {
    pub(super) language: Language,
    /// Whether the customer wants another method than the one that asks for a step.
    pub(super) choosing: bool,
    /// Why the form was refused.
    pub(super) problem: Option<Problem>,
    /// The way of paying that was chosen, and the phone that was typed.
    pub(super) kind: String,
    pub(super) phone: String,
}

/// An amount of money in words.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Amount(String);

impl Amount {
    fn text(&self) -> &str {
        &self.0
    }

    /// The number of characters of its longest word, rounded up: the style writes a long amount smaller instead of
    /// breaking it.
    fn width(&self) -> usize {
        let longest = self.0.split(' ').map(|word| word.chars().count()).max().unwrap_or_default();
        longest.clamp(12, 32).next_multiple_of(4)
    }
}

/// A state that the script alone shows: between a form and its reply, or without one.
struct Scripted {
    name: &'static str,
    tone: &'static str,
    icon: &'static str,
    title: &'static str,
    text: &'static str,
}

/// Those states. `uncertain`: no reply has come. `unsent`: for a long time none has come, and the payment is as it was.
fn scripted(language: Language) -> Vec<Scripted> {
    let waits = |name, title, text| Scripted {
        name,
        tone: "wait",
        icon: "card",
        title: language.of(title),
        text: language.of(text),
    };
    vec![
        waits("sending", &hosted::SENDING, &hosted::SENDING_TEXT),
        waits("canceling", &hosted::CANCELING, &hosted::CANCELING_TEXT),
        waits("abandoning", &hosted::ABANDONING, &hosted::ABANDONING_TEXT),
        waits("uncertain", &hosted::UNCERTAIN, &hosted::UNCERTAIN_TEXT),
        Scripted { tone: "bad", icon: "bad", ..waits("unsent", &hosted::TROUBLE, &plain::UNSENT_TEXT) },
    ]
}

/// The page. A text that is empty, and a list without entries, is left out.
#[derive(Default, Template)]
#[template(path = "checkout.html")]
struct Document<'a> {
    language: Language,
    assets: &'a str,
    style: &'static str,
    reload: &'static str,
    /// The version of the page: another one is loaded as a whole.
    version: String,
    id: String,
    /// The version of the payment, so that an outdated form changes nothing.
    revision: i64,
    /// When it was read, in seconds since 1970: time alone may change its status. The script shows no page that is
    /// older.
    as_of: i64,
    /// After how many seconds the script reads the page again. 0: only when the tab is shown again.
    reads: i64,
    /// The content of the element that loads a page without script again.
    refresh: Option<String>,
    /// The page's address.
    path: String,
    merchant: String,
    heading: String,
    amount: Amount,
    fee: String,
    description: String,
    items: Vec<Line>,
    name: &'static str,
    tone: &'static str,
    icon: &'static str,
    /// Whether the status is only for screen readers: the same text is visible below it.
    is_quiet: bool,
    texts: Texts,
    steps: Vec<Step>,
    wrong: String,
    token: String,
    methods: Vec<Method>,
    code: Option<CodeForm>,
    receipt: Vec<Row>,
    issuer: String,
    can_retry: bool,
    can_check: bool,
    /// Whether that is the first thing to do.
    is_check_first: bool,
    is_waiting: bool,
    is_final: bool,
    is_last: bool,
    can_choose: bool,
    can_abandon: bool,
    can_cancel: bool,
    shop: String,
    leave: &'static str,
    is_leave_explained: bool,
    /// After how many seconds the page leads to the shop.
    leaves_after: Option<i64>,
    scripted: Vec<Scripted>,
}

/// The response with the page of a payment.
pub(super) fn respond(
    service: &Service,
    payment: &Payment,
    asked: &Asked,
    files: &Version,
    request: &HeaderMap,
) -> Response<Body> {
    let document = document(service, payment, asked, files.assets());
    let status = asked.problem.as_ref().map_or(StatusCode::OK, |problem| problem.status);
    let mut response = html(&document, status, request);
    let issuer = HeaderValue::try_from(&document.issuer).ok().filter(|issuer| !issuer.is_empty());
    response.headers_mut().extend(issuer.map(|issuer| (ISSUER, issuer)));
    response
}

/// The page of a link that opens no payment.
pub(super) fn link_wrong(language: Language, status: StatusCode, files: &Version) -> Response<Body> {
    let document = Document::empty(language, files.assets());
    html(&document.saying("link_wrong", &hosted::LINK_WRONG, &plain::NO_COOKIE), status, &HeaderMap::new())
}

/// The page of a request that failed.
pub(super) fn trouble(language: Language, status: StatusCode, files: &Version) -> Response<Body> {
    let sentence = if status == StatusCode::PAYLOAD_TOO_LARGE { &codes::BODY_TOO_LARGE } else { &codes::UNAVAILABLE };
    let document = Document { can_retry: true, ..Document::empty(language, files.assets()) };
    html(&document.saying("trouble", &hosted::TROUBLE, sentence), status, &HeaderMap::new())
}

impl<'a> Document<'a> {
    fn empty(language: Language, assets: &'a str) -> Self {
        Self {
            language,
            assets,
            style: &CHECKOUT_STYLE,
            reload: RELOAD,
            version: version(assets),
            merchant: language.of(&hosted::PAY_TITLE).to_owned(),
            scripted: scripted(language),
            ..Self::default()
        }
    }

    /// A page that says one thing.
    fn saying(self, name: &'static str, title: &Sentence, sentence: &Sentence) -> Self {
        let say = |sentence| self.language.of(sentence);
        let texts = Texts { title: say(title), sentences: vec![say(sentence).to_owned()], ..Texts::default() };
        Self { name, tone: "bad", icon: "bad", texts, ..self }
    }
}

/// The page of a payment.
fn document<'a>(service: &Service, payment: &Payment, asked: &Asked, assets: &'a str) -> Document<'a> {
    let Payment { intent, merchant, .. } = payment;
    let (terms, state, language) = (&intent.terms, &intent.state, asked.language);
    let view = View::of(payment, asked.choosing);
    let entry = view.entry();
    let is_open = payment.late_approval() != LateApproval::Never;
    let is_unsure = is_open && !entry.in_doubt.is_empty();
    let (has_form, has_step, is_waiting) = (view.has_form(), view.has_step(), view.is_waiting());
    let (paid, fee_paid) = texts::paid(service, payment, language);
    let methods = if has_form { forms::methods(service, payment, asked) } else { Vec::new() };
    let (amount, fee) = headline(payment, &methods, language).unwrap_or_else(|| (paid.clone(), fee_paid.clone()));
    let code =
        (view == View::Code).then(|| forms::code(asked, language.fill(&hosted::PAY_AMOUNT, &[("amount", &paid.0)])));
    let (shop, path) = (leads_to(intent), format!("/checkout/{}", intent.id));
    let leaves_after = (view == View::Succeeded && payment.leads_away()).then_some(LEAVES_AFTER);
    let is_long = usize::from(payment.waited() > LONG);
    let refresh = if is_waiting { Some((REFRESHES[is_long], path.clone())) } else { leaves_after.zip(ascii(&shop)) };
    let is_approved_on_phone = view == View::WaitingForPhone;
    Document {
        id: intent.id.to_string(),
        revision: intent.version,
        as_of: payment.now.unix(),
        reads: match (is_waiting, is_open) {
            (true, _) => READS[is_long],
            (false, true) => READS_IN_DOUBT,
            (false, false) => 0,
        },
        refresh: refresh.map(|(seconds, address)| format!("{seconds}; url={address}")),
        merchant: merchant.clone(),
        heading: language.fill(&hosted::PAY_MERCHANT, &[("merchant", merchant)]),
        description: terms.description.clone(),
        items: texts::items(payment, language),
        name: entry.name,
        tone: if is_unsure { "info" } else { entry.tone },
        icon: if is_unsure { "info" } else { entry.icon },
        is_quiet: view == View::Ready && !is_unsure && state.duplicate_payments.is_empty(),
        texts: texts::texts(service, payment, language, view, is_unsure),
        steps: if is_approved_on_phone { texts::steps(payment, language) } else { Vec::new() },
        wrong: if has_form && methods.is_empty() {
            language.of(&hosted::NO_METHODS).to_owned()
        } else {
            forms::wrong(asked, &methods, code.as_ref())
        },
        token: service.instance_key.form(&intent.id).expose().to_owned(),
        receipt: if view == View::Succeeded { texts::receipt(payment, language, &paid, &fee_paid) } else { Vec::new() },
        issuer: if view == View::Bank {
            replies::challenge_url(intent, &service.instance_key, &service.public_origin)
        } else {
            String::new()
        },
        can_check: is_waiting || is_open || asked.choosing,
        is_check_first: is_waiting || is_unsure,
        is_waiting,
        is_final: entry.is_final,
        is_last: state.attempts >= MAX_ATTEMPTS,
        can_choose: has_step,
        can_abandon: is_approved_on_phone,
        can_cancel: has_form || has_step,
        leave: language.of(if (has_form || has_step) && !is_open { &hosted::LEAVE_UNPAID } else { &hosted::LEAVE }),
        is_leave_explained: is_approved_on_phone && !shop.is_empty(),
        leaves_after,
        amount,
        fee,
        methods,
        code,
        path,
        shop,
        ..Document::empty(language, assets)
    }
}

/// The amount and the fee that the page names before a way of paying is chosen. Where the ways cost differently, the
/// script names those of the chosen one.
fn headline(payment: &Payment, methods: &[Method], language: Language) -> Option<(Amount, String)> {
    let first = methods.first()?;
    if methods.iter().all(|method| method.headline == first.headline) {
        return Some((first.headline.clone(), first.fee.clone()));
    }
    let terms = &payment.intent.terms;
    let amount = language.money(terms.amount, terms.currency.as_str());
    Some((Amount(amount), language.of(&hosted::PLUS_FEE).to_owned()))
}

/// The version of the page: of its files and its templates.
fn version(assets: &str) -> String {
    static TEMPLATES: LazyLock<String> = LazyLock::new(|| {
        let templates =
            [include_str!("../../../templates/checkout.html"), include_str!("../../../templates/fields.html")];
        hex::encode(&Sha256::digest(templates.concat())[..4])
    });
    let files = assets.rsplit('/').next().unwrap_or_default();
    format!("{files}-{}", *TEMPLATES)
}

/// The address of the shop with the parameters of a return, as `guichet/hosted` leaves to it. Empty if there is none.
fn leads_to(intent: &Intent) -> String {
    let known = [
        ("payment_intent", intent.id.as_str()),
        ("payment_ref", &intent.payment_ref),
        ("merchant_reference", &intent.terms.merchant_reference),
        ("status", intent.state.status.into_str()),
    ];
    let address = intent.terms.redirect_url.as_deref();
    address.and_then(|address| redirect_address(address, &[], &known).ok()).unwrap_or_default()
}

/// The same address in the characters that a header may have.
fn ascii(address: &str) -> Option<String> {
    Url::parse(address).ok().map(String::from)
}

/// The content security policy of the page: its style, and the line that loads a waiting page again, are allowed by
/// their digests. HTML that the script receives becomes a document through one policy of Trusted Types alone.
static OWN_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let policy = POLICY
        .replace("script-src 'self'", &format!("script-src 'self' 'sha256-{}'", digest(RELOAD)))
        .replace("style-src 'self'", &format!("style-src 'self' 'sha256-{}'", digest(&CHECKOUT_STYLE)))
        .replace("form-action 'none'", "form-action 'self'");
    HeaderValue::try_from(policy + "; trusted-types guichet-page; require-trusted-types-for 'script'")
        .expect("a policy is plain text")
});

pub(super) fn html(document: &impl Template, status: StatusCode, request: &HeaderMap) -> Response<Body> {
    let text = document.render().expect("a template writes to memory");
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, OWN_POLICY.clone());
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding, accept-language, cookie"));
    let compressed = gzip(text.as_bytes(), request);
    headers.extend(compressed.as_ref().map(|_| (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))));
    *response.body_mut() = compressed.map_or_else(|| Body::from(text), Body::from);
    response
}
