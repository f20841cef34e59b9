// Everything that `guichet/words` exports, used as a page would.
import { describe, fill, formatMoney, words } from "guichet/words";
import type { CodeKey, DeclineKey, KindKey, PageKey, Words } from "guichet/words";
import * as entry from "guichet/words";
import { GuichetError, type Kind } from "guichet";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "describe" | "fill" | "formatMoney" | "words">>();

const french: Words = words("fr-CM");
holds<Equal<typeof french.language, "en" | "fr">>();
document.documentElement.lang = french.language;

const page: PageKey = "pay_amount";
const code: CodeKey = "test_card_required";
const decline: DeclineKey = "insufficient_funds";
export const sentences: readonly string[] = [
  words().page[page],
  french.codes[code],
  french.declines[decline],
  french.otherwise,
];
// @ts-expect-error: no page has this sentence
french.page.something;

// Every kind of error has its sentence.
holds<Equal<Kind, KindKey>>();

const price = formatMoney("5000", "XAF", "fr");
holds<Equal<typeof price, string>>();
// @ts-expect-error: an amount is text, so that no figure is ever rounded
formatMoney(5000, "XAF");
export const button: string = fill(french.page.pay_amount, { amount: price });

export function shown(problem: unknown): string {
  if (GuichetError.is(problem)) return french.kinds[problem.kind];
  return describe(problem, navigator.language) + describe({ code: "insufficient_funds" });
}
