// The hosted checkout page: what the customer sees at each point of a payment.
//
// Every rule of paying (what is sent, when it is sent again, which address is followed) is the
// package's. This file follows where the intent stands and asks how to pay; view.js draws it, and
// fields.js holds what is typed.
//
// For tests, by data-test: status (data-status: loading, ready, sending, waiting, code, bank,
// succeeded, settled, declined, failed, cancel_asked, canceling, canceled, expired, confirm,
// step_unknown, uncertain, link_wrong, trouble, status_unknown), reason, merchant, amount,
// description, items, method-mobile_money, method-card, price-<the same>, phone, card-number,
// exp-month, exp-year, cvc, otp, test-<number>, pay, answer, proceed, another, cancel, cancel-yes,
// cancel-no, leave, stay, again, language-en, language-fr, sandbox.

import { hostedWords } from "./package/hosted-words.js";
import { fillIn, markFrom, readCode, readMethod, showFields, translateMarks, wipe, wipeCodes } from "./fields.js";
import { draw, nameMerchant, translate } from "./view.js";

const ui = (id) => document.getElementById(id);
// Beside the script it is smaller on the wire than inside it, and fetched at the same time.
const WASM = new URL("./package/core/guichet_hosted_bg.wasm", import.meta.url).href;
const LEAVE_AFTER_MS = 6_000;
// A payment under way is followed for as long as the page is open.
const FOLLOW_MS = 24 * 60 * 60 * 1000;

// What outlives a visit to the customer's bank; a browser may forbid it.
const kept = {
  read: (name) => { try { return sessionStorage.getItem(name); } catch { return null; } },
  write: (name, value) => { try { sessionStorage.setItem(name, value); } catch {} },
};

const asked = new URLSearchParams(location.search).get("lang");
if (asked) kept.write("lang", asked); // for the page of the bank
let locale = asked ?? kept.read("lang") ?? navigator.language;
let page; // the open checkout: its intent, quotes, pay, answer, cancel, proceed, wait, leave
let choices; // the ways to pay, each with its quote and whether its price is known
let chosen; // one of them
let view = { name: "loading" };
let timers = [];
let busy = false;
let visit = new AbortController(); // ends what was under way when the page starts anew

translate(locale);
start();

/** Opens the payment that the page's address names, and shows where it stands. */
async function start() {
  visit.abort();
  visit = new AbortController();
  const { signal } = visit;
  busy = false;
  show("loading");
  try {
    const { openHostedCheckout } = await import("./package/hosted.js");
    page = await openHostedCheckout({ baseUrl: location.origin, intent: location.href, wasm: WASM }, { signal });
    showMerchant(signal);
    // One who comes from the bank has just paid here; one who reloads has paid before.
    const fromBank = kept.read("at_bank") === page.intent.id;
    kept.write("at_bank", "");
    await follow(page.intent, signal, { before: !fromBank });
  } catch (error) {
    if (!signal.aborted) giveUp(error);
  }
}

/** Asks whose payment it is. The server tells only who holds the payment's secret, so that the page gives nothing away. */
async function showMerchant(signal) {
  try {
    const headers = { authorization: `Bearer ${page.intent.client_secret}` };
    const reply = await fetch(`${location.pathname}/merchant`, { headers, signal, cache: "no-store" });
    const { data } = await reply.json();
    nameMerchant(data.name, locale);
  } catch {} // the payment goes on without the name
}

function giveUp(error) {
  if (["input", "address", "session", "signed_out", "not_found"].includes(error?.kind)) return show("link_wrong");
  // A module that did not arrive is an ordinary error: the connection, as far as one can tell.
  show("trouble", { error: error?.kind ? error : { kind: "offline" }, again: true });
}

/**
 * Shows the customer where the intent stands. Everything the service says comes through here.
 * `before`: it came to its end before, or in another tab. `error`: why nothing came of what was
 * asked. `choosing`: the customer wants another way than the one that asks for a step.
 */
async function follow(intent, signal, { before = false, error, choosing = false } = {}) {
  const declined = intent.last_payment_error;
  const step = choosing ? undefined : intent.next_action?.type;
  switch (intent.status) {
    case "requires_action":
      wipeCodes();
      if (step === "confirm") return show("confirm", { final: true });
      if (step === "otp") return show("code", { error });
      if (step === "redirect") return show("bank", { error });
      await loadChoices(signal);
      if (error) markFrom(error, hostedWords(locale));
      if (error) return show("trouble", { error, form: true, choosing });
      if (step) return show("step_unknown", { form: true });
      return declined ? show("declined", { error: declined, form: true }) : show("ready", { form: true, choosing });
    case "processing":
      show("waiting", { type: intent.payment_method?.type });
      return follow(await page.wait(following(signal)), signal);
    case "succeeded":
      // Someone who reloads, or comes back, is not sent away: the back button must not be a trap.
      return before ? show("settled", { final: true }) : show("succeeded", { final: true, leaving: true });
    case "failed":
      return show("failed", { error: declined, final: true });
    case "canceled":
      return show(intent.cancellation_reason === "expired" ? "expired" : "canceled", { final: true });
    default:
      return show("status_unknown", { final: true });
  }
}

/** How a payment under way is followed: what is heard of it on the way is shown. */
function following(signal) {
  const onStatus = (intent) => {
    if (intent.status === "processing" && view.name !== "waiting") show("waiting", { type: intent.payment_method?.type });
  };
  return { signal, onStatus, budgetMs: FOLLOW_MS };
}

/** Does one thing with the intent, and shows what became of it. A second click does nothing. */
async function act(name, ask, { choosing } = {}) {
  if (busy) return;
  busy = true;
  const { signal } = visit;
  const before = traces(page.intent);
  show(name);
  try {
    let intent, error;
    try {
      intent = await ask(following(signal));
    } catch (problem) {
      if (signal.aborted) return;
      // Nobody may press "pay" before it is known what became of it, however long the network is gone.
      error = problem;
      if (["offline", "timeout", "unreadable"].includes(error?.kind)) show("uncertain");
      intent = await page.wait(following(signal));
    }
    // Whether money moved is for the status to say. This picks the sentence: what stopped it on the way is worth telling only
    // where nothing came of it; a decline, or a step that is asked for, says more.
    const untried = traces(intent) === before;
    await follow(intent, signal, { before: error?.kind === "settled", error: untried ? error : undefined, choosing: choosing && untried && Boolean(error) });
  } catch (error) {
    if (!signal.aborted) giveUp(error);
  } finally {
    if (!signal.aborted) busy = false;
  }
}

/** What an attempt leaves on an intent. The same decline twice is told apart by `attempts` alone, where a service has it. */
function traces({ attempts, last_payment_error, next_action }) {
  return JSON.stringify([attempts, last_payment_error, next_action]);
}

function pay() {
  const method = chosen && readMethod(chosen.type, hostedWords(locale));
  if (method) act("sending", (how) => page.pay(method, how), view);
}

function answer() {
  const otp = readCode(hostedWords(locale));
  if (otp) act("sending", (how) => page.answer(otp, how));
}

/** Cancelling is asked for twice: it cannot be taken back. */
function askToCancel() {
  show("cancel_asked", { kept: view });
}

/** Goes to the page of the card's issuer, which sends the customer back here. */
function proceed() {
  kept.write("at_bank", page.intent.id);
  try {
    page.proceed();
  } catch (error) {
    show("bank", { error });
  }
}

/** Another way to pay than the one that asks for a step: the step is simply not done. */
function chooseAnother() {
  const { signal } = visit;
  follow(page.intent, signal, { choosing: true }).catch((error) => signal.aborted || giveUp(error));
}

/** Another tab may have paid, or the time be over, while this one was out of sight. */
async function lookAgain() {
  if (document.hidden || busy || !(view.form || ["code", "bank", "cancel_asked"].includes(view.name))) return;
  const { signal } = visit;
  const intent = await page.refresh({ signal }).catch(() => null); // no news: what is shown stands
  if (!intent || busy || intent.status === "requires_action") return;
  await follow(intent, signal, { before: true }).catch((error) => signal.aborted || giveUp(error));
}

/** Asks what each way of paying costs. Cards are one way, at the price of the dearest: which it is shows with its number. */
async function loadChoices(signal) {
  if (choices) return;
  const { amount, fee_bearer } = page.intent;
  const known = (await page.quotes({ signal })).map((quote) => ({
    type: quote.payment_method,
    label: [quote.payment_method, quote.card_type].filter(Boolean).join("_"),
    quote,
    // Where the shop bears the fee the customer pays the amount, whatever the fee.
    price: quote.customer_pays ?? (fee_bearer === "customer" ? undefined : amount),
  })).filter(({ type }) => document.querySelector(`[data-for="${CSS.escape(type)}"]`));
  choices = [...new Set(known.map(({ type }) => type))].map((type) => {
    const alike = known.filter((choice) => choice.type === type);
    const apart = new Set(alike.map(({ price }) => price)).size > 1;
    return { ...alike.reduce(dearer), kinds: apart ? alike : [] };
  });
  choose(choices.find(({ price }) => price !== undefined));
}

// One whose price could not be had may be any price.
function dearer(one, other) {
  if (one.price === undefined || other.price === undefined) return one.price === undefined ? one : other;
  return BigInt(other.price) > BigInt(one.price) ? other : one;
}

function choose(choice) {
  if (chosen?.type !== choice?.type) showFields(choice?.type);
  chosen = choice;
  render();
}

function leave() {
  try {
    page.leave();
  } catch (error) {
    show("trouble", { error, final: true });
  }
}

/** What the page says from now on, in place of what it said. */
function show(name, more = {}) {
  timers.forEach(clearTimeout);
  timers = [];
  view = { name, ...more };
  if (view.final) wipe();
  if (name === "waiting" && more.type !== "card") {
    timers.push(setTimeout(note, 20_000, "waiting_long"), setTimeout(note, 90_000, "waiting_very_long"));
  }
  if (view.leaving && page.intent.redirect_url) timers.push(setTimeout(leave, LEAVE_AFTER_MS));
  render();
}

function note(key) {
  view.note = key;
  render();
}

function render() {
  draw({ view, intent: page?.intent, choices, chosen, choose }, locale);
}

function on(event, id, done) {
  ui(id).addEventListener(event, (happened) => {
    happened.preventDefault(); // no form is ever submitted
    done();
  });
}

on("submit", "form", pay);
on("submit", "code", answer);
on("click", "proceed", proceed);
on("click", "another", chooseAnother);
on("click", "cancel", askToCancel);
on("click", "cancel-yes", () => act("canceling", (how) => page.cancel(how)));
on("click", "cancel-no", () => show(view.kept.name, view.kept));
on("click", "leave", leave);
on("click", "stay", () => show(view.name, { final: true }));
on("click", "again", () => {
  choices = undefined;
  start();
});
for (const button of document.querySelectorAll("[data-fill]")) {
  button.addEventListener("click", () => fillIn(button.dataset.fill, button.dataset.number));
}
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    locale = button.dataset.language;
    kept.write("lang", locale);
    // Kept in the address for a reload; the state is the package's, and stays.
    const address = new URL(location.href);
    address.searchParams.set("lang", locale);
    history.replaceState(history.state, "", address);
    translate(locale);
    translateMarks(hostedWords(locale));
    render();
  });
}
document.addEventListener("visibilitychange", lookAgain);
// Brought back whole by the back button: where the payment stands may be old news.
addEventListener("pageshow", (event) => {
  if (event.persisted) start();
});
