// Everything that `guichet/words` and `guichet/hosted-words` export, used as a page would.
import { describe, describeLateApproval, fill, formatMoney, words } from "guichet/words";
import type { ApprovablePayment, CodeKey, DeclineKey, ErrorWords, KindKey, LateApprovalWords, MethodKey, Words } from "guichet/words";
import { hostedWords, type PageKey } from "guichet/hosted-words";
import * as hosted from "guichet/hosted-words";
import * as entry from "guichet/words";
import { GuichetError, type Kind, type Outcome, type PaymentIntent, type PaymentState } from "guichet";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "describe" | "describeLateApproval" | "fill" | "formatMoney" | "words">>();
holds<Equal<keyof typeof hosted, "hostedWords">>();

const french: Words = words("fr-CM");
holds<Equal<typeof french.language, "en" | "fr">>();
document.documentElement.lang = french.language;

const page: PageKey = "pay_amount";
const code: CodeKey = "test_card_required";
const decline: DeclineKey = "insufficient_funds";
const method: MethodKey = "card_local";
export const sentences: readonly string[] = [
  words().methods[method],
  hostedWords("fr")[page],
  hostedWords()[method],
  french.codes[code],
  french.declines[decline],
  french.otherwise,
];
// @ts-expect-error: no page has this sentence
hostedWords().something;
// @ts-expect-error: a shop's page has no sentences of the hosted page
french.page;

// Every kind of error has its sentence.
holds<Equal<Kind, KindKey>>();

const price = formatMoney("5000", "XAF", "fr");
holds<Equal<typeof price, string>>();
// @ts-expect-error: an amount is text, so that no figure is ever rounded
formatMoney(5000, "XAF");
export const button: string = fill(hostedWords("fr").pay_amount, { amount: price });

export function shown(problem: unknown): string {
  if (GuichetError.is(problem)) return french.kinds[problem.kind];
  return describe(problem, navigator.language) + describe({ code: "insufficient_funds" }) + describe(problem, swahili);
}

// A table of one's own, begun from the package's.
const { kinds, codes, declines, lateApproval } = words("en");
const approved: LateApprovalWords = lateApproval;
const swahili: ErrorWords = { kinds: { ...kinds, offline: "Hakuna mtandao." }, codes, declines, lateApproval: approved, otherwise: "Kuna tatizo." };
// @ts-expect-error: a sentence is missing
export const incomplete: ErrorWords = { kinds: { offline: "Hakuna mtandao." }, codes, declines, lateApproval, otherwise: "Kuna tatizo." };

// Whether a payment may still be approved is said of whatever a page has of it.
const declined: ApprovablePayment = { status: "failed", last_payment_error: { code: "payer_timeout" }, late: { state: "never" } };
export const late = (outcome: Outcome | undefined, intent: PaymentIntent, state: PaymentState): (string | undefined)[] =>
  [outcome, intent, state, declined, null].map((payment) => describeLateApproval(payment, "fr"));
