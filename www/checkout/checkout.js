// The hosted checkout page: what the customer sees at each point of a payment.
//
// Every rule of paying (what is sent, when it is sent again, which address is followed) is the
// package's. This file follows where the intent stands and asks how to pay; view.js draws it, and
// fields.js holds what is typed.
//
// For tests, by data-test: status (data-status: loading, ready, sending, waiting, succeeded,
// settled, declined, failed, canceled, expired, confirm, step_unknown, uncertain, link_wrong,
// trouble, status_unknown), reason, merchant, amount, description, items,
// method-mobile_money, method-card (or method-card-local and method-card-international where their
// prices differ), price-<the same>, phone, card-number, exp-month, exp-year, cvc, test-<number>,
// pay, leave, stay, again, language-en, language-fr, sandbox.

import { words } from "/checkout/package/words.js";
import { fillIn, markFrom, readMethod, showFields, wipe, wipeSecurityCode } from "./fields.js";
import { draw, translate } from "./view.js";

const ui = (id) => document.getElementById(id);
const LEAVE_AFTER_MS = 6_000;

let locale = new URLSearchParams(location.search).get("lang") ?? navigator.language;
let page; // the open checkout: its intent, quotes, pay, leave
let choices; // the ways to pay, each with its quote and whether its price is known
let chosen; // one of them
let view = { name: "loading" };
let timers = [];
let paying = false;
let watching = false;

translate(locale);
start();

/** Opens the payment that the page's address names, and shows where it stands. */
async function start() {
  show("loading");
  try {
    await open();
    await follow(page.intent, { arriving: true });
  } catch (error) {
    giveUp(error);
  }
}

function giveUp(error) {
  if (["input", "address", "session", "signed_out", "not_found"].includes(error?.kind)) return show("link_wrong");
  // A module that did not arrive is an ordinary error: the connection, as far as one can tell.
  show("trouble", { error: error?.kind ? error : { kind: "offline" }, again: true });
}

async function open() {
  const { openHostedCheckout } = await import("/checkout/package/hosted.js");
  page = await openHostedCheckout({ baseUrl: location.origin, intent: location.href });
  return page.intent;
}

/** Shows the customer where the intent stands. Everything the service says comes through here. */
async function follow(intent, { arriving = false, error } = {}) {
  const declined = intent.last_payment_error;
  const step = intent.next_action?.type;
  switch (intent.status) {
    case "requires_action":
      if (step === "confirm") return show("confirm", { final: true });
      wipeSecurityCode();
      await loadChoices();
      if (error) markFrom(error, words(locale).page);
      if (error) return show("trouble", { error, form: true });
      if (step) return show("step_unknown", { form: true });
      return declined ? show("declined", { error: declined, form: true }) : show("ready", { form: true });
    case "processing":
      show("waiting", { type: intent.payment_method?.type });
      return watch();
    case "succeeded":
      // Someone who reloads, or comes back, is not sent away: the back button must not be a trap.
      return arriving ? show("settled", { final: true }) : show("succeeded", { final: true, leaving: true });
    case "failed":
      return show("failed", { error: declined, final: true });
    case "canceled":
      return show(intent.cancellation_reason === "expired" ? "expired" : "canceled", { final: true });
    default:
      return show("status_unknown", { final: true });
  }
}

async function pay(event) {
  event.preventDefault(); // the form is never submitted
  if (paying || !chosen) return;
  const method = readMethod(chosen.type, words(locale).page);
  if (!method) return;
  paying = true;
  const { attempts } = page.intent;
  show("sending");
  try {
    const onStatus = (intent) => {
      if (intent.status === "processing" && view.name === "sending") show("waiting", { type: method.type });
    };
    await follow(await page.pay(method, { onStatus }));
  } catch (error) {
    // Refused outright: nothing was charged, and the form says why. Anything else may have been
    // charged, so the intent is looked up before the customer may press "pay" again.
    const refused = ["refused", "input", "unsupported"].includes(error?.kind)
      && !(error.status >= 500) && error.status !== 409;
    if (refused) return void await follow(page.intent, { error }).catch(giveUp);
    if (view.name !== "waiting") show("uncertain");
    await watch({ error, attempts });
  } finally {
    paying = false;
  }
}

/** Looks until the payment is no longer under way, however long the network is gone. */
async function watch({ error, attempts } = {}) {
  if (watching) return;
  watching = true;
  try {
    for (let pause = error ? 500 : 2_000; ; pause = Math.min(pause * 1.5, 15_000)) {
      await new Promise((done) => {
        setTimeout(done, pause);
        addEventListener("online", done, { once: true });
      });
      const intent = await open().catch((problem) => {
        if (["session", "not_found"].includes(problem?.kind)) throw problem;
      });
      // What stopped the paying is worth telling only where no attempt came of it.
      const untried = intent?.attempts === attempts;
      if (intent && intent.status !== "processing") return await follow(intent, { error: untried ? error : undefined });
      if (intent && view.name === "uncertain") show("waiting", { type: intent.payment_method?.type });
    }
  } catch (problem) {
    giveUp(problem);
  } finally {
    watching = false;
  }
}

/** Asks what each way of paying costs; one line each, cards apart where their prices differ. */
async function loadChoices() {
  if (choices) return;
  const { amount, fee_bearer } = page.intent;
  const known = (await page.quotes()).map((quote) => ({
    type: quote.payment_method,
    name: quote.card_type ? `${quote.payment_method}-${quote.card_type}` : quote.payment_method,
    quote,
    // Where the shop bears the fee the customer pays the amount, whatever the fee.
    price: quote.customer_pays ?? (fee_bearer === "customer" ? undefined : amount),
  })).filter(({ type }) => document.querySelector(`[data-for="${CSS.escape(type)}"]`));
  choices = [];
  for (const choice of known) {
    const alike = known.filter(({ type }) => type === choice.type);
    const apart = new Set(alike.map(({ price }) => price)).size > 1;
    if (!apart && choice !== alike[0]) continue;
    choices.push(apart ? choice : { ...choice, name: choice.type, label: choice.type });
  }
  for (const choice of choices) choice.label ??= choice.name.replace("-", "_");
  choose(choices.find(({ price }) => price !== undefined));
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

ui("form").addEventListener("submit", pay);
ui("leave").addEventListener("click", leave);
ui("stay").addEventListener("click", () => show(view.name, { final: true }));
ui("again").addEventListener("click", () => {
  choices = undefined;
  start();
});
for (const button of document.querySelectorAll("[data-fill]")) {
  button.addEventListener("click", () => fillIn(button.dataset.fill, button.dataset.number));
}
for (const button of document.querySelectorAll("[data-language]")) {
  button.addEventListener("click", () => {
    locale = button.dataset.language;
    // Kept in the address for a reload; the state is the package's, and stays.
    const address = new URL(location.href);
    address.searchParams.set("lang", locale);
    history.replaceState(history.state, "", address);
    translate(locale);
    render();
  });
}
// Brought back whole by the back button: where the payment stands may be old news.
addEventListener("pageshow", (event) => {
  if (event.persisted) start();
});
