//! The bookkeeper's page: what is to be given back, what a person decides, what the application has not received, and
//! the day's sums. HTML without script, off by default.

mod access;
mod page;

use super::books::is_decided_so;
use super::config::{Admin as Opens, Config};
use super::seller::Seller;
use super::utc_offset::UtcOffset;
use access::{Forms, is_local, is_read_by_another_site, may_be_own_form};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use guichet::native::ledger::{Changed, Day, Mismatch, Money, Order, Resolve, Store, Verdict};
use guichet::native::{Buyer, Ledger, Owner, Refused};
use guichet::shop::ledger::{DAY, for_each_order, mismatches, refunds};
use guichet::values::Language;
use guichet::values::{Amount, printable};
use guichet_orders::AnyOrders;
use http::request::Parts;
use http::{Method, StatusCode, header};
use page::{BooksPage, ConfirmPage, List, NoticePage, OrdersPage, Page, html};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Mutex;
use url::form_urlencoded;

/// The longest name of a person, and the longest note, in characters.
const LONGEST: (usize, usize) = (100, 1_000);

/// What the routes share.
struct Admin {
    opens: Opens,
    shop: String,
    /// The path under which it is served: that of the routes beside it, none at an address of its own.
    path: String,
    /// Other origins that lead to it.
    origins: Vec<String>,
    forms: Forms,
    ledger: Ledger<AnyOrders>,
    orders: AnyOrders,
    seller: Arc<Seller>,
    /// Held by the one overview that reads every order.
    scan: Mutex<()>,
}

/// The routes of the page; none if the settings serve none.
pub(super) fn router(
    config: &Config,
    ledger: &Ledger<AnyOrders>,
    orders: &AnyOrders,
    seller: &Arc<Seller>,
) -> Result<Router, String> {
    let Some(opens) = config.admin else { return Ok(Router::new()) };
    let (path, origins) = match opens {
        Opens::At(_) => (String::new(), Vec::new()),
        Opens::Bookkeeper => {
            let origin = config.public_url.trim_end_matches('/').to_owned();
            (config.path.clone(), std::iter::once(origin).chain(config.origins.iter().cloned()).collect())
        }
    };
    let admin = Admin {
        opens,
        shop: config.name.clone(),
        path,
        origins,
        forms: Forms::new(seller.application.secret(), &config.name)?,
        ledger: ledger.clone(),
        orders: orders.clone(),
        seller: Arc::clone(seller),
        scan: Mutex::new(()),
    };
    let routes = Router::new()
        .route("/admin", get(books).post(decide))
        .route("/admin/orders", get(find))
        .route("/admin/orders/{name}", get(order));
    Ok(routes.layer(DefaultBodyLimit::max(64 * 1024)).with_state(Arc::new(admin)))
}

type Fields = HashMap<String, String>;

fn fields(text: &[u8]) -> Fields {
    form_urlencoded::parse(text).into_owned().collect()
}

/// A request of a person who may open the page.
struct Visit {
    page: Page,
    /// What the tokens of their forms are made for.
    subject: String,
    query: Fields,
}

/// Why something is not shown, or was not done: a word of the kind `problem`.
struct Problem(StatusCode, &'static str);

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused.status() {
            404 | 422 => Self(StatusCode::NOT_FOUND, "payment_missing"),
            // Its cause is in the log.
            _ => Self(StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        }
    }
}

impl Visit {
    fn answer(&self, result: Result<Response, Problem>) -> Response {
        result.unwrap_or_else(|problem| notice(&self.page, &problem, true))
    }

    /// Leads back to the page, which says what was done.
    fn back(&self, done: &str) -> Response {
        let sign = if self.page.query.is_empty() { '?' } else { '&' };
        let to = format!("{}{}{sign}done={done}", self.page.base, self.page.query);
        (StatusCode::SEE_OTHER, [(header::LOCATION, to), (header::CACHE_CONTROL, "no-store".to_owned())])
            .into_response()
    }
}

fn notice(page: &Page, Problem(status, why): &Problem, is_in: bool) -> Response {
    html(*status, &NoticePage { page, sentence: page.word("problem", why), is_in })
}

impl FromRequestParts<Arc<Admin>> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, Response> {
        let query = fields(parts.uri.query().unwrap_or_default().as_bytes());
        let mut page = admin.page(parts, &query);
        let refuse = |page: &Page, status, why| notice(page, &Problem(status, why), false);
        if matches!(admin.opens, Opens::At(_)) {
            let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
            if !peer.is_some_and(|ConnectInfo(peer)| is_local(*peer, &parts.headers)) {
                return Err(StatusCode::NOT_FOUND.into_response());
            }
        }
        if parts.method != Method::POST && is_read_by_another_site(&parts.headers) {
            return Err(refuse(&page, StatusCode::FORBIDDEN, "read_by_other_site"));
        }
        let subject = match admin.opens {
            Opens::At(_) => "loopback".to_owned(),
            Opens::Bookkeeper => match admin.seller.customer(parts).await {
                Ok(Some(customer)) if customer.is_bookkeeper() => {
                    let Buyer { owner, verified_email, .. } = customer.buyer;
                    let (Owner::Customer(id) | Owner::Guest(id)) = owner;
                    let email = verified_email.map(|email| format!(" ({})", email.as_str()));
                    page.who = Some([&*id, &email.unwrap_or_default()].concat());
                    ["customer:", &id].concat()
                }
                Ok(Some(_)) => {
                    return Err(refuse(&page, StatusCode::FORBIDDEN, "not_bookkeeper"));
                }
                Ok(None) => {
                    return Err(refuse(&page, StatusCode::UNAUTHORIZED, "not_signed_in"));
                }
                Err(refused) => return Err(notice(&page, &refused.into(), false)),
            },
        };
        if parts.method == Method::POST && !may_be_own_form(&parts.headers, &admin.origins) {
            return Err(refuse(&page, StatusCode::FORBIDDEN, "other_site"));
        }
        match admin.orders.shared().await {
            Ok(shared) => page.restores = shared.open_restores().cloned().collect(),
            Err(error) => return Err(notice(&page, &Refused::broken(error).into(), true)),
        }
        page.token = admin.forms.token(&(&*subject, "form"));
        Ok(Self { page, subject, query })
    }
}

impl Admin {
    /// A page for this request, before it is known who has sent it.
    fn page(&self, parts: &Parts, query: &Fields) -> Page {
        let header = parts.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let codes = Language::ALL.map(Language::code);
        let lang = query.get("lang").and_then(|lang| codes.into_iter().find(|one| one == lang));
        let chosen = query.get("utc_offset").and_then(|text| text.parse::<UtcOffset>().ok());
        let written = |lang: Option<&str>, others: &[&str]| {
            let mut all = form_urlencoded::Serializer::new(String::new());
            all.extend_pairs(lang.map(|lang| ("lang", lang)));
            all.extend_pairs(chosen.map(|offset| ("utc_offset", offset.to_string())));
            all.extend_pairs(others.iter().filter_map(|name| Some((*name, query.get(*name)?))));
            Some(all.finish()).filter(|all| !all.is_empty()).map(|all| format!("?{all}")).unwrap_or_default()
        };
        let path = if parts.method == Method::POST { "/admin" } else { parts.uri.path() };
        let in_language = |lang| format!("{}{path}{}", self.path, written(Some(lang), &["date", "find"]));
        let done =
            query.get("done").and_then(|done| ["decided", "delivered", "waiting"].into_iter().find(|one| one == done));
        let mut page = Page {
            language: Language::of_tag(lang.or(header).unwrap_or_default()),
            shop: self.shop.clone(),
            base: format!("{}/admin", self.path),
            lang,
            query: written(lang, &[]),
            languages: Language::ALL.map(|language| in_language(language.code())),
            utc_offset: chosen.unwrap_or_default(),
            who: None,
            token: String::new(),
            done: None,
            restores: Vec::new(),
        };
        page.done = done.map(|done| page.word("done", done));
        page
    }

    /// An order, and whether the application has received what it has become.
    async fn with_delivery(&self, order: Order) -> Result<(Order, bool), Refused> {
        let waiting = self.orders.events(Some(&order.name)).await.map_err(Refused::broken)?;
        Ok((order, waiting.is_empty()))
    }
}

async fn books(State(admin): State<Arc<Admin>>, visit: Visit) -> Response {
    let Visit { page, query, .. } = &visit;
    let read = async {
        let _scan = admin.scan.lock().await;
        let now = admin.ledger.now().await?;
        let date = query.get("date").and_then(|date| date.parse().ok());
        let (date, from) = page.utc_offset.day(date, now).map_err(Refused::broken)?;
        let (mut due, mut decide) = (List::default(), List::default());
        let mut day = Day::default();
        let each = for_each_order(&admin.orders, |order| {
            due.extend(refunds(order));
            decide.extend(mismatches(order, now).into_iter().map(|mismatch| (mismatch, order.asked.clone())));
            day.add(order, from, from + DAY);
        });
        each.await.map_err(Refused::broken)?;
        let mut events = List::default();
        events.extend(admin.orders.events(None).await.map_err(Refused::broken)?.into_iter().map(|event| {
            let state = serde_json::from_str(&event.body).ok().map(|changed: Changed| changed.state);
            (event.name, state)
        }));
        let shown = BooksPage { page, refunds: due, mismatches: decide, events, day, date: date.to_string() };
        Ok(html(StatusCode::OK, &shown))
    };
    visit.answer(read.await)
}

async fn order(State(admin): State<Arc<Admin>>, Path(name): Path<String>, visit: Visit) -> Response {
    visit.answer(show(&admin, &visit.page, &name).await)
}

async fn find(State(admin): State<Arc<Admin>>, visit: Visit) -> Response {
    let text = visit.query.get("find").map(|text| text.trim()).unwrap_or_default();
    visit.answer(show(&admin, &visit.page, text).await)
}

/// Shows the order of this name, or those that have a payment of this reference or id.
async fn show(admin: &Admin, page: &Page, text: &str) -> Result<Response, Problem> {
    let mut orders = Vec::new();
    match admin.ledger.order(text).await? {
        Some(order) => orders.push(admin.with_delivery(order).await?),
        None => {
            for name in admin.orders.find(text).await.map_err(Refused::broken)? {
                if let Some(order) = admin.ledger.order(&name).await? {
                    orders.push(admin.with_delivery(order).await?);
                }
            }
        }
    }
    if orders.is_empty() {
        return Err(Problem(StatusCode::NOT_FOUND, "order_missing"));
    }
    Ok(html(StatusCode::OK, &OrdersPage { page, orders }))
}

/// Stores what a person has decided, or delivers what the application has not received.
async fn decide(State(admin): State<Arc<Admin>>, visit: Visit, body: Bytes) -> Response {
    visit.answer(decided(&admin, &visit, &fields(&body)).await)
}

async fn decided(admin: &Arc<Admin>, visit: &Visit, form: &Fields) -> Result<Response, Problem> {
    let field = |name: &str| form.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
    if !admin.forms.is_token(field("token").unwrap_or_default(), &(&*visit.subject, "form")) {
        return Err(Problem(StatusCode::FORBIDDEN, "form_old"));
    }
    let action = field("action").unwrap_or_default();
    if action == "deliver" {
        let own = Arc::clone(admin);
        let left = to_its_end(async move { own.ledger.deliver_all(&own.seller).await }).await?;
        return Ok(visit.back(if left == 0 { "delivered" } else { "waiting" }));
    }
    let is_short = |text: &&str, longest: usize| text.chars().count() <= longest;
    let by = visit.page.who.as_deref().or(field("by").filter(|by| is_short(by, LONGEST.0)));
    let (Some(by), Some(note)) = (by, field("note").filter(|note| is_short(note, LONGEST.1))) else {
        return Err(Problem(StatusCode::UNPROCESSABLE_ENTITY, "who_and_why"));
    };
    let done = || Problem(StatusCode::CONFLICT, "decided");
    let order = admin.ledger.order(form.get("order").map_or("", String::as_str)).await?.ok_or_else(done)?;
    // As they are stored: a form without a member means none.
    let [reference, id, attempt] = ["reference", "id", "attempt"].map(|name| form.get(name).cloned());
    let (reference, id, attempt, verdict) = if action == "refunded" {
        let due = refunds(&order)
            .into_iter()
            .find(|one| Some(&one.due.key.id) == id.as_ref() && one.due.key.attempt == attempt);
        (due.ok_or_else(done)?.reference, id, attempt, Verdict::Refunded)
    } else {
        let listed = mismatches(&order, admin.ledger.now().await?);
        let is_it = |one: &&Mismatch| Some(&one.reference) == reference.as_ref() && one.id == id;
        let mismatch = listed.iter().find(is_it).ok_or_else(done)?;
        let verdict = match action {
            "ended" => Verdict::Ended,
            "accepted" => Verdict::Accepted,
            "given_back" => Verdict::Refunded,
            "paid" | "confirmed" => Verdict::Paid(mismatch.sum.clone()),
            _ => return Err(Problem(StatusCode::BAD_REQUEST, "action")),
        };
        if !is_decided_so(mismatch.why, &verdict) {
            return Err(Problem(StatusCode::CONFLICT, "changed"));
        }
        if matches!(verdict, Verdict::Paid(_)) {
            let (sum, id) = sum_paid(mismatch, &field)?;
            let of = confirmation(&visit.subject, mismatch, id, &sum);
            if action == "paid" {
                let (confirmed, then) = (admin.forms.token(&of), becomes(&order, mismatch, &sum));
                let shown = ConfirmPage { page: &visit.page, mismatch, id, sum, by, note, confirmed, then };
                return Ok(html(StatusCode::OK, &shown));
            }
            if !admin.forms.is_token(field("confirmed").unwrap_or_default(), &of) {
                return Err(Problem(StatusCode::FORBIDDEN, "not_confirmed"));
            }
            (mismatch.reference.clone(), Some(id.to_owned()), None, Verdict::Paid(sum))
        } else {
            (mismatch.reference.clone(), id, None, verdict)
        }
    };
    let resolve = Resolve { reference, id, attempt, verdict, who: by.to_owned(), why: note.to_owned() };
    let name = printable(&order.name);
    tracing::info!(order = %name, who = %printable(by), action, "decided on the bookkeeper's page");
    let own = Arc::clone(admin);
    to_its_end(async move { own.ledger.resolve(&own.seller, &order.name, resolve).await }).await?;
    Ok(visit.back("decided"))
}

/// The sum that a person says was paid, which they have typed twice, and the id of the payment.
fn sum_paid<'a>(mismatch: &Mismatch, field: &impl Fn(&str) -> Option<&'a str>) -> Result<(Money, &'a str), Problem> {
    let unreadable = Problem(StatusCode::UNPROCESSABLE_ENTITY, "sum");
    let read = || {
        let amount = Amount::of_request(field("amount").filter(|_| field("amount") == field("again"))?).ok()?;
        let id = field(if mismatch.id.is_some() { "id" } else { "paid_id" }).filter(|id| id.len() <= 255)?;
        Some((Money { amount, ..mismatch.sum.clone() }, id))
    };
    read().ok_or(unreadable)
}

/// What becomes of a payment that a person says was paid with this sum: a word of the kind `then`.
fn becomes(order: &Order, mismatch: &Mismatch, sum: &Money) -> &'static str {
    if order.paid_by.is_some() {
        return "refund_due";
    }
    let is_as_asked = sum == &mismatch.sum && order.asked.as_ref().is_none_or(|asked| asked == sum);
    if is_as_asked && !order.has_ended { "paid" } else { "to_decide" }
}

/// What a confirmation is made for.
fn confirmation<'a>(subject: &'a str, mismatch: &'a Mismatch, id: &'a str, sum: &Money) -> [String; 6] {
    let Money { amount, currency } = sum;
    [subject, &mismatch.order, &mismatch.reference, id, &amount.to_string(), currency].map(str::to_owned)
}

/// Carries out what was begun, also if the browser goes away.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refused>> + Send + 'static,
) -> Result<T, Refused> {
    tokio::spawn(work).await.unwrap_or_else(|panicked| Err(Refused::broken(panicked)))
}
