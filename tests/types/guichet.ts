// Everything that `guichet` exports, used as a shop's pages would.
import { createGuichet, GuichetError } from "guichet";
import type {
  Call, CardType, CheckoutOptions, CustomerSession, DuplicatePayment, FeeBreakdown, FeeRequest, FieldError, Guichet, CallOptions, Kind, LastPaymentError, LateApproval,
  Merchant, Options, Outcome, PaymentIntent, PaymentMethod, PaymentState, PaymentStatus, PricedQuote, Quote, QuoteRequest, Reference, Return, Session, SessionState,
  Ticket, UnpricedQuote, Validity, WaitOptions,
} from "guichet";
import type { CodeKey, DeclineKey } from "guichet/words";
import * as entry from "guichet";
import * as beside from "guichet/beside";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "createGuichet" | "GuichetError">>();
// The entry with its wasm beside it promises the same.
holds<Equal<keyof typeof beside, keyof typeof entry>>();
holds<Equal<typeof beside.createGuichet, typeof createGuichet>>();
holds<Equal<typeof beside.GuichetError, typeof GuichetError>>();

const merchant: Merchant = {
  session: async (how: CallOptions) => (how.signal?.aborted ? null : "cst_test_1"),
  intent: async (order: unknown): Promise<Ticket> => ({
    intent: { id: String(order), checkout_url: "https://pay.example.com/checkout/pi_1#client_secret=s" },
    return_nonce: "0123456789012345678901",
  }),
  status: async (of: Reference) => ({ status: of.payment_ref ?? "processing" }),
};
const options: Options = {
  baseUrl: new URL("https://api.example.com"),
  merchant,
  merchantHeaders: () => ({ "X-CSRF-Token": "1" }),
  checkoutOrigins: ["https://pay.example.com"],
  publicReads: "anonymous",
  locale: "fr",
  fetch,
  wasm: "/guichet_core_bg.wasm",
  onCall: (call: Call) =>
    console.info(call.operation, call.attempt, call.ms.toFixed(), call.status, call.kind, call.requestId),
};
// @ts-expect-error: there is no client without an address
createGuichet({});
createGuichet({ baseUrl: "/pay", merchant: "/guichet" });
createGuichet({ baseUrl: "/pay", merchant: "/guichet", publicReads: "merchant" });
holds<Equal<Options["publicReads"], "session" | "anonymous" | "merchant" | undefined>>();
// @ts-expect-error: there is no such way to read
createGuichet({ baseUrl: "/pay", publicReads: "none" });
const guichet: Guichet = createGuichet(options);
holds<Equal<ReturnType<Guichet["ready"]>, Promise<void>>>();
guichet.ready().catch((error: unknown) => explain(error));

export async function account(how: CallOptions): Promise<string | undefined> {
  const session: Session = guichet.session;
  const validity: Validity = await session.validate(how);
  holds<Equal<typeof validity.valid, boolean>>();
  holds<Equal<SessionState, "none" | "active" | "expiring" | "expired" | "revoked">>();
  const stop: () => void = session.subscribe((state) => holds<Equal<typeof state, SessionState>>());
  await session.renew();
  await session.revoke({ timeoutMs: 2000 });
  stop();
  // @ts-expect-error: the state is the session's own
  session.state = "active";
  return session.email ?? session.expiresAt?.toISOString() ?? validity.customer_email ?? validity.reason;
}

export async function prices(): Promise<string[]> {
  const methods: PaymentMethod[] = await guichet.paymentMethods({ country_code: "CM" }, { timeoutMs: 5000 });
  const card_type: CardType = "international";
  const of: FeeRequest = { payment_method: "card", currency: "XAF", amount: "5000", country_code: "CM", card_type };
  const fee: FeeBreakdown = await guichet.fee(of);
  const all: QuoteRequest = { amount: "5000", currency: "XAF", fee_bearer: "customer" };
  const quotes: Quote[] = await guichet.quotes(all, { timeoutMs: 5000 });
  // @ts-expect-error: an amount is text
  await guichet.fee({ payment_method: "card", currency: "XAF", amount: 5000 });
  return quotes.map((quote) => {
    holds<Equal<typeof quote, PricedQuote | UnpricedQuote>>();
    // @ts-expect-error: whether there is a price is asked first
    const unasked: string = quote.customer_pays;
    if (quote.error) {
      const problem: GuichetError = quote.error;
      return `${quote.method.name}: ${problem.message} ${unasked}`;
    }
    const price: string = quote.customer_pays;
    holds<Equal<typeof quote.merchant_gets, string | undefined>>();
    return `${quote.method.name} ${quote.card_type ?? ""} ${price} ${fee.currency} ${methods.length}`;
  });
}

export async function pay(): Promise<Outcome["state"]> {
  const how: CheckoutOptions = { mode: "redirect", timeoutMs: 10_000 };
  const outcome: Outcome = await guichet.checkout({ order: { id: "17" } }, how);
  const popup: CheckoutOptions = { mode: "popup", budgetMs: 60_000, onStatus: (status) => console.info(status) };
  // @ts-expect-error: a window or the page itself
  await guichet.checkout({ order: 17 }, { mode: "iframe" });
  return outcome.state === "dismissed" ? (await guichet.checkout({ order: { id: "17" } }, popup)).state : outcome.state;
}

export async function returnPage(signal: AbortSignal): Promise<Outcome | null> {
  const back: Return | null = await guichet.returned();
  if (!back) return null;
  const how: WaitOptions = { budgetMs: 60_000, signal, onStatus: (status) => console.info(status) };
  const outcome: Outcome = await guichet.waitForOutcome(back, how);
  await guichet.waitForOutcome({ payment_ref: "gch_1" });
  holds<
    Equal<typeof outcome.state, "succeeded" | "failed" | "canceled" | "pending" | "dismissed" | "unknown">
  >();
  const reference: Reference = outcome.reference;
  const declined: LastPaymentError | undefined = outcome.last_payment_error;
  console.info(back.match, reference.merchant_reference, outcome.status, declined?.code, declined?.message);
  return outcome;
}

export function explain(problem: unknown): Kind | undefined {
  if (!GuichetError.is(problem)) return undefined;
  const error: Error = problem;
  console.error(error.message, problem.code, problem.status, problem.requestId, problem.operation, problem.retryable);
  const fields: readonly FieldError[] = problem.fields;
  for (const { param, code, message } of fields) console.error(param, code, message);
  // What a reply holds is for its reader to look at first.
  holds<Equal<typeof problem.reply, unknown>>();
  return problem.kind;
}

// @ts-expect-error: errors are made by the package alone
new GuichetError("refused");

export const session: CustomerSession = {
  session_token: "cst_test_1",
  customer_email: "ama@example.com",
  expires_at: "2026-11-21T10:00:00Z",
};
export const refunds = (intent: PaymentIntent): readonly DuplicatePayment[] => intent.duplicate_payments ?? [];
// A status and a code complete as the known words, and take any other.
holds<Equal<PaymentStatus, "requires_action" | "processing" | "succeeded" | "failed" | "canceled" | (string & {})>>();
holds<Equal<PaymentIntent["status"], PaymentStatus>>();
holds<Equal<Outcome["status"], PaymentStatus | undefined>>();
holds<Equal<Outcome["approvable_until"], number | undefined>>();
holds<Equal<Outcome["late"], LateApproval | undefined>>();
holds<Equal<NonNullable<Merchant["status"]>, (of: Reference, options: CallOptions) => Promise<PaymentState>>>();
export const known: PaymentState = {
  status: "failed", last_payment_error: { code: "payer_timeout", approvable_until: null }, approvable_until: 1795257900,
  merchant_reference: "ORDER-17", amount: "45000", amount_payable: null,
};
holds<Equal<Parameters<NonNullable<WaitOptions["onStatus"]>>, [status: PaymentStatus, outcome: Outcome]>>();
holds<Equal<GuichetError["code"], CodeKey | (string & {}) | undefined>>();
holds<Equal<LastPaymentError["code"], DeclineKey | (string & {})>>();

// An order may have a type, which a function in place of the route gets, too.
const typed = createGuichet<{ id: string }>({ baseUrl: "/pay", merchant: { intent: async ({ id }) => ({ intent: { id, checkout_url: "" } }) } });
export const bought = typed.checkout({ order: { id: "17" } });
// @ts-expect-error: the order has an id
export const nothing = typed.checkout({ order: { name: "17" } });
typed.close();
holds<Equal<ReturnType<(typeof typed)[typeof Symbol.dispose]>, void>>();

export const paid = (intent: PaymentIntent): boolean => intent.status === "succeeded";
