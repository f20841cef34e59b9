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
  | "fee_included" | "fee_none" | "price_missing" | "price_of" | "no_methods" | "phone" | "phone_help"
  | "phone_wrong" | "card_number" | "card_number_wrong" | "exp_month" | "exp_month_help" | "exp_month_wrong"
  | "exp_year" | "exp_year_help" | "exp_year_wrong" | "cvc" | "cvc_help" | "cvc_wrong" | "tests"
  | "tests_help" | "test_success" | "test_slow" | "test_funds" | "test_final" | "pay" | "pay_amount"
  | "pay_up_to" | "leave" | "leave_unpaid" | "leave_soon" | "stay" | "may_close" | "again" | "sending"
  | "sending_text" | "waiting" | "waiting_text" | "waiting_card" | "waiting_card_text" | "waiting_unknown"
  | "waiting_unknown_text" | "waiting_long" | "waiting_very_long" | "succeeded" | "succeeded_text"
  | "settled" | "settled_text" | "declined" | "declined_text" | "attempts_left_1" | "declined_unsure_text"
  | "over_unsure_text" | "duplicate_text" | "cancel_asked_unsure_text" | "attempts_left_2" | "failed"
  | "failed_text" | "canceled" | "canceled_text" | "expired" | "expired_text" | "confirm" | "confirm_text"
  | "step_unknown" | "uncertain" | "uncertain_text" | "link_wrong" | "link_wrong_text" | "trouble"
  | "status_unknown" | "otp" | "otp_help" | "otp_wrong" | "test_code" | "test_bank" | "test_right_code"
  | "proceed" | "another" | "cancel" | "cancel_yes" | "cancel_no" | "code" | "code_text" | "bank"
  | "bank_text" | "cancel_asked" | "cancel_asked_text" | "canceling" | "canceling_text";

/**
 * The sentences of the hosted checkout page: French for `fr…`, English for all others and for none.
 *
 * @example
 * const { pay_amount } = hostedWords("fr");
 * button.textContent = fill(pay_amount, { amount: formatMoney("5000", "XAF", "fr") }); // "Payer 5 000 FCFA"
 */
export function hostedWords(locale?: string): Readonly<Record<PageKey, string>>;
