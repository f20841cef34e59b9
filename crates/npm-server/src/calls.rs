//! The calls to the service: `protocol` decides when each is sent, JavaScript sends it with the key.

use crate::value::{get, get_number, get_text, object, optional};
use crate::{Host, lock, nobody};
use guichet::operations::{
    ApprovableUntil, CreatePaymentIntent, CreateSession, DuplicatePayment, LastPaymentError, PaidWith, PaymentIntent,
    ReadPaymentIntent, RevokeSession,
};
use guichet::protocol::{
    Action, AttemptResult, Call, DEFAULT_DEADLINE, Error, FieldError, Kind, Operation, Refusal, Spec, assemble,
};
use guichet::shop::ledger::MARK;
use guichet::shop::{Calls, Granted, Grants, Reading, Refused};
use guichet::values::{Amount, CheckoutUrl, Email, IntentId, MerchantReference, Moment, PaymentRef, printable};
use js_sys::Array;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use wasm_bindgen::JsValue;

impl Grants for Host {
    async fn session(&self, login: Option<&str>, customer_email: &Email) -> Result<Granted, Refused> {
        let spec = const { &CreateSession::SPEC };
        let body = object(&[("customer_email", &customer_email.as_str().into())]);
        let data = self.call(spec, spec.path, body).await?;
        let session_token = get_text(&data, "session_token").ok_or_else(|| unreadable(spec))?;
        if let Some(login) = login {
            self.keep_session(login, &session_token).await?;
        }
        let customer_email = get_text(&data, "customer_email").unwrap_or_default();
        Ok(Granted { session_token, customer_email, expires_at: get_text(&data, "expires_at").map(in_utc) })
    }
}

impl Calls for Host {
    async fn nonce(&self, reference: &MerchantReference) -> Result<String, Refused> {
        if let Some(nonce) = self.stored_nonce() {
            return Ok(nonce);
        }
        let hmac = js_sys::Uint8Array::new(&self.ask("hmac", &[reference.as_str().into()]).await?).to_vec();
        let hmac = hmac.try_into().map_err(|_| Refused::broken("an HMAC has 32 bytes"))?;
        Ok(guichet::shop::nonce(&hmac))
    }
    async fn create(&self, purchase: &CreatePaymentIntent) -> Result<PaymentIntent, Refused> {
        let spec = const { &CreatePaymentIntent::SPEC };
        let body = self.body(purchase);
        let data = self.call(spec, spec.path, body).await?;
        Ok(self.payment(spec, data)?)
    }
    async fn read(&self, id: &IntentId) -> Result<Reading, Refused> {
        let spec = const { &ReadPaymentIntent::SPEC };
        let request = assemble(&ReadPaymentIntent::new(id.clone())).map_err(Refused::broken)?;
        let data = self.call(spec, &request.target, JsValue::UNDEFINED).await?;
        Ok(self.reading(spec, data)?)
    }
}

/// The random number that JavaScript has drawn with its last answer.
static DRAWN: AtomicU32 = AtomicU32::new(u32::MAX);

impl Host {
    /// Lets the shop keep the token with its login, whose end is then the token's. If the login has ended meanwhile, or if the shop cannot
    /// keep it, no page gets it.
    async fn keep_session(&self, login: &str, token: &str) -> Result<(), Refused> {
        let kept = self.ask("keepSession", &[login.into(), token.into()]).await;
        let refused = match kept {
            Ok(is_kept) if is_kept.is_truthy() => return Ok(()),
            Ok(_) => nobody(),
            Err(refused) => refused,
        };
        // If the service does not revoke it either, it expires by itself.
        let _ = self.revoke(token).await;
        Err(refused)
    }

    /// Ends a session.
    pub async fn revoke(&self, token: &str) -> Result<(), Refused> {
        let spec = const { &RevokeSession::SPEC };
        match self.call_as(Some(token), spec, spec.path, JsValue::UNDEFINED).await {
            // A session that the service does not know needs no end.
            Err(error) if error.kind() != Kind::Session => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Sends a request with the secret key until there is a final result. Returns `data`, or else the whole reply.
    pub async fn call(&self, spec: &'static Spec, target: &str, body: JsValue) -> Result<JsValue, Refused> {
        Ok(self.call_as(None, spec, target, body).await?)
    }

    /// The same, with a session token in the place of the key. The result of each attempt is added to those of the host.
    pub async fn call_as(
        &self,
        token: Option<&str>,
        spec: &'static Spec,
        target: &str,
        body: JsValue,
    ) -> Result<JsValue, Error> {
        // JavaScript's own functions do not fail here.
        let failed = |refused: Refused| Error::new(Kind::Offline, refused.message()).of(spec.name);
        let mut call = Call::new(spec.repeat, DEFAULT_DEADLINE);
        let mut elapsed = Duration::ZERO;
        let mut last = None;
        loop {
            let (answer, result) = match call.next(elapsed) {
                Action::Wait(pause) => {
                    self.ask("wait", &[millis(pause)]).await.map_err(failed)?;
                    elapsed += pause;
                    continue;
                }
                Action::Done => break,
                Action::Send(within) => {
                    let method = spec.method.as_str().into();
                    let arguments = [method, target.into(), body.clone(), millis(within), optional(token)];
                    let answer = self.ask("send", &arguments).await.map_err(failed)?;
                    let result = read(spec, &call, &answer);
                    (answer, result)
                }
            };
            elapsed += Duration::from_millis(get_number(&answer, "ms").unwrap_or_default().into());
            *lock(&self.as_of) = get_text(&answer, "date").and_then(|date| seconds(&date));
            DRAWN.store(get_number(&answer, "random").unwrap_or(u32::MAX), Ordering::Relaxed);
            let attempt = attempt(&answer);
            call.record(&attempt, || DRAWN.load(Ordering::Relaxed));
            lock(&self.attempts).push(attempt);
            // After `record`, since a conflict is judged by the attempts before it.
            last = Some(match result {
                Err(_) if get_number(&answer, "status").is_some() => read(spec, &call, &answer),
                result => result,
            });
            let kind = last.as_ref().and_then(|result| result.as_ref().err()).map(|error| error.kind().as_str());
            let arguments = [spec.name.into(), call.attempt().into(), answer, optional(kind)];
            self.ask("called", &arguments).await.map_err(failed)?;
        }
        last.unwrap_or_else(|| Err(Error::new(Kind::Timeout, "The deadline passed before anything was sent.")))
    }

    /// A payment with the times of its reply, which JavaScript reads.
    pub fn reading(&self, spec: &'static Spec, data: JsValue) -> Result<Reading, Error> {
        let expires_at = get_text(&data, "expires_at").and_then(|at| seconds(&at));
        Ok(Reading { intent: self.payment(spec, data)?, as_of: *lock(&self.as_of), expires_at, final_since: None })
    }

    /// Reads what the rules need of a payment, and keeps the whole.
    fn payment(&self, spec: &'static Spec, data: JsValue) -> Result<PaymentIntent, Error> {
        let text = |name| get_text(&data, name);
        let read = || {
            let (id, amount) = (IntentId::new(text("id")?).ok()?, Amount::new(&text("amount")?).ok()?);
            let mut intent = PaymentIntent::with_required(id, amount, text("currency")?, text("status")?.into());
            intent.payment_ref = text("payment_ref").and_then(|text| PaymentRef::new(text).ok());
            intent.merchant_reference = text("merchant_reference");
            intent.checkout_url = text("checkout_url").map(CheckoutUrl::new);
            intent.customer.email =
                get(&data, "customer").and_then(|customer| get_text(&customer, "email")).unwrap_or_default();
            if let Some(mark) = get(&data, "metadata").and_then(|metadata| get_text(&metadata, MARK)) {
                intent.metadata.insert(MARK.to_owned(), mark.into());
            }
            intent.attempts = get_number(&data, "attempts");
            intent.created_at = get_number(&data, "created_at").map(Into::into);
            intent.amount_payable = text("amount_payable").and_then(|amount| Amount::new(&amount).ok());
            let method = get(&data, "payment_method").and_then(|method| get_text(&method, "type"));
            if method.as_deref() == Some("card") {
                intent.payment_method = Some(PaidWith::Card { brand: String::new(), last4: String::new() });
            }
            intent.approvable_until = approvable_until(&data);
            intent.last_payment_error = get(&data, "last_payment_error").map(|error| {
                // One that cannot be read is a decline, too.
                let mut declined = LastPaymentError::with_required(get_text(&error, "code").unwrap_or_default());
                declined.message = get_text(&error, "message").unwrap_or_default();
                declined.approvable_until = approvable_until(&error);
                declined
            });
            let duplicates = get(&data, "duplicate_payments").filter(Array::is_array);
            let duplicates = duplicates.map(|list| Array::from(&list)).unwrap_or_default();
            intent.duplicate_payments = duplicates
                .iter()
                .zip((0..=u32::MAX).rev())
                .map(|(payment, substitute)| {
                    let mut duplicate = DuplicatePayment::default();
                    duplicate.attempt =
                        get_number(&payment, "attempt").filter(|attempt| *attempt > 0).unwrap_or(substitute);
                    duplicate.amount = get_text(&payment, "amount").and_then(|amount| Amount::new(&amount).ok());
                    duplicate.currency = get_text(&payment, "currency").unwrap_or_default();
                    duplicate.approved_at =
                        get_text(&payment, "approved_at").and_then(|text| seconds(&text)).map(Moment::from_unix);
                    duplicate
                })
                .collect();
            Some(intent)
        };
        let intent = read().ok_or_else(|| unreadable(spec))?;
        *lock(&self.intent) = data;
        Ok(intent)
    }
}

/// `null` is the operator's final word; without the member the service does not say.
fn approvable_until(object: &JsValue) -> Option<ApprovableUntil> {
    let until = js_sys::Reflect::get(object, &"approvable_until".into()).ok()?;
    match until.as_f64().filter(|seconds| seconds.trunc() == *seconds) {
        Some(seconds) => Some(ApprovableUntil::Unix(seconds as i64)),
        None => until.is_null().then_some(ApprovableUntil::Never),
    }
}

/// In Unix seconds, by JavaScript: the library that parses times takes more bytes than the rules.
fn seconds(text: &str) -> Option<i64> {
    let milliseconds = js_sys::Date::parse(text);
    milliseconds.is_finite().then_some((milliseconds / 1000.0) as i64)
}

fn unreadable(spec: &'static Spec) -> Error {
    Error::new(Kind::Unreadable, "The service's reply cannot be read.").of(spec.name)
}

fn millis(duration: Duration) -> JsValue {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX).into()
}

/// The result of an attempt, for the retry table. `notSent`, `lost` or `status`.
fn attempt(answer: &JsValue) -> AttemptResult {
    let Some(status) = get_number(answer, "status").and_then(|status| status.try_into().ok()) else {
        return if get(answer, "notSent").is_some() { AttemptResult::NotSent } else { AttemptResult::NoReply };
    };
    let retry_after = get_number(answer, "retryAfter").map(|seconds| Duration::from_secs(seconds.into()));
    let retryable =
        get(answer, "body").and_then(|body| get(&body, "error")).and_then(|error| get(&error, "retryable")?.as_bool());
    AttemptResult::Reply { status, retry_after, retryable }
}

/// The outcome of an attempt.
fn read(spec: &'static Spec, call: &Call, answer: &JsValue) -> Result<JsValue, Error> {
    let Some(status) = get_number(answer, "status").and_then(|status| u16::try_from(status).ok()) else {
        let (kind, message) = match get(answer, "timeout") {
            Some(_) => (Kind::Timeout, "The deadline passed before the service answered."),
            None => (Kind::Offline, "The service does not answer."),
        };
        let cause = get_text(answer, "cause").unwrap_or_default();
        return Err(Error::new(kind, [message, " ", &cause].concat().trim_end()).of(spec.name));
    };
    let body = get(answer, "body");
    let error = match (status, body) {
        (200..300, Some(body)) if body.is_object() => return Ok(get(&body, "data").unwrap_or(body)),
        (200..300, _) => unreadable(spec),
        (300..400, _) => Error::new(
            Kind::Address,
            "The service answered with a redirect, which is not followed. Set `baseUrl` to the address that answers.",
        ),
        (_, body) => call.refused(spec, status, refusal(&body.unwrap_or_default())),
    };
    Err(error.with_reply(status, get_text(answer, "requestId"), Vec::new()))
}

fn refusal(body: &JsValue) -> Refusal {
    let shown = |object: &JsValue, name| get_text(object, name).map(|text| printable(text).to_string());
    let error = get(body, "error").unwrap_or_default();
    let fields = get(&error, "errors").filter(Array::is_array).map(|list| Array::from(&list)).unwrap_or_default();
    let mut refusal = Refusal::default();
    refusal.code = shown(&error, "code");
    refusal.message = shown(body, "message");
    refusal.request_id = shown(&error, "request_id");
    refusal.retryable = get(&error, "retryable").and_then(|retryable| retryable.as_bool());
    refusal.fields = fields
        .iter()
        .map(|field| {
            let text = |name| shown(&field, name).unwrap_or_default();
            let mut error = FieldError::default();
            (error.param, error.code, error.message) = (text("param"), text("code"), text("message"));
            error
        })
        .collect();
    refusal.existing_id = shown(&error, "existing_id");
    refusal
}

/// A time without an offset is in UTC: so no page reads it as its local time.
fn in_utc(text: String) -> String {
    let (_, time) = text.split_once('T').unwrap_or_default();
    let is_time = time.starts_with(|first: char| first.is_ascii_digit());
    if is_time && !time.contains(['Z', 'z', '+', '-']) { text + "Z" } else { text }
}
