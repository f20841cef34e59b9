// A sentence for every error and decline, in English and French or from a table of one's own, and how money is written.

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
  | "timeout" | "unreadable" | "address" | "settled" | "unsupported" | "wasm_blocked" | "panic";

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
  | "uncertain" | "payment_mismatch" | "service_failed" | "cross_site"
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
 * const { kinds, codes, declines } = words("en");
 * const swahili: ErrorWords = { kinds: { ...kinds, offline: "Hakuna mtandao." }, codes, declines, otherwise: "Kuna tatizo." };
 * alert(describe({ kind: "offline" }, swahili));
 */
export interface ErrorWords {
  readonly kinds: Readonly<Record<KindKey, string>>;
  readonly codes: Readonly<Record<CodeKey, string>>;
  readonly declines: Readonly<Record<DeclineKey, string>>;
  /** For an error whose code and kind are both unknown. */
  readonly otherwise: string;
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
 * @example
 * guichet.checkout({ order: { id: "17" } }).catch((error) => alert(describe(error, "fr")));
 */
export function describe(error: unknown, words?: string | ErrorWords): string;

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
