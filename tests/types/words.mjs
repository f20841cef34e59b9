// Compares the keys that the types declare with those that the words have, in each language: neither may have one more. And
// tries `describe` with a table of another language, and with declines that may still be approved.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { hostedWords } from "guichet/hosted-words";
import { describe, describeLateApproval, words } from "guichet/words";

const union = (file, type) => {
  const text = readFileSync(new URL(`../node_modules/guichet/${file}`, import.meta.url), "utf8");
  const members = new RegExp(`export type ${type} =([^;]*);`).exec(text)?.[1] ?? "";
  return [...members.matchAll(/"(\w+)"/g)].map(([, key]) => key);
};
const methods = union("words.d.ts", "MethodKey");
const declared = {
  MethodKey: [methods, ({ methods }) => methods],
  KindKey: [union("words.d.ts", "KindKey"), ({ kinds }) => kinds],
  CodeKey: [union("words.d.ts", "CodeKey"), ({ codes }) => codes],
  DeclineKey: [union("words.d.ts", "DeclineKey"), ({ declines }) => declines],
  PageKey: [[...methods, ...union("hosted-words.d.ts", "PageKey")], ({ language }) => hostedWords(language)],
};
for (const [type, [keys, sentences]] of Object.entries(declared)) {
  assert.ok(keys.length > 3, `${type} is not declared`);
  for (const locale of ["en", "fr"]) {
    assert.deepEqual(Object.keys(sentences(words(locale))).sort(), keys.toSorted(), `${type} and its words in ${locale}`);
  }
}

// A table of one's own is taken before the package's sentences, and what it lacks is said in English.
const swahili = { kinds: { offline: "Hakuna mtandao." }, codes: {}, declines: { expired_card: "Kadi imeisha muda." }, otherwise: "Kuna tatizo." };
assert.equal(describe({ kind: "offline" }, swahili), "Hakuna mtandao.");
assert.equal(describe({ code: "expired_card" }, swahili), "Kadi imeisha muda.");
assert.equal(describe({ kind: "refused", code: "plan_inactive" }, swahili), "Kuna tatizo.");
const { otherwise, ...short } = swahili;
assert.equal(describe({ kind: "refused", code: "plan_inactive" }, short), words("en").codes.plan_inactive);
assert.equal(describe({ kind: "constructor", code: "toString" }, short), words("en").otherwise);
for (const none of [null, {}, undefined, "de", { kinds: null, codes: { offline: "" } }]) {
  assert.equal(describe({ kind: "offline" }, none), words("en").kinds.offline);
}
// One code is a decline's, and the service's: what has a kind is an error.
const { codes, declines } = words("fr");
assert.equal(describe({ code: "authentication_required" }, "fr"), declines.authentication_required);
assert.equal(describe({ kind: "session", code: "authentication_required" }, "fr"), codes.authentication_required);

// A decline that the operator may still approve is not known yet; `null`, or a time that has passed, is its final word.
process.env.TZ = "Africa/Douala"; // the customer’s clock is an hour ahead of UTC
const now = Date.UTC(2026, 10, 25, 18, 40);
const [ahead, tomorrow, passed] = [now / 1000 + 900, now / 1000 + 86_400, now / 1000];
for (const [language, notKnown, untilTime, untilDay] of [
  ["en-GB", /^We do not know yet whether your operator took the money/, "until 19:55.", "until Thursday 19:40."],
  ["fr", /^Nous ne savons pas encore si votre opérateur a pris l’argent/, "jusqu’à 19:55.", "jusqu’à jeudi 19:40."],
]) {
  const { declines, lateApproval } = words(language);
  const say = (decline) => describe(decline, language, now);
  for (const code of ["payer_timeout", "provider_unavailable", "rejected_by_payer"]) {
    for (const approvable_until of [ahead, tomorrow, undefined]) {
      const sentence = say({ code, approvable_until });
      assert.match(sentence, notKnown);
      assert.match(sentence, /refunded|remboursé/, "what happens if both payments succeed");
      assert.doesNotMatch(sentence, /try again|réessay/i);
    }
    assert.ok(say({ code, approvable_until: ahead }).includes(untilTime), say({ code, approvable_until: ahead }));
    assert.ok(say({ code, approvable_until: tomorrow }).includes(untilDay), say({ code, approvable_until: tomorrow }));
    assert.equal(say({ code, message: "Too late." }), lateApproval.open);
    for (const approvable_until of [null, passed]) assert.equal(say({ code, approvable_until }), declines[code]);
  }
  assert.match(say({ code: "new_code", approvable_until: ahead }), notKnown, "the service says so, whatever the code");
  assert.equal(say({ code: "insufficient_funds" }), declines.insufficient_funds);
  assert.equal(say({ kind: "refused", code: "payer_timeout", approvable_until: ahead }), declines.payer_timeout, "an error is no decline");

  const sayOf = (payment) => describeLateApproval(payment, language, now);
  const declined = { code: "insufficient_funds", approvable_until: null };
  const timedOut = { code: "payer_timeout" };
  assert.match(sayOf({ status: "failed", last_payment_error: declined, approvable_until: ahead }), notKnown, "an earlier attempt");
  assert.equal(sayOf({ status: "requires_action", last_payment_error: timedOut }), lateApproval.open);
  assert.match(sayOf({ status: "canceled", last_payment_error: { ...timedOut, approvable_until: ahead } }), notKnown);
  assert.equal(sayOf({ status: "failed", last_payment_error: { code: "new_code" } }), lateApproval.open, "no list has this code");
  assert.equal(sayOf({ status: "failed", last_payment_error: { ...timedOut, approvable_until: "soon" } }), lateApproval.open, "no time");
  assert.ok(sayOf({ status: "succeeded", approvable_until: ahead }).includes(untilTime.replace(".", "")));
  for (const known of [
    { status: "failed", last_payment_error: timedOut, approvable_until: null },
    { status: "failed", last_payment_error: timedOut, approvable_until: passed },
    { status: "failed", last_payment_error: declined },
    { status: "succeeded", last_payment_error: timedOut },
    { status: "requires_action", last_payment_error: null },
    null,
  ]) {
    assert.equal(sayOf(known), undefined, JSON.stringify(known));
  }
}
const late = { lateApproval: { until: "Hatujui bado, hadi {time}." } };
assert.match(describe({ code: "payer_timeout", approvable_until: ahead }, late, now), /^Hatujui bado, hadi .*55.*\.$/);
assert.equal(describe({ code: "payer_timeout" }, late, now), words("en").lateApproval.open);
assert.match(describe({ code: "payer_timeout", approvable_until: ahead }, "not a locale", now), /until 7:55.PM\./);
