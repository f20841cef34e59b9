//! What became of the payments: the timer, and what the shop makes of a reply.

use super::*;

/// Stands for the attempt of a refund of a whole payment.
const WHOLE: u64 = u64::MAX;

impl Server {
    /// A round of the timer. It also does what the commands `--restart` and `--settle` request.
    pub(super) async fn settle_all(&self) {
        let requested = |name: &str| self.folder.join(name);
        let is_settling = requested("settle").exists();
        if is_settling || !self.is(NoTimer) {
            self.settle_each().await;
        }
        if self.is(SendsAgain) {
            let stored: Vec<Value> = self.books().open().cloned().collect();
            for body in stored {
                drop(self.call("POST", "/payment-intents", Some(body)).await);
            }
        }
        if is_settling {
            std::fs::remove_file(requested("settle")).unwrap();
        }
        if requested("restart").exists() {
            self.restart();
            std::fs::remove_file(requested("restart")).unwrap();
        }
    }

    async fn settle_each(&self) {
        for payment_ref in self.due() {
            let payment = self.books().payments[&payment_ref].clone();
            let is_forgotten = payment.given_up || (payment.was_asked && self.is(ForgetsReturned));
            if is_forgotten || self.books().timer_has_ended {
                continue;
            }
            if self.settle(&payment_ref, false).await.is_err() {
                self.books().timer_has_ended = self.is(TimerEndsAtError);
                if self.is(EndsRoundAtError) {
                    break;
                }
            }
        }
    }

    /// The payments that the timer reads, the oldest first.
    fn due(&self) -> Vec<String> {
        let books = self.books();
        let mut payments: Vec<_> = books.payments.iter().collect();
        payments.sort_by_key(|(_, payment)| payment.place);
        if self.is(SettlesYoungestAlone) {
            payments.retain(|(_, payment)| !books.ended.contains(&payment.reference));
            payments.drain(..payments.len().saturating_sub(1));
        }
        if self.is(EndsRoundAtUnsent) && !books.unsent.is_empty() {
            payments.clear();
        }
        payments.into_iter().map(|(name, _)| name.clone()).collect()
    }

    fn restart(&self) {
        let mut books = self.books();
        books.restarts += 1;
        match self.broken {
            ForgetsPaymentsAtRestart => books.payments.clear(),
            MarksAgainAfterRestart => books.payments.values_mut().for_each(|payment| payment.paid = false),
            GivesUpOpenAtRestart => books.payments.values_mut().for_each(|payment| payment.given_up = true),
            LosesLineAtRestart => {
                if let Some(first) = books.payments.values_mut().min_by_key(|payment| payment.place) {
                    first.paid = true;
                    drop(std::fs::remove_file(self.folder.join(&first.reference)));
                }
            }
            _ => {}
        }
    }

    pub(super) fn mark_reference_paid(&self, reference: &str) {
        let payments = self.books().payments.clone();
        if let Some((payment_ref, _)) = payments.iter().find(|(_, payment)| payment.reference == reference) {
            self.mark_paid(payment_ref);
        }
    }

    pub(super) fn mark_paid(&self, payment_ref: &str) {
        let mut books = self.books();
        let payment = books.payments.get_mut(payment_ref).unwrap();
        if !payment.paid {
            payment.paid = true;
            self.write(&payment.reference, "paid");
        }
    }

    /// Reads a payment with the key, compares it with the order, and stores what became of it. Returns what was read.
    pub(super) async fn settle(&self, payment_ref: &str, for_page: bool) -> Answer<Value> {
        let (payment, sold) = {
            let mut books = self.books();
            let stored = books.payments.get_mut(payment_ref).ok_or_else(missing)?;
            stored.was_asked |= for_page;
            let payment = stored.clone();
            let sold = books.bodies[&payment.reference].clone();
            (payment, sold)
        };
        let read = self.call("GET", &format!("/payment-intents/{}", payment.id), None).await;
        let mut books = self.books();
        let next = payment.declined + 1;
        if let Err(refused) = &read {
            let status = refused.status();
            let is_failed = match self.broken {
                TakesFailedReadForFailed => !payment.paid,
                TakesServerErrorForFailed => status == StatusCode::INTERNAL_SERVER_ERROR && !for_page && !payment.paid,
                _ => false,
            };
            if is_failed {
                books.declined.insert(payment.order.clone(), next);
            }
            if self.is(ForgetsPaymentAfter404) && status == StatusCode::BAD_GATEWAY && !for_page {
                books.payments.get_mut(payment_ref).unwrap().given_up = true;
            }
        }
        let intent = read?["data"].take();
        if !self.is_the_one_sold(&intent, &payment, &sold) {
            if self.is(NextReferenceAfterMismatch) {
                books.declined.insert(payment.order, next);
            }
            return Err(error(409, "payment_mismatch"));
        }
        if self.is_paid(&intent) {
            self.mark(&mut books, payment_ref, &payment, &intent, for_page)?;
        }
        let stored = books.payments.get_mut(payment_ref).ok_or_else(missing)?;
        stored.given_up |= self.gives_up(&intent);
        self.refund_duplicates(stored, &intent, &sold, for_page);
        if self.counts_as_declined(&intent, &payment) {
            let declined = books.declined.entry(payment.order).or_default();
            *declined = if self.is(CountsDeclineEachTime) { *declined + 1 } else { (*declined).max(next) };
        }
        if ["failed", "canceled", "succeeded"].iter().any(|end| intent["status"] == *end) {
            books.ended.insert(payment.reference);
        }
        Ok(intent)
    }

    /// Marks the order of a payment that has succeeded; a refund is due if another payment has paid it.
    fn mark(&self, books: &mut Books, read: &str, payment: &Payment, intent: &Value, for_page: bool) -> Answer<()> {
        let is_second = books.payments.values().any(|other| {
            other.paid && other.order == payment.order && other.reference != payment.reference && !payment.paid
        });
        if is_second {
            let stored = books.payments.get_mut(read).ok_or_else(missing)?;
            let whole = if self.is(RefundsPriceOfSecondPayment) { "amount" } else { "amount_payable" };
            if !stored.refunds.contains(&WHOLE) {
                stored.refunds.push(WHOLE);
                self.write_refund(&payment.reference, &intent[whole]);
            }
            return Ok(());
        }
        let field = match self.broken {
            PaysReferenceOfReply => Some("merchant_reference"),
            PaysIdOfReply => Some("id"),
            _ => None,
        };
        let is_named = |other: &Payment| {
            field.is_some_and(|field| intent[field] == *other.reference || intent[field] == *other.id)
        };
        let named = books.payments.iter().find(|(_, other)| is_named(other)).map(|(name, _)| name.clone());
        let stored = books.payments.get_mut(named.as_deref().unwrap_or(read)).ok_or_else(missing)?;
        let was_paid = match self.broken {
            MarksTwice => payment.paid,
            MarksForPageAndTimer => stored.knows[usize::from(for_page)],
            _ => stored.paid,
        };
        stored.knows[usize::from(for_page)] = true;
        stored.reads_since_paid += 1;
        let is_third = stored.reads_since_paid == 3;
        let marks_again = (self.is(MarksAtEachStatus) && for_page) || (self.is(MarksAgainLater) && is_third);
        if !was_paid || marks_again {
            stored.paid = true;
            self.write(&stored.reference, "paid");
        }
        match self.broken {
            RefundsLater if is_third => self.write(&stored.reference, "refund_due"),
            ForgetsPaidLater if is_third => std::fs::remove_file(self.folder.join(&stored.reference)).unwrap(),
            _ => {}
        }
        Ok(())
    }

    fn refund_duplicates(&self, stored: &mut Payment, intent: &Value, sold: &Value, for_page: bool) {
        for duplicate in intent["duplicate_payments"].as_array().into_iter().flatten() {
            let attempt = duplicate["attempt"].as_u64().unwrap_or_default();
            let known = stored.refunds.iter().filter(|known| **known == attempt).count();
            let is_known = match self.broken {
                IgnoresDuplicates => true,
                RefundsTwice => known > 1,
                RefundsOncePerPayment => !stored.refunds.is_empty(),
                RefundsAtEachStatus => known > 0 && !for_page,
                _ => known > 0,
            };
            if is_known {
                continue;
            }
            stored.refunds.push(attempt);
            let amount = match self.broken {
                RefundsPriceOfDuplicate => sold["amount"].clone(),
                AddsRefundsUp => {
                    let amount: usize = duplicate["amount"].as_str().unwrap().parse().unwrap();
                    (amount * stored.refunds.len()).to_string().into()
                }
                _ => duplicate["amount"].clone(),
            };
            self.write_refund(&stored.reference, &amount);
        }
    }

    fn write_refund(&self, reference: &str, amount: &Value) {
        self.write(reference, &format!("refund_due {}", amount.as_str().unwrap_or_default()));
    }

    /// Whether the order gets its next reference.
    fn counts_as_declined(&self, intent: &Value, payment: &Payment) -> bool {
        let status = &intent["status"];
        let is_final = status == "failed" || status == "canceled";
        match self.broken {
            KeepsDeclinedReference => false,
            CountsOneDecline => is_final && payment.declined == 0,
            IgnoresCanceled => status == "failed",
            NextReferenceWhileProcessing => is_final || status == "processing",
            NextReferenceAfterDecline => is_final || !intent["last_payment_error"].is_null(),
            NextReferenceForCode => is_final || intent["next_action"]["type"] == "otp",
            TakesUnknownForFailed => is_final || status == "under_review",
            NextReferenceOncePaid => is_final || status == "succeeded",
            _ => is_final,
        }
    }

    /// Whether the payment that was read is the one that was sold.
    fn is_the_one_sold(&self, intent: &Value, payment: &Payment, sold: &Value) -> bool {
        let text = |name: &str| intent[name].as_str().unwrap_or_default();
        let Payment { id, reference, .. } = payment;
        let amount = sold["amount"].as_str().unwrap_or_default();
        let owner = &intent["customer"]["email"];
        let is_owner = |is_awas: fn(&str) -> bool| owner.as_str().is_some_and(is_awas);
        let has_amount = match self.broken {
            IgnoresAmount => true,
            ReadsAmountAsFloat => text("amount").parse::<f64>().ok() == amount.parse().ok(),
            CutsAmount => text("amount").starts_with(amount),
            AcceptsMore => text("amount").parse::<u64>().ok() >= amount.parse().ok(),
            ComparesWithCatalogue => intent["amount"] == self.price(),
            _ => intent["amount"] == amount,
        };
        let has_currency = match self.broken {
            IgnoresCurrency => true,
            AcceptsBothFrancs => ["XAF", "XOF"].contains(&text("currency")),
            ComparesTwoLettersOfCurrency => text("currency").starts_with("XA"),
            AcceptsNoCurrency => intent["currency"].is_null() || intent["currency"] == "XAF",
            _ => intent["currency"] == self.currency(),
        };
        let has_reference = match self.broken {
            IgnoresReference | PaysReferenceOfReply => true,
            ComparesReferenceWithoutCase => text("merchant_reference").eq_ignore_ascii_case(reference),
            ComparesStartOfReference => text("merchant_reference").starts_with(reference),
            TrimsReference => text("merchant_reference").trim() == reference,
            _ => text("merchant_reference") == reference,
        };
        let has_id = match self.broken {
            IgnoresId | PaysIdOfReply => true,
            AcceptsNoId => intent["id"].is_null() || intent["id"] == **id,
            _ => intent["id"] == **id,
        };
        let has_owner = match self.broken {
            IgnoresOwner => true,
            ComparesHostOfEmail => is_owner(|email| email.ends_with("@example.com")),
            ComparesNameOfEmail => is_owner(|email| email.split('@').next() == Some("awa")),
            AcceptsNoEmail => owner.is_null() || *owner == email("awa"),
            _ => *owner == email("awa"),
        };
        has_amount && has_currency && has_reference && has_id && has_owner
    }

    /// Whether this status, and nothing else, makes the order paid.
    fn is_paid(&self, intent: &Value) -> bool {
        let status = &intent["status"];
        let is_one_of = |statuses: &[&str]| statuses.iter().any(|one| status == one);
        let is_listed = || intent["duplicate_payments"].as_array().is_some_and(|list| !list.is_empty());
        match self.broken {
            PaysProcessing => is_one_of(&["succeeded", "processing"]),
            PaysUnlessItFailed => {
                status.is_string() && !is_one_of(&["requires_action", "processing", "failed", "canceled"])
            }
            ComparesStatusWithoutCase => status.as_str().is_some_and(|text| text.eq_ignore_ascii_case("succeeded")),
            PaysByLateApproval => status == "succeeded" || is_listed(),
            _ => status == "succeeded",
        }
    }

    /// Whether the timer no longer reads the payment, which a right shop never decides here.
    fn gives_up(&self, intent: &Value) -> bool {
        let (status, error) = (&intent["status"], &intent["last_payment_error"]);
        let declined = |code: &str| status == "requires_action" && error["code"] == code;
        match self.broken {
            GivesUpDeclined => status == "requires_action" && !error.is_null(),
            GivesUpAbandoned => declined("payer_timeout"),
            GivesUpUnavailable => declined("provider_unavailable"),
            GivesUpRejected => declined("rejected_by_payer"),
            StopsAtProcessing => status == "processing",
            StopsAtUnknown => status == "under_review" || status == "reversed",
            StopsAtSucceeded => status == "succeeded",
            StopsAtFailed => status == "failed",
            StopsAtCanceled => status == "canceled",
            _ => false,
        }
    }
}
