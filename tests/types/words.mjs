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
assert.equal(describe({ code: "expired_card" }, swahili, { state: "never" }), "Kadi imeisha muda.");
assert.equal(describe({ kind: "refused", code: "plan_inactive" }, swahili), "Kuna tatizo.");
const { otherwise, ...short } = swahili;
assert.equal(describe({ kind: "refused", code: "plan_inactive" }, short), words("en").codes.plan_inactive);
assert.equal(describe({ kind: "constructor", code: "toString" }, short), words("en").otherwise);
for (const none of [null, {}, undefined, "de", { kinds: null, codes: { offline: "" } }]) {
  assert.equal(describe({ kind: "offline" }, none), words("en").kinds.offline);
}
// One code is a decline's, and the service's: what has a kind is an error.
const { codes, declines } = words("fr");
assert.equal(describe({ code: "authentication_required" }, "fr", { state: "never" }), declines.authentication_required);
assert.equal(describe({ kind: "session", code: "authentication_required" }, "fr"), codes.authentication_required);

// A decline that may still become money is not known yet. The words say what `late` says, and never judge a time themselves.
process.env.TZ = "Africa/Douala"; // the customer’s clock is an hour ahead of UTC
const ahead = Date.UTC(2026, 10, 25, 18, 55) / 1000;
Date.now = () => assert.fail("the device's clock is asked");
for (const [language, notKnown, untilTime] of [
  ["en-GB", /^We do not know yet whether your operator took the money/, /until (\w+ )?19:55\./],
  ["fr", /^Nous ne savons pas encore si votre opérateur a pris l’argent/, /jusqu’à (\w+ )?19:55\./],
]) {
  const { declines, lateApproval, otherwise } = words(language);
  for (const code of ["payer_timeout", "insufficient_funds", "generic_decline", "new_code"]) {
    const say = (decline, late) => describe({ code, ...decline }, language, late);
    for (const sentence of [say({ approvable_until: ahead }), say({}, { state: "open", until: ahead }), say({}), say({}, { state: "open" })]) {
      assert.match(sentence, notKnown);
      assert.match(sentence, /refunded|remboursé/, "what happens if both payments succeed");
      assert.doesNotMatch(sentence, /try again|réessay/i);
    }
    for (const sentence of [say({ approvable_until: ahead }), say({}, { state: "open", until: ahead })]) assert.match(sentence, untilTime);
    assert.equal(say({}), lateApproval.open);
    for (const sentence of [say({ approvable_until: null }), say({ approvable_until: ahead }, { state: "never" })]) {
      assert.equal(sentence, declines[code] ?? otherwise);
    }
  }
  const error = { kind: "refused", code: "payer_timeout", approvable_until: ahead };
  assert.equal(describe(error, language), declines.payer_timeout, "an error is no decline");
  assert.equal(describe(Object.assign(new Error(), { code: "ECONNREFUSED" }), language), otherwise, "nor is one of the system");

  const sayOf = (payment) => describeLateApproval(payment, language);
  for (const status of ["failed", "canceled", "requires_action", "expired"]) {
    assert.match(sayOf({ status, late: { state: "open", until: ahead } }), untilTime);
    assert.equal(sayOf({ status, late: { state: "open" } }), lateApproval.open);
    assert.equal(sayOf({ status, late: { state: "never" } }), undefined);
  }
  assert.match(sayOf({ status: "succeeded", late: { state: "open", until: ahead } }), /19:55/);
  assert.equal(sayOf({ status: "succeeded", late: { state: "open" } }), undefined, "the customer has paid");
  for (const unjudged of [{ status: "failed" }, { status: "canceled" }, { status: "requires_action", last_payment_error: { code: "expired_card" } }, { status: "processing", approvable_until: 1, as_of: 2 }]) {
    assert.equal(sayOf(unjudged), lateApproval.open, JSON.stringify(unjudged));
  }
  for (const known of [{ status: "requires_action" }, { status: "processing" }, { status: "succeeded" }, null]) {
    assert.equal(sayOf(known), undefined, JSON.stringify(known));
  }
}
const late = { lateApproval: { until: "Hatujui bado, hadi {time}." } };
const open = { state: "open", until: ahead };
assert.match(describe({ code: "payer_timeout" }, late, open), /^Hatujui bado, hadi .*55.*\.$/);
assert.equal(describe({ code: "payer_timeout" }, late), words("en").lateApproval.open);
assert.match(describe({ code: "payer_timeout" }, "not a locale", open), /until .*7:55.PM\./);
