// Everything that `guichet/words` and `guichet/hosted-words` export, used as a page would.
import { describe, fill, formatMoney, words } from "guichet/words";
import type { CodeKey, DeclineKey, ErrorWords, KindKey, MethodKey, Words } from "guichet/words";
import { hostedWords, type PageKey } from "guichet/hosted-words";
import * as hosted from "guichet/hosted-words";
import * as entry from "guichet/words";
import { GuichetError, type Kind } from "guichet";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "describe" | "fill" | "formatMoney" | "words">>();
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
const { kinds, codes, declines } = words("en");
const swahili: ErrorWords = { kinds: { ...kinds, offline: "Hakuna mtandao." }, codes, declines, otherwise: "Kuna tatizo." };
// @ts-expect-error: a sentence is missing
export const incomplete: ErrorWords = { kinds: { offline: "Hakuna mtandao." }, codes, declines, otherwise: "Kuna tatizo." };
