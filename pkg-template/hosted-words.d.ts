// The sentences of the hosted checkout page, in English and French. A shop's page does not need them.
import type { MethodKey } from "./words.js";

/**
 * The keys of the sentences.
 *
 * @example
 * const sentence = (key: PageKey) => hostedWords("fr")[key];
 */
export type PageKey =
  | MethodKey | "sandbox" | "language" | "loading" | "pay_title" | "pay_merchant" | "items" | "choose"
  | "fee_included" | "plus_fee" | "up_to" | "fee_none" | "price_of" | "price_missing" | "no_methods" | "phone" | "phone_help"
  | "phone_wrong" | "phone_closed" | "operators" | "operators_help" | "operators_closed" | "operator_closed"
  | "operator_delayed" | "operator_slow" | "your_operator" | "card_number" | "card_number_wrong" | "exp_month"
  | "exp_month_help" | "exp_month_wrong" | "exp_year" | "exp_year_help" | "exp_year_wrong" | "cvc" | "cvc_help"
  | "cvc_wrong" | "otp" | "otp_help" | "otp_wrong" | "tests" | "tests_help" | "test_success" | "test_slow"
  | "test_funds" | "test_final" | "test_code" | "test_late" | "test_failed" | "test_handset" | "test_bank" | "test_right_code" | "pay"
  | "pay_amount" | "pay_up_to" | "proceed" | "another" | "number" | "number_yes" | "number_no" | "cancel"
  | "cancel_yes" | "cancel_no" | "leave" | "leave_unpaid" | "leave_help" | "leave_soon" | "stay" | "may_close"
  | "again" | "print" | "sending" | "sending_text" | "waiting" | "waiting_text" | "waiting_asks"
  | "step_open_prompt" | "step_enter_pin" | "step_dial" | "waiting_card" | "waiting_card_text"
  | "waiting_unknown" | "waiting_unknown_text" | "waiting_long" | "waiting_very_long" | "number_asked"
  | "number_asked_text" | "number_last" | "abandoning" | "abandoning_text" | "code" | "code_text" | "bank"
  | "bank_text" | "cancel_asked" | "cancel_asked_text" | "canceling" | "canceling_text" | "succeeded"
  | "succeeded_text" | "settled" | "settled_text" | "declined" | "not_charged" | "attempts_left_1"
  | "attempts_left_2" | "failed" | "failed_text" | "canceled" | "canceled_text" | "expired" | "expired_text"
  | "unsure" | "unsure_earlier" | "unsure_until" | "unsure_open" | "unsure_refund" | "unsure_paid" | "look_text"
  | "failed_unsure" | "canceled_unsure" | "expired_unsure" | "over_unsure_text" | "duplicate_text" | "confirm"
  | "confirm_text" | "step_unknown" | "uncertain" | "uncertain_text" | "link_wrong" | "link_wrong_text"
  | "trouble" | "status_unknown" | "receipt" | "receipt_payee" | "receipt_paid_with" | "receipt_number"
  | "receipt_reference" | "receipt_date" | "receipt_total";

/**
 * The sentences of the hosted checkout page: French for `fr…`, English for all others and for none.
 *
 * @example
 * const { pay_amount } = hostedWords("fr");
 * button.textContent = fill(pay_amount, { amount: formatMoney("5000", "XAF", "fr") }); // "Payer 5 000 FCFA"
 */
export function hostedWords(locale?: string): Readonly<Record<PageKey, string>>;
