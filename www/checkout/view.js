// How the checkout page is drawn. It decides nothing about the payment: checkout.js does.
//
// Values from outside are inserted as text, never as markup.

import { hostedWords } from "./package/hosted-words.js";
import { describe, fill, formatMoney, words } from "./package/words.js";

const ui = (id) => document.getElementById(id);
const meta = (name) => document.querySelector(`meta[name="${name}"]`).content; // set by the server
let merchant = "";

const TONES = {
  loading: "wait", ready: "info", sending: "wait", waiting: "wait", succeeded: "good", settled: "good",
  declined: "bad", failed: "bad", canceled: "info", expired: "info", confirm: "good", step_unknown: "bad",
  code: "wait", bank: "wait", cancel_asked: "info", canceling: "wait", uncertain: "wait", link_wrong: "bad", trouble: "bad", status_unknown: "info",
};

// Views without a title of their own, and the view whose title they use.
const UNDER = { step_unknown: "trouble", status_unknown: "pay_title", no_methods: "pay_title" };

/**
 * Draws the page. `view` is the state (its name is the key of its title in the words), `intent` the
 * payment, `choices` the payment methods, `chosen` the selected one, `choose` selects another.
 */
export function draw({ view, intent, choices, chosen, choose }, locale) {
  const say = hostedWords(locale);
  const { name, error, form, final, type } = view;
  const money = (amount) => formatMoney(String(amount), intent.currency, locale);
  const hadFocus = document.activeElement;

  const none = form && choices.length === 0;
  const key = none && name === "ready" ? "no_methods" : name !== "waiting" || type === "mobile_money" ? name : type === "card" ? "waiting_card" : "waiting_unknown";
  const values = intent ? { amount: money(intent.amount_payable ?? intent.amount), status: String(intent.status) } : {};
  const text = [fill((key in UNDER ? say[key] : textOf(key, intent, say)) ?? "", values)];
  for (const { amount, currency } of intent?.duplicate_payments ?? []) {
    text.unshift(fill(say.duplicate_text, { amount: formatMoney(String(amount), String(currency ?? intent.currency), locale) }));
  }
  const left = meta("attempts") - intent?.attempts;
  if (name === "declined") text.push(say[`attempts_left_${left}`]);
  if (name === "trouble" && form && !mayStillBeCharged(intent)) text.push(say.declined_text); // nothing was paid yet
  if (view.leaving && intent.redirect_url) text.push(say.leave_soon);
  if (final && !intent?.redirect_url) text.push(say.may_close);

  const status = ui("status");
  status.dataset.status = name;
  status.dataset.tone = TONES[name];
  status.classList.toggle("quiet", key === "ready");
  // For screen readers only: the same text is visible below.
  write("status-title", key === "ready" ? say.choose : titleOf(key, say, values));
  write("status-reason", error ? describe(error, locale) : "");
  write("status-text", text.filter(Boolean).join(" "));
  write("status-note", view.note ? say[view.note] : "");
  ui("icon").setAttribute("href", `#icon-${iconOf(name, type)}`);
  ui("slow").hidden = name !== "loading";

  ui("form").hidden = !form || none;
  const step = name === "code" || name === "bank";
  ui("code").hidden = name !== "code";
  ui("proceed").hidden = name !== "bank";
  ui("another").hidden = !step;
  ui("cancel").hidden = !(intent && (form || step));
  ui("cancel-yes").hidden = ui("cancel-no").hidden = name !== "cancel_asked";
  ui("again").hidden = !(view.again || (form && choices.some(({ price }) => price === undefined)));
  ui("again").className = form ? "" : "primary";
  const leaving = ui("leave");
  leaving.hidden = !intent?.redirect_url || !(final || form || step || view.note === "waiting_very_long");
  leaving.className = final ? "primary" : "";
  leaving.textContent = form || step ? say.leave_unpaid : say.leave;
  ui("stay").hidden = !(view.leaving && intent.redirect_url);

  if (intent) drawSummary(intent, say, locale);
  if (form) drawMethods({ intent, choices, chosen, choose }, say, money);
  ui("pay").disabled = !chosen;
  fit(write("pay-text", chosen ? fill(chosen.kinds.length ? say.pay_up_to : say.pay_amount, { amount: money(chosen.price) }) : say.pay));
  fit(write("answer-text", intent ? fill(say.pay_amount, values) : say.pay));
  document.title = [titleOf(key, say, values), merchant].filter(Boolean).join(" · ");
  // The focused control was hidden: the status takes the focus, for keyboard users.
  if (hadFocus !== document.body && !hadFocus.checkVisibility?.()) status.focus();
}

/** Shows the merchant's name. */
export function nameMerchant(name, locale) {
  if (merchant === name) return;
  merchant = name;
  translate(locale);
  document.title = [document.title, merchant].join(" · ");
}

/** Translates the page's fixed texts. */
export function translate(locale) {
  const { language } = words(locale);
  const say = hostedWords(locale);
  document.documentElement.lang = language;
  write("title", merchant ? fill(say.pay_merchant, { merchant }) : say.pay_title);
  for (const place of document.querySelectorAll("[data-word]")) place.textContent = say[place.dataset.word];
  document.querySelector(".languages").setAttribute("aria-label", say.language);
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }
}

/**
 * The text of a view. An operator may still approve an attempt that timed out: then the page does not say that
 * nothing was charged.
 */
function textOf(key, intent, say) {
  if (!mayStillBeCharged(intent)) return say[`${key}_text`];
  if (["failed", "canceled", "expired"].includes(key)) return say.over_unsure_text;
  return say[`${key}_unsure_text`] ?? say[`${key}_text`];
}

// Only the last decline is known: an earlier attempt may have timed out too.
function mayStillBeCharged(intent) {
  if (!intent?.attempts) return false;
  const unanswered = ["payer_timeout", "provider_unavailable"].includes(intent.last_payment_error?.code);
  return unanswered || intent.attempts > 1 || intent.duplicate_payments?.length > 0;
}

function titleOf(key, say, values) {
  return key === "ready" ? say.pay_title : fill(say[UNDER[key] ?? key], values);
}

function iconOf(name, type) {
  if (TONES[name] !== "wait") return TONES[name];
  return type === "mobile_money" || name === "code" ? "phone" : "card";
}

function drawSummary(intent, say, locale) {
  if (!ui("amount").textContent) ui("items").open = matchMedia("(min-width: 56rem)").matches; // where there is room
  fit(write("amount", formatMoney(String(intent.amount), intent.currency, locale)));
  write("description", intent.description ?? "");
  const items = Array.isArray(intent.items) ? intent.items : [];
  ui("items").hidden = items.length === 0;
  ui("items").querySelector("ul").replaceChildren(...items.map((item) => {
    const price = formatMoney(String(item.price), String(item.currency ?? intent.currency), locale);
    return element("li", {}, element("span", {}, String(item.name)), element("span", {}, `${item.quantity} × ${price}`));
  }));
}

let drawnMethods;

function drawMethods({ intent, choices, chosen, choose }, say, money) {
  // Drawn only when it changes: a new radio button would lose the keyboard focus.
  const drawn = JSON.stringify([say.choose, choices.map(({ type, price }) => [type, price])]);
  if (drawn === drawnMethods) return;
  drawnMethods = drawn;
  ui("methods").replaceChildren(...choices.map((choice) => {
    const { type, price, quote } = choice;
    const radio = element("input", { type: "radio", name: "method", id: `method-${type}`, "data-test": `method-${type}` });
    radio.disabled = price === undefined;
    radio.checked = choice === chosen;
    radio.addEventListener("change", () => choose(choice));
    return element("label", { class: "method" }, radio, element("span", {},
      element("span", { class: "method-name" }, say[type] ?? String(quote.method?.name ?? type)),
      fit(element("b", { "data-test": `price-${type}` }, price === undefined ? "" : money(price))),
      element("small", {}, noteOf(choice, intent, say, money))));
  }));
}

/** The note under a method's price: its fee, or the price for each kind of card. */
function noteOf({ price, quote, kinds }, intent, say, money) {
  const values = ({ label, price }) => ({ what: say[label] ?? label, price: price === undefined ? say.price_missing : money(price) });
  if (kinds.length) return kinds.map((kind) => fill(say.price_of, values(kind))).join(" · ");
  if (price === undefined) return say.price_missing;
  if (intent.fee_bearer !== "customer") return say.fee_none;
  return quote.fee === undefined ? "" : fill(say.fee_included, { fee: money(quote.fee) });
}

// Writes only changes: a screen reader announces every write to the status.
function write(id, text) {
  const place = ui(id);
  if (place.textContent !== text) place.textContent = text ?? "";
  return place;
}

/** Gives the style sheet the length of the longest word: an amount is one word. */
function fit(place) {
  place.style.setProperty("--longest", Math.max(1, ...place.textContent.split(" ").map(({ length }) => length)));
  return place;
}

function element(tag, attributes, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children); // strings become text
  return created;
}
