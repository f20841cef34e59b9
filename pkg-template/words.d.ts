// A sentence for every error and decline, in English and French or from a table of one's own, and how money is written.

import type { LateApproval } from "./guichet.js";

/**
 * The payment methods, and the two sorts of cards (`card_type` of a quote).
 *
 * @example
 * const name = (key: MethodKey) => words("en").methods[key]; // "Mobile money"
 */
export type MethodKey = "mobile_money" | "card" | "card_local" | "card_international";

/**
 * The kinds of `GuichetError`.
 *
 * @example
 * const sentence = (kind: KindKey) => words("en").kinds[kind];
 */
export type KindKey =
  | "secret_key" | "input" | "signed_out" | "session" | "refused" | "not_found" | "offline"
  | "timeout" | "unreadable" | "address" | "settled" | "unsupported" | "wasm_blocked" | "wasm_missing" | "panic";

/**
 * The error codes of the service, and those of the merchant's own routes (`uncertain` and what follows).
 *
 * @example
 * const sentence = (code: CodeKey) => words("en").codes[code];
 */
export type CodeKey =
  | "invalid_json" | "invalid_utf8" | "body_not_object" | "authentication_required"
  | "invalid_key" | "live_key_in_sandbox" | "session_unknown" | "session_expired"
  | "session_revoked" | "session_token_required" | "role_required" | "secret_key_in_browser"
  | "resource_missing" | "route_not_found" | "method_not_allowed" | "body_too_large" | "body_too_slow"
  | "unsupported_media_type" | "merchant_reference_conflict" | "intent_not_confirmable"
  | "intent_not_cancelable" | "attempt_not_current" | "subscription_state" | "plan_code_taken" | "parameter_missing"
  | "parameter_invalid" | "amount_out_of_range" | "currency_unsupported"
  | "payment_method_unavailable" | "quantity_out_of_range" | "plan_inactive"
  | "test_card_required" | "idempotency_key_reused" | "parameter_unknown" | "rate_limited"
  | "internal_error" | "unavailable"
  | "uncertain" | "payment_mismatch" | "payment_unclear" | "service_failed" | "cross_site"
  | "email_not_verified" | "too_many_open_payments" | "order_ended";

/**
 * Why a payment was declined: the codes of `last_payment_error`.
 *
 * @example
 * const sentence = (code: DeclineKey) => words("en").declines[code];
 */
export type DeclineKey =
  | "insufficient_funds" | "rejected_by_payer" | "payer_timeout" | "provider_unavailable"
  | "incorrect_otp" | "incorrect_cvc" | "expired_card" | "processing_error" | "authentication_required" | "payer_not_found"
  | "limit_exceeded" | "fraud_blocked" | "generic_decline";

/**
 * What `describe` says in one language. A table of your own has every key, so that TypeScript reports a sentence that a new
 * version adds. Each says what happened, then what to do.
 *
 * @example
 * const english = words("en");
 * const swahili: ErrorWords = { ...english, kinds: { ...english.kinds, offline: "Hakuna mtandao." }, otherwise: "Kuna tatizo." };
 * alert(describe({ kind: "offline" }, swahili));
 */
export interface ErrorWords {
  readonly kinds: Readonly<Record<KindKey, string>>;
  readonly codes: Readonly<Record<CodeKey, string>>;
  readonly declines: Readonly<Record<DeclineKey, string>>;
  /** For declines that the operator may still approve. */
  readonly lateApproval: LateApprovalWords;
  /** For an error whose code and kind are both unknown. */
  readonly otherwise: string;
}

/**
 * What is said of a decline that may still be approved. `{time}` is replaced by a time of the customer's clock.
 *
 * @example
 * const { until }: LateApprovalWords = words("en").lateApproval; // "We do not know yet whether your operator took the money: …"
 */
export interface LateApprovalWords {
  /** Until a known time. */
  readonly until: string;
  /** Where the service does not say until when. */
  readonly open: string;
  /** Of an earlier attempt, once the payment has succeeded. */
  readonly paid: string;
}

/**
 * All sentences of one of the package's own languages.
 *
 * @example
 * const wordsOfPage: Words = words(document.documentElement.lang);
 */
export interface Words extends ErrorWords {
  /** The language they are in, for a page's `lang`. */
  readonly language: "en" | "fr";
  /** The names of the payment methods. */
  readonly methods: Readonly<Record<MethodKey, string>>;
}

/**
 * The sentences of a language: French for `fr…`, English for all others and for none.
 *
 * @example
 * const { methods } = words("fr");
 * button.textContent = methods.mobile_money;
 */
export function words(locale?: string): Words;

/**
 * A sentence for a `GuichetError`, or for a decline (`last_payment_error`): by its code, else by
 * its kind, else a general one. Takes whatever was thrown. `words` is a locale, or a table of your own: a sentence that it lacks
 * at run time is in English.
 *
 * A decline of mobile money is not always the operator's last word. `late` is what your server or `waitForOutcome` has judged of the
 * payment: unless its state is `never`, the sentence says that it is not known yet whether the money was taken, until when, and that a second
 * payment is refunded if both succeed. Without `late`, a decline is final only if its `approvable_until` is `null`.
 *
 * @example
 * guichet.checkout({ order: { id: "17" } }).catch((error) => alert(describe(error, "fr")));
 * @example
 * const { last_payment_error, late } = await guichet.waitForOutcome({ payment_ref: "gch_1" });
 * if (last_payment_error) alert(describe(last_payment_error, "en", late));
 */
export function describe(error: unknown, words?: string | ErrorWords, late?: LateApproval): string;

/**
 * The sentence for a payment of which the operator may still approve an attempt that it declined: that is not known yet, until when,
 * and what happens if both payments succeed. `undefined` if every attempt is known. Takes an `Outcome`, the answer of your status
 * route, or the payment of a hosted page with its `late`. A payment without `late` that was declined is not known. Show it in
 * place of "failed", "canceled" or "not paid", and never with a bare "try again".
 *
 * @example
 * const outcome = await guichet.waitForOutcome({ payment_ref: "gch_1" });
 * alert(describeLateApproval(outcome, "en") ?? outcome.state);
 */
export function describeLateApproval(payment: ApprovablePayment | null | undefined, words?: string | ErrorWords): string | undefined;

/**
 * What `describeLateApproval` reads of a payment.
 *
 * @example
 * const payment: ApprovablePayment = { status: "failed", late: { state: "open", until: 1795257900 } };
 */
export interface ApprovablePayment {
  readonly status?: string;
  readonly last_payment_error?: { readonly code: string } | null;
  readonly late?: LateApproval;
}

/**
 * Puts values in the places of a sentence.
 *
 * @example
 * fill("Pay {amount}", { amount: "5 000 FCFA" }); // "Pay 5 000 FCFA"
 */
export function fill(sentence: string, values: Readonly<Record<string, string>>): string;

/**
 * An amount in the smallest unit of its currency, as people of `locale` write it. Exact for amounts of any length that
 * `Intl` takes; a value that cannot be formatted is returned unchanged, followed by the currency.
 *
 * @example
 * formatMoney("5000", "XAF", "fr"); // "5 000 FCFA"
 * formatMoney("5000", "USD", "en"); // "$50.00"
 */
export function formatMoney(amount: string, currency: string, locale?: string): string;
