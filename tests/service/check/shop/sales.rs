//! Orders, and the payments that the shop creates for them.

use super::*;
use axum::body::Bytes;
use axum::extract::State;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a page sends with an order.
struct Page<'a> {
    uri: &'a Uri,
    headers: &'a HeaderMap,
    order: &'a Value,
}

/// Where a shop that believes the page finds a value.
enum Source {
    /// A pointer into the order.
    Order(&'static str),
    Query(&'static str),
    Header(&'static str),
    Cookie(&'static str),
}

use Source::{Cookie, Header, Order, Query};

/// The fields of a payment that a shop takes from the page as they are.
const TAKEN: &[(Broken, &str, Source)] = &[
    (TakesPriceFromPage, "amount", Order("/amount")),
    (TakesPriceOnRepeat, "amount", Order("/amount")),
    (TakesNestedPrice, "amount", Order("/items/0/unitPrice")),
    (TakesPriceFromQuery, "amount", Query("total")),
    (TakesPriceFromCookie, "amount", Cookie("amount")),
    (TakesPriceFromHeader, "amount", Header("x-price")),
    (TakesCurrency, "currency", Order("/currency")),
    (SellsInUgxOrPagesCurrency, "currency", Order("/currency")),
    (TakesNestedCurrency, "currency", Order("/cart/devise")),
    (TakesCurrencyFromQuery, "currency", Query("currency")),
    (TakesEmail, "email", Order("/customer/email")),
    (TakesFirstname, "firstname", Order("/firstName")),
    (TakesReference, "merchant_reference", Order("/orderRef")),
    (TakesNestedReference, "merchant_reference", Order("/payment/reference")),
    (TakesRedirectUrl, "redirect_url", Order("/returnUrl")),
    (FollowsReferer, "redirect_url", Header("referer")),
    (TakesFeeBearer, "fee_bearer", Order("/fee_bearer")),
    (TakesFeeBearerOnRepeat, "fee_bearer", Query("fee_bearer")),
    (TakesMethodTypes, "payment_method_types", Order("/payment_method_types")),
    (TakesDescriptionOnRepeat, "description", Order("/description")),
    (MergesFields, "metadata", Order("/metadata")),
    (MergesFields, "confirmation_method", Order("/confirmation_method")),
];

impl Page<'_> {
    fn value(&self, source: &Source) -> Option<Value> {
        match source {
            Order(pointer) => self.order.pointer(pointer).cloned(),
            Query(name) => query(self.uri, name).map(Value::from),
            Header(name) => text(self.headers, name).map(Value::from),
            Cookie(name) => cookie(self.headers, name).map(Value::from),
        }
    }
}

/// What is sent for an order.
struct Sale {
    declined: u32,
    reference: String,
    body: Value,
    nonce: String,
}

pub(super) async fn intents_by_get(state: State<Arc<Server>>, uri: Uri, mut headers: HeaderMap) -> Answer {
    if state.is(ListsPayments) {
        state.customer(&headers, "intents")?;
        return Ok(Json(json!({"payments": state.books().references()})).into_response());
    }
    let id = query(&uri, "id").filter(|_| state.is(IntentByGet));
    let id = id.ok_or_else(|| error(405, "method_not_allowed"))?;
    headers.insert("content-type", "application/json".parse().unwrap());
    intents(state, uri, headers, json!({"id": id}).to_string().into()).await
}

pub(super) async fn intents_by_put(state: State<Arc<Server>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    match state.broken {
        IntentByPut => intents(state, uri, headers, body).await,
        _ => Err(error(405, "method_not_allowed")),
    }
}

pub(super) async fn intents(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    let refused = server.refuse_other_sites(&headers, "intents");
    let is_foreign_multipart = server.is(TakesForeignMultipart) && content_type(&headers).starts_with("multipart/");
    if !server.is(RefusesAfterCreation) && !is_foreign_multipart {
        refused?;
    }
    let customer = match server.customer(&headers, "intents") {
        Err(_) if server.is(SellsToStrangers) => "awa".to_owned(),
        customer => customer?,
    };
    let order = server.order(&headers, &body)?;
    if server.is(LimitsEveryone) && server.books().open().count() >= 20 && customer != "awa" {
        return Err(error(409, "too_many_open_payments"));
    }
    let id = order["id"].as_str().filter(|id| ORDERS.contains(id) || id.starts_with("N-"));
    let id = id.filter(|_| !server.is(ForgetsOrdersAtRestart) || server.books().restarts == 0);
    let id = id.filter(|_| customer == "awa" || server.is(SellsOrdersOfOthers));
    let id = id.ok_or_else(|| error(404, "order_missing"))?;
    if let (GivesNamedPayment, Some(named)) = (server.broken, order["payment_ref"].as_str()) {
        let payment = server.books().payments.get(named).cloned().ok_or_else(missing)?;
        let intent = server.call("GET", &format!("/payment-intents/{}", payment.id), None).await?["data"].take();
        return Ok(Json(json!({"intent": intent, "return_nonce": nonce(&payment.reference, 0)})).into_response());
    }
    if server.is(RefusesRepeat) && server.books().payments.values().any(|payment| payment.order == id) {
        return Err(error(409, "order_sent"));
    }
    let sale = server.sell(id, &customer, &Page { uri: &uri, headers: &headers, order: &order })?;
    let intent = server.create(id, &sale).await?;
    if server.is(MarksPaidByPage) && order["status"] == "succeeded" {
        server.write(&sale.reference, "paid");
    }
    server.refuse_other_sites(&headers, "intents")?;
    if content_type(&headers) == "application/x-www-form-urlencoded" {
        let checkout_url = intent["checkout_url"].as_str().unwrap_or_default().to_owned();
        return Ok((StatusCode::SEE_OTHER, [("location", checkout_url)]).into_response());
    }
    Ok(server.sold(&intent, sale))
}

impl Server {
    /// Reads the order of a request.
    fn order(&self, headers: &HeaderMap, body: &Bytes) -> Answer<Value> {
        let content_type = content_type(headers);
        let is_multipart = content_type.starts_with("multipart/");
        let text = String::from_utf8_lossy(body);
        let takes_any = match self.broken {
            TakesTextPlain => true,
            TakesTextWithCharset => content_type == "text/plain; charset=UTF-8",
            TakesTextThatNamesJson => content_type.contains("json"),
            TakesMultipart => is_multipart,
            _ => false,
        };
        match content_type {
            "application/x-www-form-urlencoded" => Ok(json!({"id": text.trim_start_matches("id=")})),
            "application/json" => serde_json::from_slice(body).map_err(|_| match self.broken {
                ShowsKeyInError => {
                    (StatusCode::BAD_REQUEST, format!("invalid JSON; the settings are {}", self.key)).into_response()
                }
                _ => error(400, "invalid_json"),
            }),
            _ if is_multipart && self.is(TakesForeignMultipart) => {
                let part = text.split("name=\"id\"\r\n\r\n").nth(1);
                Ok(json!({"id": part.and_then(|rest| rest.lines().next()).unwrap_or_default()}))
            }
            _ if takes_any => Ok(serde_json::from_slice(body).unwrap_or_default()),
            _ => Err(error(415, "unsupported_media_type")),
        }
    }

    /// Prices an order, and stores what is sent for it before it is sent.
    fn sell(&self, id: &str, customer: &str, page: &Page<'_>) -> Answer<Sale> {
        let mut books = self.books();
        books.created += 1;
        let (declined, reference) = self.reference(&books, id, page);
        let salt = if self.is(ForgetsNonceAtRestart) { books.restarts } else { 0 };
        let nonce = match self.broken {
            CountsNonces => format!("{:022}", reference.bytes().map(usize::from).sum::<usize>()),
            HashesReference => sha256(&reference),
            HashesOrderAndCustomer => sha256(&format!("{id}:{}", email(customer))),
            PadsReference => format!("{:x<22}", reference.replace(['-', '.'], "")),
            ShortensNonce => nonce(&reference, salt)[..8].to_owned(),
            _ => nonce(&reference, salt),
        };
        let mut body = self.body(&books, id, &reference, declined, customer);
        if !self.is(ReturnsWithoutNonce) {
            body["redirect_url"] = format!("{}/return?guichet_return={nonce}", self.origin).into();
        }
        let is_stored = books.bodies.contains_key(&reference);
        let open = if self.is(CountsEndedPayments) { books.bodies.len() } else { books.open().count() };
        if open >= 20 && (!is_stored || self.is(RefusesKnownAtLimit)) {
            match self.broken {
                NoLimit => {}
                RefusesWith429 => return Err(error(429, "rate_limited")),
                _ => return Err(error(409, "too_many_open_payments")),
            }
        }
        if is_stored || !self.believes_repeats() {
            self.forge(&books, &mut body, page);
        }
        // What was sent for a reference is sent again, but by these.
        let is_rewritten = self.believes_repeats()
            || matches!(
                self.broken,
                ForgetsNonceAtRestart | NumbersEachDescription | SendsNewBody | NumbersDescription
            );
        if let Some(stored) = books.bodies.get(&reference).filter(|_| !is_rewritten) {
            body = stored.clone();
        } else if !self.is(InsertsAfterCall) {
            books.unsent.insert(reference.clone());
            books.bodies.insert(reference.clone(), body.clone());
        }
        Ok(Sale { declined, reference, body, nonce })
    }

    /// How often the order was declined, and the reference of its payment.
    fn reference(&self, books: &Books, id: &str, page: &Page<'_>) -> (u32, String) {
        let of_order = || books.payments.values().filter(|payment| payment.order == id);
        let is_known = of_order().next().is_some();
        let declined = books.declined.get(id).copied().unwrap_or(0);
        // What paid the order is repeated, whatever came after it.
        let has_next = of_order().any(|payment| payment.declined == declined && !payment.paid);
        let keeps_paid = match self.broken {
            NextReferenceOncePaid | SellsPaidOrderAgain => false,
            HandsOutOpenPayment => !has_next,
            SellsAgainWithoutNext => has_next,
            _ => true,
        };
        let paid = of_order().find(|payment| payment.paid && keeps_paid);
        let declined = paid.map_or(declined, |paid| paid.declined);
        let reference = if declined == 0 { format!("ORDER-{id}") } else { format!("ORDER-{id}.{declined}") };
        let stored = of_order().find(|payment| payment.declined == declined).map(|stored| stored.reference.clone());
        let numbered = format!("{reference}-{}", books.created);
        let reference = match self.broken {
            NamesReferenceByStart => format!("{reference}-s{}", books.restarts),
            MakesNewReferenceEachTime => numbered,
            NewReferenceForRetry if page.order["retry"] == true => numbered,
            NewReferenceForRetry => reference,
            NamesReferenceByTime | InsertsAfterCall if !is_known => numbered,
            NumbersReferenceOfFailedCall => stored.unwrap_or(numbered),
            NumbersOrderInFlight if books.unsent.contains(&reference) => stored.unwrap_or(numbered),
            _ => stored.unwrap_or(reference),
        };
        (declined, reference)
    }

    /// What is sent for an order, but for its return nonce.
    fn body(&self, books: &Books, id: &str, reference: &str, declined: u32, customer: &str) -> Value {
        let is_known = books.payments.values().any(|payment| payment.order == id);
        let amount = if self.is(KeepsOldPrice) && declined > 0 { PRICE.to_owned() } else { self.price() };
        let description = match self.broken {
            PutsKeyIntoDescription => format!("A pair of shoes ({})", self.key),
            NumbersEachDescription => format!("A pair of shoes ({})", books.created),
            NumbersDescription if !is_known => format!("A pair of shoes ({})", books.created),
            _ => "A pair of shoes".to_owned(),
        };
        let mut body = json!({
            "firstname": "Awa", "lastname": "Ngono", "email": email(customer), "amount": amount,
            "description": description, "merchant_reference": reference, "fee_bearer": "customer",
            "redirect_url": format!("{}/return", self.origin),
        });
        if self.currency() != "XAF" {
            body["currency"] = self.currency().into();
        }
        body
    }

    /// Whether the shop believes the page once it has stored what it sends.
    fn believes_repeats(&self) -> bool {
        matches!(self.broken, TakesPriceOnRepeat | TakesDescriptionOnRepeat | TakesFeeBearerOnRepeat)
    }

    /// Does what a shop does that believes the page.
    fn forge(&self, books: &Books, created: &mut Value, page: &Page<'_>) {
        let Page { order, headers, .. } = page;
        let number = |value: &Value| value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
        let price: f64 = PRICE.parse().unwrap();
        let amount = match self.broken {
            TakesCheaperPrice => number(&order["grandTotal"]).filter(|page| *page > price / 2.0 && *page < price),
            SubtractsDiscount => number(&order["reduction"]).map(|less| price - less),
            AddsTip => number(&order["tip"]).map(|tip| price + tip),
            MultipliesQuantity => number(&order["qty"]).map(|count| (price * count).round()),
            ParsesQuantity => {
                let count = order["quantity"].as_str().and_then(|text| text.parse::<f64>().ok());
                count.filter(|count| *count > 0.0).map(|count| (price * count).ceil())
            }
            WrapsQuantity => {
                let count = order["quantity"].as_u64();
                count.map(|count| f64::from((price as u32).wrapping_mul(count as u32) % 40_000))
            }
            _ => None,
        };
        let address = match self.broken {
            TakesReturnAddressByPrefix => {
                order["return_to"].as_str().filter(|address| address.starts_with(&self.origin)).map(str::to_owned)
            }
            TakesNextPath => {
                order["next"].as_str().filter(|path| path.starts_with('/')).map(|path| format!("http:{path}"))
            }
            FollowsHost => text(headers, "host").map(|host| format!("https://{host}/")),
            FollowsForwardedHost => text(headers, "x-forwarded-host").map(|host| format!("https://{host}/")),
            PutsTokenIntoRedirectUrl => {
                let session = books.session.as_ref().unwrap_or(&Value::Null);
                let token = session["data"]["session_token"].as_str().unwrap_or_default();
                Some(format!("{}&session={token}", created["redirect_url"].as_str().unwrap()))
            }
            _ => None,
        };
        let owner = match self.broken {
            TakesOwnerFromHeader => text(headers, "x-user-id"),
            TakesOwnerFromCookie => cookie(headers, "user_id"),
            _ => None,
        };
        let made = [
            ("amount", amount.map(|amount| amount.to_string())),
            ("redirect_url", address),
            ("email", owner.map(|name| email(&name))),
        ];
        let made = made.into_iter().map(|(field, value)| (field, value.map(Value::from)));
        let taken = TAKEN.iter().filter(|(broken, ..)| self.is(*broken));
        for (field, value) in taken.map(|(_, field, source)| (*field, page.value(source))).chain(made) {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                created[field] = value;
            }
        }
    }

    /// Creates the payment of an order, and stores it.
    async fn create(&self, id: &str, sale: &Sale) -> Answer<Value> {
        let Sale { declined, reference, body, .. } = sale;
        let created = self.call("POST", "/payment-intents", Some(body.clone())).await;
        let mut books = self.books();
        if let Err(refused) = &created {
            let is_next = match self.broken {
                NextReferenceAfterTimeout => refused.status() == StatusCode::GATEWAY_TIMEOUT,
                NextReferenceAfterConflict => refused.status() == StatusCode::CONFLICT,
                NextReferenceAfterLostReply => true,
                _ => false,
            };
            if is_next {
                *books.declined.entry(id.to_owned()).or_default() += 1;
            }
        }
        let intent = created?["data"].take();
        self.log(LogsCheckoutUrl, &intent.to_string());
        let text = |name: &str| intent[name].as_str().unwrap_or_default().to_owned();
        let payment = Payment {
            place: books.payments.len(),
            id: text("id"),
            reference: reference.clone(),
            order: id.to_owned(),
            declined: *declined,
            ..Payment::default()
        };
        books.unsent.remove(reference);
        books.bodies.insert(reference.clone(), body.clone());
        books.payments.entry(text("payment_ref")).or_insert(payment);
        if self.is(MarksAgainAtEachOrder) && intent["status"] == "succeeded" {
            self.write(reference, "paid");
        }
        Ok(intent)
    }

    /// The answer to an order.
    fn sold(&self, intent: &Value, sale: Sale) -> Response {
        let mut told = json!({
            "id": intent["id"], "checkout_url": intent["checkout_url"], "payment_ref": intent["payment_ref"],
            "merchant_reference": sale.reference, "status": intent["status"],
        });
        match self.broken {
            OmitsCheckoutUrl => told["checkout_url"] = Value::Null,
            OmitsPaymentRef => told["payment_ref"] = Value::Null,
            ShowsClientSecret => told["client_secret"] = intent["client_secret"].clone(),
            _ => {}
        }
        if self.is(AnswersWithoutEnvelope) {
            return Json(told).into_response();
        }
        let return_nonce = if self.is(AnswersAnotherNonce) { nonce("another", 0) } else { sale.nonce };
        let debug = self.is(ShowsKey).then_some(&self.key);
        let cache = if self.is(StoresIntentsPublicly) { "public" } else { "no-store" };
        let body = Json(json!({"intent": told, "return_nonce": return_nonce, "debug": debug}));
        ([("cache-control", cache)], body).into_response()
    }
}

/// Stands for an HMAC with a key of the shop.
pub(super) fn nonce(reference: &str, salt: u32) -> String {
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
