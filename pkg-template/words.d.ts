// Every sentence a customer may read, in English and French, and how money is written.

/** The sentences of the hosted checkout page. */
export type PageKey =
  | "sandbox" | "language" | "loading" | "pay_title" | "pay_merchant" | "items" | "choose"
  | "mobile_money" | "card" | "card_local" | "card_international" | "fee_included" | "fee_none"
  | "price_missing" | "price_of" | "no_methods" | "phone" | "phone_help" | "phone_wrong" | "card_number"
  | "card_number_wrong" | "exp_month" | "exp_month_help" | "exp_month_wrong" | "exp_year"
  | "exp_year_help" | "exp_year_wrong" | "cvc" | "cvc_help" | "cvc_wrong" | "tests" | "tests_help"
  | "test_success" | "test_slow" | "test_funds" | "test_final" | "pay" | "pay_amount" | "pay_up_to" | "leave"
  | "leave_unpaid" | "leave_soon" | "stay" | "may_close" | "again" | "sending" | "sending_text"
  | "waiting" | "waiting_text" | "waiting_card" | "waiting_card_text" | "waiting_unknown"
  | "waiting_unknown_text" | "waiting_long" | "waiting_very_long" | "succeeded" | "succeeded_text"
  | "settled" | "settled_text" | "declined" | "declined_text" | "attempts_left_1"
  | "declined_unsure_text" | "over_unsure_text" | "duplicate_text" | "cancel_asked_unsure_text"
  | "attempts_left_2" | "failed" | "failed_text" | "canceled" | "canceled_text" | "expired"
  | "expired_text" | "confirm" | "confirm_text" | "step_unknown" | "uncertain" | "uncertain_text"
  | "link_wrong" | "link_wrong_text" | "trouble" | "status_unknown" | "otp" | "otp_help"
  | "otp_wrong" | "test_code" | "test_bank" | "test_right_code" | "proceed" | "another" | "cancel"
  | "cancel_yes" | "cancel_no" | "code" | "code_text" | "bank" | "bank_text" | "cancel_asked"
  | "cancel_asked_text" | "canceling" | "canceling_text";

/** The kinds of `GuichetError`. */
export type KindKey =
  | "secret_key" | "input" | "signed_out" | "session" | "refused" | "not_found" | "offline"
  | "timeout" | "unreadable" | "address" | "settled" | "unsupported" | "wasm_blocked" | "panic";

/** The error codes of the service, and those of the merchant's own routes (`uncertain` and what follows). */
export type CodeKey =
  | "invalid_json" | "invalid_utf8" | "body_not_object" | "authentication_required"
  | "invalid_key" | "live_key_in_sandbox" | "session_unknown" | "session_expired"
  | "session_revoked" | "session_token_required" | "role_required" | "secret_key_in_browser"
  | "resource_missing" | "route_not_found" | "method_not_allowed" | "body_too_large" | "body_too_slow"
  | "unsupported_media_type" | "merchant_reference_conflict" | "intent_not_confirmable"
  | "intent_not_cancelable" | "subscription_state" | "plan_code_taken" | "parameter_missing"
  | "parameter_invalid" | "amount_out_of_range" | "currency_unsupported"
  | "payment_method_unavailable" | "quantity_out_of_range" | "plan_inactive"
  | "test_card_required" | "idempotency_key_reused" | "parameter_unknown" | "rate_limited"
  | "internal_error" | "unavailable"
  | "uncertain" | "payment_mismatch" | "service_failed" | "cross_site";

/** Why a payment was declined: the codes of `last_payment_error`. */
export type DeclineKey =
  | "insufficient_funds" | "rejected_by_payer" | "payer_timeout" | "provider_unavailable"
  | "incorrect_otp" | "incorrect_cvc" | "expired_card" | "processing_error" | "authentication_required" | "payer_not_found"
  | "limit_exceeded" | "fraud_blocked" | "generic_decline";

/** All sentences of one language. Each of an error says what happened, then what to do. */
export interface Words {
  /** The language they are in, for a page's `lang`. */
  readonly language: "en" | "fr";
  readonly page: Readonly<Record<PageKey, string>>;
  readonly kinds: Readonly<Record<KindKey, string>>;
  readonly codes: Readonly<Record<CodeKey, string>>;
  readonly declines: Readonly<Record<DeclineKey, string>>;
  /** For an error whose code and kind are both unknown. */
  readonly otherwise: string;
}

/** The sentences of a language: French for `fr…`, English for all others and for none. */
export function words(locale?: string): Words;

/**
 * A sentence for a `GuichetError`, or for a decline (`last_payment_error`): by its code, else by
 * its kind, else a general one. Takes whatever was thrown.
 */
export function describe(error: unknown, locale?: string): string;

/** Puts values in the places of a sentence: `fill("Pay {amount}", { amount: "5 000 FCFA" })`. */
export function fill(sentence: string, values: Readonly<Record<string, string>>): string;

/**
 * An amount in the smallest unit of its currency, as people of `locale` write it:
 * `formatMoney("5000", "XAF", "fr")` is "5 000 FCFA". Exact for amounts of any length that `Intl`
 * takes; what cannot be formatted is returned as it came, followed by the currency.
 */
export function formatMoney(amount: string, currency: string, locale?: string): string;
