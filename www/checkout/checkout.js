// The hosted checkout page: what the customer sees in each state of a payment.
//
// The package has every rule of paying: what is sent, when it is retried, which address is followed. This
// file follows the intent's status and lets the customer choose a method; view.js draws it, and fields.js
// reads what is typed.
//
// For tests, by data-test: status (data-status: loading, ready, sending, waiting, code, bank,
// number_asked, abandoning, succeeded, settled, declined, failed, cancel_asked, canceling, canceled,
// expired, confirm, step_unknown, uncertain, link_wrong, trouble, status_unknown), reason, doubt, steps,
// ussd, merchant, amount, fee, description, items, method-mobile_money, method-card, price-<the same>,
// phone, operators, operator-<code>, card-number, exp-month, exp-year, cvc, otp, test-<number>, pay,
// answer, proceed, another, number, number-yes, number-no, cancel, cancel-yes, cancel-no, leave-help,
// leave, stay, again, receipt, receipt-<row: payee, paid_with, number, reference, date, total>, print,
// language-en, language-fr, sandbox.

import { hostedWords } from "./package/hosted-words.js";
import { askForPhone, fillIn, markFrom, readBy, readCode, readMethod, showFields, translateMarks, wipe, wipeCodes } from "./fields.js";
import { draw, nameMerchant, translate } from "./view.js";

const ui = (id) => document.getElementById(id);
// A separate file is smaller to transfer than wasm inside the script, and is fetched in parallel.
const WASM = new URL("./package/core/guichet_hosted_bg.wasm", import.meta.url).href;
const LEAVE_AFTER_MS = 6_000;
// A payment is followed for as long as the page is open.
const FOLLOW_MS = 24 * 60 * 60 * 1000;
// How often the intent is read while an operator may still take the money of a declined attempt.
const REREAD_MS = 20_000;

// Survives the visit to the customer's bank. A browser may forbid it.
const storage = {
  read: (name) => { try { return sessionStorage.getItem(name); } catch { return null; } },
  write: (name, value) => { try { sessionStorage.setItem(name, value); } catch {} },
};

// The payment, which the server has written into the page. The secret stays in memory alone.
const written = document.getElementById("payment");
const intent = JSON.parse(written.textContent);
written.remove();

let locale = document.documentElement.lang;
let page; // the open checkout: its intent, late, normalize, quotes, pay, answer, cancel, anotherNumber, proceed, wait, leave
let choices; // the payment methods, each with its quote and price
let chosen; // the selected one
let view = { name: "loading" };
let timers = [];
let busy = false;
let visit = new AbortController(); // aborts everything in flight when the page starts again

translate(locale);
start();

/** Opens the payment of the page's address and shows its status. */
async function start() {
  visit.abort();
  visit = new AbortController();
  const { signal } = visit;
  busy = false;
  show("loading");
  try {
    const { openHostedCheckout } = await import("./package/hosted.js");
    page = await openHostedCheckout({ baseUrl: location.origin, intent, wasm: WASM }, { signal });
    readBy(page.normalize);
    showMerchant(signal);
    // A customer who comes from the bank has just paid; one who reloads paid before.
    const fromBank = storage.read("at_bank") === page.intent.id;
    storage.write("at_bank", "");
    await follow(page.intent, signal, { before: !fromBank });
  } catch (error) {
    if (!signal.aborted) showFailure(error);
  }
}

/** Loads the merchant's name. The server requires the client secret, so that the page reveals nothing without it. */
async function showMerchant(signal) {
  try {
    const headers = { authorization: `Bearer ${page.intent.client_secret}` };
    const reply = await fetch(`${location.pathname}/merchant`, { headers, signal, cache: "no-store" });
    const { data } = await reply.json();
    nameMerchant(data.name, locale);
    render();
  } catch {} // the payment continues without the name
}

function showFailure(error) {
  if (["input", "address", "session", "signed_out", "not_found"].includes(error?.kind)) return show("link_wrong");
  // A module that could not be loaded is an ordinary error, probably of the connection.
  show("trouble", { error: error?.kind ? error : { kind: "offline" }, again: true });
}

/**
 * Shows the status of the intent. Every reply of the service passes through here. `before`: it was
 * final before, or became so in another tab. `error`: why the last action failed. `choosing`: the
 * customer wants another method than the one that asks for a step.
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
      if (error?.code === "payment_method_unavailable") choices = undefined; // an operator has closed
      await loadChoices(signal);
      if (error) markFrom(error, hostedWords(locale));
      if (error) return show("trouble", { error, form: true, choosing });
      if (step) return show("step_unknown", { form: true });
      return declined ? show("declined", { error: declined, form: true }) : show("ready", { form: true, choosing });
    case "processing":
      showWaiting(intent);
      return follow(await page.wait(following(signal)), signal);
    case "succeeded":
      // A customer who reloads or comes back is not redirected: the back button must work.
      return before ? show("settled", { final: true }) : show("succeeded", { final: true, leaving: true });
    case "failed":
      return show("failed", { error: declined, final: true });
    case "canceled":
      return show(intent.cancellation_reason === "expired" ? "expired" : "canceled", { final: true });
    default:
      return show("status_unknown", { final: true });
  }
}

function showWaiting(intent, error) {
  show("waiting", { type: intent.payment_method?.type, attempts: intent.attempts, error });
}

/** The options for waiting: intermediate statuses are shown. `error`: why the last action failed. */
function following(signal, error) {
  const onStatus = (intent) => {
    const isShown = ["waiting", "number_asked"].includes(view.name) && view.attempts === intent.attempts;
    if (intent.status === "processing" && !isShown) showWaiting(intent, error);
  };
  return { signal, onStatus, budgetMs: FOLLOW_MS };
}

/** Runs one action on the intent and shows the result. A second click has no effect. */
async function act(name, run, { choosing } = {}) {
  if (busy) return;
  busy = true;
  const { signal } = visit;
  const before = attemptState(page.intent);
  show(name);
  try {
    let intent, error;
    try {
      intent = await run(following(signal));
    } catch (problem) {
      if (signal.aborted) return;
      // "Pay" stays disabled until the result is known, however long the network is down.
      error = problem;
      if (["offline", "timeout", "unreadable"].includes(error?.kind)) show("uncertain");
      intent = await page.wait(following(signal, error));
    }
    // The status says whether money moved. This only picks the text: the error is shown only if nothing changed on the intent; a
    // decline or a requested step says more.
    const unchanged = attemptState(intent) === before;
    await follow(intent, signal, { before: error?.kind === "settled", error: unchanged ? error : undefined, choosing: choosing && unchanged && Boolean(error) });
  } catch (error) {
    if (!signal.aborted) showFailure(error);
  } finally {
    if (!signal.aborted) busy = false;
  }
}

/** The fields that an attempt changes. Only `attempts`, if the service has it, distinguishes two equal declines. */
function attemptState({ attempts, last_payment_error, next_action }) {
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

/** Cancelling needs a confirmation: it cannot be undone. */
function askToCancel() {
  show("cancel_asked", { previous: view });
}

/** The page first says what another number means: both may be charged. */
function askForAnotherNumber() {
  show("number_asked", { previous: view, type: view.type, attempts: view.attempts });
}

/** Ends the attempt under way. What follows the attempt now is dropped. */
async function anotherNumber() {
  visit.abort();
  visit = new AbortController();
  busy = false;
  await act("abandoning", (how) => page.anotherNumber(how));
  if (!view.form) return;
  choose(choices.find(({ type, usable }) => usable && type === "mobile_money") ?? chosen);
  askForPhone();
}

/** Goes to the page of the card's issuer, which sends the customer back here. */
function proceed() {
  storage.write("at_bank", page.intent.id);
  try {
    page.proceed();
  } catch (error) {
    show("bank", { error });
  }
}

/** Lets the customer choose another method than the one that asks for a step. */
function chooseAnother() {
  const { signal } = visit;
  follow(page.intent, signal, { choosing: true }).catch((error) => signal.aborted || showFailure(error));
}

/** Reads the intent again: another tab may have paid, the intent expired, or an operator taken the money of a declined attempt. */
async function reread() {
  const isReadable = view.form || ["code", "bank", "cancel_asked", "failed", "canceled", "expired"].includes(view.name);
  if (document.hidden || busy || !isReadable) return;
  const { signal } = visit;
  const { status } = page.intent;
  const intent = await page.refresh({ signal }).catch(() => null); // on an error the page stays as it is
  if (!intent || busy) return;
  if (intent.status === status) return render();
  await follow(intent, signal, { before: true }).catch((error) => signal.aborted || showFailure(error));
}

/** Loads the quotes. Cards are one choice, at the highest price: the number decides which kind of card it is. */
async function loadChoices(signal) {
  if (choices) return;
  const { amount, fee_bearer } = page.intent;
  const known = (await page.quotes({ signal })).map((quote) => ({
    type: quote.payment_method,
    label: [quote.payment_method, quote.card_type].filter(Boolean).join("_"),
    quote,
    // If the merchant bears the fee, the customer pays the amount, whatever the fee.
    price: quote.customer_pays ?? (fee_bearer === "customer" ? undefined : amount),
    operators: Array.isArray(quote.method?.operators) ? quote.method.operators : [],
  })).filter(({ type }) => document.querySelector(`[data-for="${CSS.escape(type)}"]`));
  choices = [...new Set(known.map(({ type }) => type))].map((type) => {
    const alike = known.filter((choice) => choice.type === type);
    const apart = new Set(alike.map(({ price }) => price)).size > 1;
    const choice = { ...alike.reduce(moreExpensive), kinds: apart ? alike : [] };
    const isClosed = choice.operators.length > 0 && choice.operators.every(({ status }) => status === "closed");
    return { ...choice, usable: choice.price !== undefined && !isClosed };
  });
  const usable = choices.filter((choice) => choice.usable);
  choose(usable.find(({ type }) => type === chosen?.type) ?? usable[0]);
}

// An unknown price counts as the highest.
function moreExpensive(one, other) {
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

/** Shows a view. */
function show(name, more = {}) {
  timers.forEach(clearTimeout);
  timers = [];
  view = { name, ...more };
  if (view.final) wipe();
  if (name === "waiting" && more.type !== "card") {
    timers.push(setTimeout(note, 20_000, "waiting_long"), setTimeout(note, 90_000, "waiting_very_long"));
  }
  if (page && isOpen()) timers.push(setInterval(() => isOpen() && reread(), REREAD_MS));
  if (view.leaving && page.intent.redirect_url) timers.push(setTimeout(leave, LEAVE_AFTER_MS));
  render();
}

/** Whether an operator may still take the money of a declined attempt. */
const isOpen = () => page.late.state !== "never";

function note(key) {
  view.note = key;
  render();
}

function render() {
  draw({ view, intent: page?.intent, late: page?.late, choices, chosen, choose }, locale);
}

function on(event, id, done) {
  ui(id).addEventListener(event, (fired) => {
    fired.preventDefault(); // no form is ever submitted
    done();
  });
}

on("submit", "form", pay);
on("submit", "code", answer);
on("click", "proceed", proceed);
on("click", "another", chooseAnother);
on("click", "number", askForAnotherNumber);
on("click", "number-yes", anotherNumber);
on("click", "number-no", () => show("waiting", view.previous));
on("click", "print", () => {
  if (view.leaving) show(view.name, { final: true });
  print();
});
on("click", "cancel", askToCancel);
on("click", "cancel-yes", () => act("canceling", (how) => page.cancel(how)));
on("click", "cancel-no", () => show(view.previous.name, view.previous));
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
    // For the pages of the server: a reload, and the issuer's. The language of the address would come first.
    document.cookie = `guichet_language=${locale}; Path=${location.pathname}; SameSite=Lax`;
    history.replaceState(history.state, "", location.pathname);
    translate(locale);
    translateMarks(hostedWords(locale));
    render();
  });
}
document.addEventListener("visibilitychange", reread);
// The back button may restore this page from the cache with an outdated status.
addEventListener("pageshow", (event) => {
  if (event.persisted) start();
});
