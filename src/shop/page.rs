//! Pages for a customer whose browser executes no script: the error of a form, and what the shop knows of a payment.

use super::{Reading, Refused, Reply};
use crate::flow::{LateApproval, OutcomeState};
use crate::values::Language;

impl Refused {
    /// The reply to a script, or a page in this language.
    #[must_use]
    pub fn reply(&self, page: Option<Language>) -> Reply {
        page.map_or_else(|| Reply::from(self), |language| self.page(language))
    }

    /// What the shop's own functions refuse is in the shop's words.
    fn page(&self, language: Language) -> Reply {
        let say = |english: &str, french: &str| language.pick(english, french).to_owned();
        let sentence = match (self.code(), self.status()) {
            ("authentication_required", _) => say(
                "You are not signed in. Sign in to the shop, and try again.",
                "Vous n’êtes pas connecté. Connectez-vous à la boutique, puis réessayez.",
            ),
            ("cross_site", _) => say(
                "Only the shop's own pages may send this. Open the shop, and try again.",
                "Seules les pages de la boutique peuvent envoyer ceci. Ouvrez la boutique, puis réessayez.",
            ),
            ("too_many_open_payments", _) => say(
                "You have 20 unpaid payments. Pay or cancel one of them first.",
                "Vous avez 20 paiements en attente. Payez ou annulez d’abord l’un d’eux.",
            ),
            ("resource_missing", _) => say(
                "This address names no payment of yours. If you have paid, it counts: look at your orders in the shop.",
                "Cette adresse ne correspond à aucun de vos paiements. Si vous avez payé, votre paiement est bien pris en compte : regardez vos commandes dans la boutique.",
            ),
            ("payment_unclear", _) => say(
                "The shop cannot confirm your payment yet. Do not pay again: ask the shop.",
                "La boutique ne peut pas encore confirmer votre paiement. Ne payez pas de nouveau : demandez à la boutique.",
            ),
            ("service_failed" | "unavailable" | "rate_limited", _) => say(
                "We cannot ask the payment company just now. If you have paid, it counts. Try again in a moment.",
                "Nous ne pouvons pas interroger le prestataire de paiement pour le moment. Si vous avez payé, votre paiement est bien pris en compte. Réessayez dans un instant.",
            ),
            (_, 429 | 503) => say(
                "The shop cannot do this just now. Nothing is lost: try again in a moment.",
                "La boutique ne peut pas répondre à votre demande pour le moment. Rien n’est perdu : réessayez dans un instant.",
            ),
            (_, 500..) => say(
                "Something went wrong. Try again; if it happens again, tell the shop.",
                "Un problème est survenu. Réessayez ; s’il revient, signalez-le à la boutique.",
            ),
            _ => self.message().to_owned(),
        };
        let mut reply = page(self.status(), language, &[sentence], false);
        reply.headers.extend(self.retry_after().map(|seconds| ("retry-after", seconds.to_string())));
        reply
    }
}

/// The page of a payment: what the shop knows of it. It loads itself again until that is final.
pub(super) fn payment_page(reading: &Reading, reference: &str, is_received: bool, language: Language) -> Reply {
    use OutcomeState::{Canceled, Failed, Succeeded};
    let (late, Reading { intent, as_of, plus_fee, .. }) = (reading.late_approval(), reading);
    let state = OutcomeState::of(&intent.status, true);
    let say = |english: &str, french: &str| language.pick(english, french).to_owned();
    let mut is_final = matches!(state, Succeeded | Failed | Canceled);
    let mut sentences = Vec::new();
    match (state, late) {
        (Succeeded, _) if !is_received => {
            is_final = false;
            sentences.push(say(
                "Thank you. You have paid; the shop is being informed.",
                "Merci. Vous avez payé ; la boutique en est informée.",
            ));
        }
        (Succeeded, _) => sentences.push(say("Thank you. You have paid.", "Merci. Vous avez payé.")),
        (Failed | Canceled | OutcomeState::Dismissed, LateApproval::Until(_) | LateApproval::Open) => {
            is_final = false;
            sentences.push(not_known(late, language, *as_of));
        }
        (Failed, _) => sentences.push(say(
            "The payment was declined. You can pay another way.",
            "Le paiement a été refusé. Vous pouvez payer autrement.",
        )),
        (Canceled, _) => sentences.push(say(
            "The payment was canceled. You can start again.",
            "Le paiement a été annulé. Vous pouvez recommencer.",
        )),
        (OutcomeState::Dismissed, _) => sentences.push(say("You have not paid yet.", "Vous n’avez pas encore payé.")),
        _ => sentences.push(say(
            "Your payment is not confirmed yet. This page asks again by itself.",
            "Votre paiement n’est pas encore confirmé. Cette page le redemande d’elle-même.",
        )),
    }
    if !intent.duplicate_payments.is_empty() {
        sentences.push(say(
            "Your operator took the money once too often. A refund is due.",
            "Votre opérateur a pris l’argent une fois de trop. Un remboursement est dû.",
        ));
    }
    match (state, late) {
        (Succeeded, LateApproval::Until(until)) => sentences.push(language.pick(
            "Your operator may still approve an earlier attempt, for {minutes} minutes more: if it does, that money is refunded.",
            "Votre opérateur peut encore accepter une tentative précédente, pendant {minutes} minutes : s’il le fait, cet argent vous est remboursé.",
        ).replace("{minutes}", &minutes(until, *as_of))),
        (Succeeded, LateApproval::Open) => sentences.push(say(
            "Your operator may still approve an earlier attempt: if it does, that money is refunded.",
            "Votre opérateur peut encore accepter une tentative précédente : s’il le fait, cet argent vous est remboursé.",
        )),
        _ => {}
    }
    let amount = language.money(intent.amount_payable.unwrap_or(intent.amount), &intent.currency);
    let fee = if *plus_fee { language.pick(" plus the fee", " plus les frais") } else { "" };
    sentences.push([reference, ", ", &amount, fee].concat());
    let mut reply = page(200, language, &sentences, !is_final);
    if !is_final {
        reply.headers.push(("refresh", pause(intent.created_at, *as_of).to_string()));
    }
    reply
}

fn not_known(late: LateApproval, language: Language, as_of: Option<i64>) -> String {
    let (unknown, refund) = match language {
        Language::English => (
            "We do not know yet whether your operator took the money",
            "If you pay a second time and both payments succeed, one of them is refunded.",
        ),
        Language::French => (
            "Nous ne savons pas encore si votre opérateur a pris l’argent",
            "Si vous payez une seconde fois et que les deux paiements réussissent, l’un des deux vous est remboursé.",
        ),
    };
    let LateApproval::Until(until) = late else { return [unknown, ". ", refund].concat() };
    let until = language
        .pick(
            ": it may approve this payment for {minutes} minutes more. ",
            " : il peut accepter ce paiement pendant encore {minutes} minutes. ",
        )
        .replace("{minutes}", &minutes(until, as_of));
    [unknown, &until, refund].concat()
}

/// The whole minutes until a time, from the service's time of its reply: the server does not know the customer's time
/// zone.
fn minutes(until: i64, as_of: Option<i64>) -> String {
    ((until - as_of.unwrap_or(until)).max(1) as u64).div_ceil(60).to_string()
}

/// Seconds until the page loads again: 3, and a second more for each minute since the payment was created, 30 at most.
fn pause(created_at: Option<i64>, as_of: Option<i64>) -> i64 {
    let age = as_of.zip(created_at).map_or(0, |(now, created_at)| now - created_at);
    (3 + age.max(0) / 60).min(30)
}

fn page(status: u16, language: Language, sentences: &[String], may_change: bool) -> Reply {
    let title = language.pick("Your payment", "Votre paiement");
    let mut body = [
        "<!doctype html>\n<html lang=\"",
        language.code(),
        "\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        title,
        "</title>\n<main>\n<h1>",
        title,
        "</h1>\n",
    ]
    .concat();
    for sentence in sentences {
        body.extend(["<p>", &escaped(sentence), "</p>\n"]);
    }
    if may_change {
        body.extend(["<p><a href=\"\">", language.pick("Check now", "Vérifier maintenant"), "</a></p>\n"]);
    }
    body.extend([
        "<p><a href=\"/\">",
        language.pick("Back to the shop", "Retour à la boutique"),
        "</a></p>\n</main>\n</html>\n",
    ]);
    let headers = [
        ("cache-control", "no-store"),
        ("content-type", "text/html; charset=utf-8"),
        ("content-security-policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ];
    let headers = headers.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
    Reply { status, headers, body }
}

/// A text as HTML shows it.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::PaymentIntent;
    use serde::Deserialize;
    use serde_json::json;

    #[test]
    fn a_page_asks_again_after_3_seconds_and_then_less_often() {
        let pauses = [0, 59, 60, 600, 86_400].map(|age| pause(Some(1_000), Some(1_000 + age)));
        assert_eq!(pauses, [3, 3, 4, 13, 30]);
        let unknown = [(None, Some(1_000)), (Some(2_000), Some(1_000)), (Some(1_000), None)];
        assert_eq!(unknown.map(|(created_at, as_of)| pause(created_at, as_of)), [3, 3, 3]);
    }

    #[test]
    fn a_refund_that_is_due_hides_no_attempt_that_is_open() {
        let page = |status: &str, attempts: u32| {
            let intent = json!({
                "id": "pi_1", "amount": "45000", "currency": "XAF", "status": status, "attempts": attempts,
                "last_payment_error": {"code": "payer_timeout", "message": "late"},
                "duplicate_payments": [{"attempt": 1, "amount": "45000", "currency": "XAF"}],
            });
            let intent = PaymentIntent::deserialize(&intent).expect("an intent");
            payment_page(
                &Reading { intent, as_of: Some(1_000), expires_at: Some(2_000), final_since: None, plus_fee: false },
                "ORDER-1",
                true,
                Language::English,
            )
        };
        let says = |reply: &Reply, sentence: &str| reply.body.contains(sentence);
        let asks_again = |reply: &Reply| reply.headers.iter().any(|(name, _)| *name == "refresh");
        for status in ["failed", "canceled", "requires_action"] {
            let open = page(status, 2);
            assert!(says(&open, "We do not know yet") && says(&open, "A refund is due"), "{status}: {}", open.body);
            assert!(asks_again(&open), "{status}");
        }
        let paid = page("succeeded", 3);
        assert!(
            says(&paid, "A refund is due") && says(&paid, "may still approve an earlier attempt:"),
            "{}",
            paid.body
        );
        let known = page("failed", 1);
        assert!(
            says(&known, "was declined") && says(&known, "A refund is due") && !asks_again(&known),
            "{}",
            known.body
        );
    }

    #[test]
    fn a_page_shows_a_text_and_executes_none() {
        let page = page(200, Language::of_tag("FR-cm, en"), &["<img onerror='x' src=\"&\">".to_owned()], false);
        assert!(page.body.contains("<p>&lt;img onerror=&#39;x&#39; src=&quot;&amp;&quot;&gt;</p>"), "{}", page.body);
        assert!(page.body.contains("<html lang=\"fr\">"), "{}", page.body);
    }
}
