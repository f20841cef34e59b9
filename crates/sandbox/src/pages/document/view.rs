//! The states that the page of a payment can show, one entry each. A new state is an entry here, and what its customer
//! does in `templates/checkout.html`.

use crate::rules::{Cancellation, NextAction, Status};
use crate::words::{Sentence, hosted, plain};

/// The state that a page shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum View {
    Bank,
    Canceled,
    Code,
    Confirm,
    Declined,
    Expired,
    Failed,
    Ready,
    Succeeded,
    WaitingForBank,
    WaitingForPhone,
}

/// What is the same for every payment in one state.
pub(super) struct Entry {
    /// Its name in `data-status`.
    pub(super) name: &'static str,
    pub(super) tone: &'static str,
    pub(super) icon: &'static str,
    pub(super) title: &'static Sentence,
    pub(super) text: Option<&'static Sentence>,
    /// What takes the place of the text while an operator may still take the money of a declined attempt. Where it is
    /// empty, the text stays, and the doubt is added.
    pub(super) in_doubt: &'static [&'static Sentence],
    /// Whether nothing was charged, where that is known.
    pub(super) is_unpaid: bool,
    pub(super) is_final: bool,
}

impl View {
    /// `choosing`: the customer wants another method than the one that asks for a step.
    pub(super) fn of(payment: &super::Payment, choosing: bool) -> Self {
        let state = &payment.intent.state;
        match (state.status, state.next_action) {
            (Status::Processing, _) if payment.is_mobile() => Self::WaitingForPhone,
            (Status::Processing, _) => Self::WaitingForBank,
            (Status::Succeeded, _) => Self::Succeeded,
            (Status::Failed, _) => Self::Failed,
            (Status::Canceled, _) if state.cancellation == Some(Cancellation::Expired) => Self::Expired,
            (Status::Canceled, _) => Self::Canceled,
            (Status::RequiresAction, Some(NextAction::Otp)) if !choosing => Self::Code,
            (Status::RequiresAction, Some(NextAction::Redirect)) if !choosing => Self::Bank,
            (Status::RequiresAction, Some(NextAction::Confirm)) => Self::Confirm,
            (Status::RequiresAction, _) if state.declined.is_some() => Self::Declined,
            (Status::RequiresAction, _) => Self::Ready,
        }
    }

    pub(super) fn entry(self) -> Entry {
        let open = |name, tone, icon, title, text| Entry {
            name,
            tone,
            icon,
            title,
            text,
            in_doubt: &[],
            is_unpaid: false,
            is_final: false,
        };
        let ended = |name, tone, title, text, in_doubt| Entry {
            in_doubt,
            is_unpaid: true,
            is_final: true,
            ..open(name, tone, tone, title, Some(text))
        };
        match self {
            Self::Bank => open("bank", "wait", "card", &hosted::BANK, Some(&hosted::BANK_TEXT)),
            Self::Canceled => ended(
                "canceled",
                "info",
                &hosted::CANCELED,
                &hosted::CANCELED_TEXT,
                &[&hosted::CANCELED_UNSURE, &hosted::OVER_UNSURE_TEXT],
            ),
            Self::Code => open("code", "wait", "phone", &hosted::CODE, Some(&hosted::CODE_TEXT)),
            Self::Confirm => Entry {
                is_final: true,
                ..open("confirm", "good", "good", &hosted::CONFIRM, Some(&hosted::CONFIRM_TEXT))
            },
            Self::Declined => Entry {
                in_doubt: &[&plain::LOOK_TEXT],
                is_unpaid: true,
                ..open("declined", "bad", "bad", &hosted::DECLINED, None)
            },
            Self::Expired => ended(
                "expired",
                "info",
                &hosted::EXPIRED,
                &hosted::EXPIRED_TEXT,
                &[&hosted::EXPIRED_UNSURE, &hosted::OVER_UNSURE_TEXT],
            ),
            Self::Failed => ended(
                "failed",
                "bad",
                &hosted::FAILED,
                &hosted::FAILED_TEXT,
                &[&hosted::FAILED_UNSURE, &hosted::OVER_UNSURE_TEXT],
            ),
            Self::Ready => {
                Entry { in_doubt: &[&plain::LOOK_TEXT], ..open("ready", "info", "info", &hosted::CHOOSE, None) }
            }
            Self::Succeeded => Entry {
                is_final: true,
                ..open("succeeded", "good", "good", &hosted::SUCCEEDED, Some(&hosted::SUCCEEDED_TEXT))
            },
            Self::WaitingForBank => {
                open("waiting", "wait", "card", &hosted::WAITING_CARD, Some(&hosted::WAITING_CARD_TEXT))
            }
            Self::WaitingForPhone => open("waiting", "wait", "phone", &hosted::WAITING, Some(&hosted::WAITING_ASKS)),
        }
    }

    /// Whether it has the forms that pay.
    pub(super) fn has_form(self) -> bool {
        matches!(self, Self::Declined | Self::Ready)
    }

    /// Whether the payment waits for a step of its customer, who may choose another method instead.
    pub(super) fn has_step(self) -> bool {
        matches!(self, Self::Bank | Self::Code)
    }

    pub(super) fn is_waiting(self) -> bool {
        matches!(self, Self::WaitingForBank | Self::WaitingForPhone)
    }
}
