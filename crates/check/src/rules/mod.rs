//! The rules of a safe shop, one function each, and what they learn of the shop.

mod errors;
mod forged;
mod late;
mod limit;
mod logins;
mod next;
mod nonces;
mod orders;
mod origins;
mod replies;
mod returns;
mod secrets;
mod sessions;
mod settling;
mod sign_out;
mod strangers;

use crate::catalog::Rule;
use crate::environment::Boxed;
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::shop::{CheckedShop, Customer, Expected, Kept, Payment, ToldPaid};
use forged::Forging;
use late::Late;
use secrets::Answers;
use tokio::sync::OnceCell;

/// What the rules have learned of a shop, for those that take it as an argument: the first of them makes it.
#[derive(Default)]
pub(crate) struct Learned {
    forging: OnceCell<Forging>,
    processing: OnceCell<Option<Payment>>,
    late: OnceCell<Late>,
    told_paid: OnceCell<ToldPaid>,
    answers: OnceCell<Answers>,
    /// What the books must say until the end of the check.
    expected: Vec<Expected>,
    /// Whether the shop did not come back after a command.
    is_lost: bool,
}

impl Learned {
    /// Checks one rule.
    pub(crate) async fn check(&mut self, shop: &CheckedShop, rule: &Rule) -> Outcome {
        if self.is_lost {
            self.is_lost = shop.open_page(&Customer::default()).await.response.is_err();
        }
        if self.is_lost {
            return not_checked("The shop is not running: it did not come back after a command of an earlier rule.");
        }
        for (option, what_for) in rule.begins_with {
            shop.require(option, what_for)?;
        }
        shop.release_open_payments().await;
        let run = RULES.iter().find(|(id, _)| *id == rule.id).expect("a test compares both lists").1;
        let result = run(shop, self).await;
        self.is_lost = matches!(result, Err(RuleError::Lost(_)));
        let Kept { expected, outcome } = result?;
        self.expected.extend(expected);
        outcome
    }

    /// What is known before the first forged order.
    async fn forging(&self, shop: &CheckedShop) -> Result<&Forging, RuleError> {
        self.forging.get_or_try_init(|| Forging::begin(shop)).await
    }

    /// A payment that stays processing, which is old when a later rule looks at it; `None` without fresh orders.
    async fn processing(&self, shop: &CheckedShop) -> Result<Option<&Payment>, RuleError> {
        Ok(self.processing.get_or_try_init(|| next::processing_payment(shop)).await?.as_ref())
    }

    /// The payments that an operator approves late. Making them takes longest, so the one that grows old comes first.
    async fn late(&self, shop: &CheckedShop) -> Result<&Late, RuleError> {
        let approve = async || {
            self.processing(shop).await?;
            Late::approve(shop).await
        };
        self.late.get_or_try_init(approve).await
    }

    /// That the books say of a paid order that it is paid.
    async fn told_paid(&self, shop: &CheckedShop) -> Result<&ToldPaid, RuleError> {
        self.told_paid.get_or_try_init(|| ToldPaid::see(shop, &self.expected)).await
    }

    /// What an attacker could look into.
    async fn answers(&self, shop: &CheckedShop) -> Result<&Answers, RuleError> {
        self.answers.get_or_try_init(|| Answers::provoke(shop)).await
    }

    /// What the books must say until the end of the check.
    async fn expected(&self, _: &CheckedShop) -> Result<&[Expected], RuleError> {
        Ok(&self.expected)
    }
}

type Run = for<'a> fn(&'a CheckedShop, &'a Learned) -> Boxed<'a, Result<Kept, RuleError>>;

/// Names the functions of the rules, file by file, each with what it takes of [`Learned`].
macro_rules! functions {
    ($($file:ident { $($rule:ident $(($($taken:ident),+))?)* })*) => {
        &[$($((stringify!($rule), |shop, learned| Box::pin(async move {
            let _ = learned;
            let kept: Kept = $file::$rule(shop $($(, learned.$taken(shop).await?)+)?).await?.into();
            Ok::<_, RuleError>(kept)
        })),)*)*]
    };
}

/// A static: a constant would be compiled in the crate that uses it, for speed, and be 47 KB more of the npm sandbox.
static RULES: &[(&str, Run)] = functions! {
    forged {
        forged_price_is_ignored(forging) forged_quantity_is_refused(forging) forged_currency_is_ignored(forging)
        forged_customer_is_ignored(forging) forged_reference_is_ignored(forging) forged_address_is_ignored(forging)
        forged_host_is_ignored forged_terms_are_ignored(forging)
    }
    orders { order_becomes_payment same_order_same_payment same_payment_after_restart return_nonce_agrees }
    nonces { return_nonce_cannot_be_guessed }
    sessions { session_needs_login session_is_of_login sessions_are_apart }
    logins { login_is_guarded }
    sign_out { sign_out_ends_login sign_out_ends_sessions }
    strangers { stranger_gets_nothing other_customer_sees_nothing }
    origins {
        foreign_origin_refused null_origin_refused same_site_refused cross_site_refused text_plain_refused
        foreign_form_refused other_methods_do_nothing cors_for_own_page
    }
    errors { refusing_service unreadable_service slow_service redirect_is_not_followed }
    late {
        late_approval_pays(late) duplicate_is_refunded(late) late_approval_after_end_is_refunded(late)
        refund_has_fee(late) paid_order_is_not_sold_again(late)
    }
    replies {
        wrong_amount_pays_nothing(told_paid) wrong_currency_pays_nothing(told_paid)
        wrong_reference_pays_nothing(told_paid) wrong_id_pays_nothing(told_paid) wrong_owner_pays_nothing(told_paid)
        only_succeeded_pays(told_paid) unknown_status_is_read_on
    }
    returns { return_page_pays_nothing(told_paid, expected) approvable_until_is_handed_on }
    next {
        decline_gets_next_reference second_reference_only_after_end(processing, expected) lost_reply_same_payment
        same_order_at_once open_payment_keeps_price
    }
    limit { open_payments_have_a_limit }
    settling {
        failed_read_is_no_decline paid_without_return paid_once failing_read_delays_none paid_across_restart
        books_stay_true(expected)
    }
    secrets {
        token_in_no_url(answers) secrets_where_needed(answers) answers_are_not_stored key_in_no_answer(answers)
        secrets_are_not_logged(answers)
    }
};

#[cfg(test)]
mod tests {
    use super::RULES;
    use crate::catalog::all;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_a_function() {
        let functions: BTreeSet<&str> = RULES.iter().map(|(id, _)| *id).collect();
        assert_eq!(functions, all().map(|rule| rule.id).collect());
        assert_eq!(functions.len(), RULES.len());
    }
}
