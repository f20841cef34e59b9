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
  number_asked: "info", abandoning: "wait",
};

// Views without a title of their own, and the view whose title they use.
const UNDER = { step_unknown: "trouble", status_unknown: "pay_title", no_methods: "pay_title" };

// Views whose title, where that is so, says that it is not known whether the operator took the money.
const UNSURE = ["ready", "declined", "failed", "canceled", "expired"];
// Views that are over in a moment, or know no payment: they say nothing of what is not known.
const BRIEF = ["loading", "sending", "canceling", "abandoning", "link_wrong"];
// Views that say that nothing was charged, where that is known.
const UNPAID = ["declined", "failed", "canceled", "expired", "cancel_asked", "trouble", "step_unknown"];

/**
 * Draws the page. `view` is the state (its name is the key of its title in the words), `intent` the
 * payment, `late` whether a declined attempt of it may still become money, `choices` the payment methods, `chosen` the
 * selected one, `choose` selects another.
 */
export function draw({ view, intent, late, choices, chosen, choose }, locale) {
  const say = hostedWords(locale);
  const { name, error, form, final, type } = view;
  const money = (amount) => formatMoney(String(amount), intent.currency, locale);
  const hadFocus = document.activeElement;

  const open = intent && !BRIEF.includes(name) && late.state !== "never" ? late : null;
  const unsure = open && UNSURE.includes(name);
  const isPaid = name === "succeeded" || name === "settled";
  const waits = name === "waiting" && type !== "card";
  const action = waits && intent.next_action?.type === "approve_on_phone" ? intent.next_action : undefined;
  const operator = action?.operator ?? intent?.payment_method?.operator;
  const left = meta("attempts") - intent?.attempts;

  const none = form && choices.length === 0;
  const key = none && name === "ready" && !unsure ? "no_methods" : name !== "waiting" || type === "mobile_money" ? name : type === "card" ? "waiting_card" : "waiting_unknown";
  const payable = intent && payableOf(intent, form, chosen);
  const fee = intent && (isPlusFee(intent, form) ? say.plus_fee : feeOf(intent, payable, say, locale));
  const values = intent ? {
    amount: fee === say.plus_fee ? `${money(payable)} ${fee}` : money(payable), status: String(intent.status), payee: String(action?.payee), operator: String(operator?.name ?? say.your_operator),
  } : {};
  const title = unsure ? say.unsure : key === "ready" ? say.choose : titleOf(key, say, values);
  const text = [];
  for (const { amount, currency } of intent?.duplicate_payments ?? []) {
    text.push(fill(say.duplicate_text, { amount: formatMoney(String(amount), String(currency ?? intent.currency), locale) }));
  }
  if (UNPAID.includes(name) && (name !== "trouble" || form) && !open && text.length === 0) text.push(say.not_charged);
  const own = unsure
    ? [final ? say[`${name}_unsure`] : "", none ? say.no_methods : say[final ? "over_unsure_text" : "look_text"]]
    : [say[key in UNDER ? key : action?.payee ? "waiting_asks" : `${key}_text`]];
  if (name === "declined") own.push(say[`attempts_left_${left}`]);
  if (name === "number_asked" && left <= 0) own.push(say.number_last);
  if (view.leaving && intent.redirect_url) own.push(say.leave_soon);
  if (final && !intent?.redirect_url) own.push(say.may_close);
  const doubt = open ? [
    unsure ? "" : say.unsure_earlier,
    open.until ? fill(say.unsure_until, { until: timeOf(open.until, locale) }) : say.unsure_open,
    isPaid ? say.unsure_paid : say.unsure_refund,
  ] : [];
  const sentences = (list) => list.filter(Boolean).map((sentence) => fill(sentence, values)).join(" ");

  const status = ui("status");
  status.dataset.status = name;
  status.dataset.tone = unsure ? "info" : TONES[name];
  status.classList.toggle("quiet", key === "ready" && !unsure);
  // For screen readers only: the same text is visible below.
  write("status-title", title);
  // Of a decline that is not known, that is all that is to be said, and the title says it. At the end, the reason of the last attempt would
  // contradict what is not known of an earlier one.
  const isUnknown = unsure && (final || (!error?.kind && error?.approvable_until !== null));
  write("status-reason", error && !isUnknown ? describe(error, locale, { state: "never" }) : "");
  write("status-text", sentences([...text, ...(unsure ? doubt : own)]));
  drawSteps(action?.steps, say);
  write("status-more", sentences(unsure ? own : doubt));
  const isDelayed = action && choices?.some(({ operators }) => operators.some(({ code, status }) => code === operator?.code && status === "delayed"));
  write("status-note", view.note ? say[view.note] : isDelayed ? fill(say.operator_slow, values) : "");
  ui("icon").setAttribute("href", `#icon-${unsure ? "info" : iconOf(name, type)}`);

  ui("form").hidden = !form || none;
  const step = name === "code" || name === "bank";
  ui("code").hidden = name !== "code";
  ui("proceed").hidden = name !== "bank";
  ui("another").hidden = !step;
  ui("cancel").hidden = !(intent && (form || step));
  ui("cancel-yes").hidden = ui("cancel-no").hidden = name !== "cancel_asked";
  // Without the attempt's number, the service cannot be asked to end it.
  ui("number").hidden = !(waits && type === "mobile_money" && intent.attempts > 0);
  ui("number-yes").hidden = ui("number-no").hidden = name !== "number_asked";
  ui("again").hidden = !(view.again || (form && choices.some(({ price }) => price === undefined)));
  ui("again").className = form ? "" : "primary";
  const leaving = ui("leave");
  leaving.hidden = !intent?.redirect_url || !(final || form || step || waits);
  leaving.className = final ? "primary" : "";
  leaving.textContent = (form || step) && !open ? say.leave_unpaid : say.leave;
  write("leave-help", waits && !leaving.hidden ? say.leave_help : "");
  ui("stay").hidden = !(view.leaving && intent.redirect_url);

  if (intent) drawSummary({ intent, payable, fee, upTo: form && chosen?.kinds.length > 0 }, say, locale);
  drawReceipt(isPaid && intent, payable, fee, say, locale);
  if (form) drawMethods({ intent, choices, chosen, choose }, say, money);
  if (form) drawOperators(choices.find((choice) => choice.type === "mobile_money")?.operators ?? [], say);
  ui("pay").disabled = !chosen;
  fit(write("pay-text", chosen ? fill(chosen.kinds.length ? say.pay_up_to : say.pay_amount, { amount: money(chosen.price) }) : say.pay));
  fit(write("answer-text", intent ? fill(say.pay_amount, values) : say.pay));
  document.title = [key === "ready" && !unsure ? say.pay_title : title, merchant].filter(Boolean).join(" · ");
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

function titleOf(key, say, values) {
  return fill(say[UNDER[key] ?? key], values);
}

function iconOf(name, type) {
  if (TONES[name] !== "wait") return TONES[name];
  return type === "mobile_money" || name === "code" ? "phone" : "card";
}

// What the customer pays: the price of the method that is chosen, or the one that the payment has.
function payableOf({ amount, amount_payable, status, next_action }, form, chosen) {
  const isChosen = form || (status === "requires_action" && !next_action);
  return (isChosen ? chosen?.price : undefined) ?? amount_payable ?? amount;
}

/** Whether the customer has chosen, and pays a fee of an unknown amount. */
function isPlusFee({ fee_bearer, amount_payable, status }, form) {
  return fee_bearer === "customer" && (amount_payable ?? null) === null && !form && status !== "requires_action";
}

/** The customer's fee, which is a part of what they pay; empty if there is none. */
function feeOf(intent, payable, say, locale) {
  const [whole, price] = [payable, intent.amount].map((amount) => /^\d+$/.test(amount) ? BigInt(amount) : 0n);
  return whole > price && price > 0n ? fill(say.fee_included, { fee: formatMoney(String(whole - price), intent.currency, locale) }) : "";
}

/** A time by the customer's clock, with the weekday if it is not today. */
function timeOf(second, locale) {
  const isToday = new Date(second * 1000).toDateString() === new Date().toDateString();
  return dateOf(second, { hour: "numeric", minute: "2-digit", ...(!isToday && { weekday: "long" }) }, locale);
}

function dateOf(second, options, locale) {
  const date = new Date(second * 1000);
  try {
    return new Intl.DateTimeFormat(locale || "en", options).format(date);
  } catch {
    return new Intl.DateTimeFormat("en", options).format(date); // a locale that Intl does not read
  }
}

let drawnSteps;

/** Draws what to do on the phone. A step without a sentence here is left out. */
function drawSteps(steps, say) {
  const known = (Array.isArray(steps) ? steps : []).filter(({ code, ussd }) => Object.hasOwn(say, `step_${code}`) && (ussd !== undefined || !say[`step_${code}`].includes("{ussd}")));
  const drawn = JSON.stringify([say.choose, known]);
  if (drawn === drawnSteps) return;
  drawnSteps = drawn;
  ui("steps").hidden = known.length === 0;
  ui("steps").replaceChildren(...known.map(({ code, ussd }) => {
    const [before, after = ""] = say[`step_${code}`].split("{ussd}");
    return element("li", {}, before, ...(ussd === undefined ? [] : [dial(String(ussd))]), after);
  }));
}

// A link dials only digits, * and #: it comes from outside.
function dial(ussd) {
  return /^[\d*#]+$/.test(ussd) ? element("a", { href: `tel:${encodeURIComponent(ussd)}`, "data-test": "ussd" }, ussd) : ussd;
}

/** Draws the receipt. It shows no secret, and of the number only what the service shows. */
function drawReceipt(intent, payable, fee, say, locale) {
  ui("receipt").hidden = ui("print").hidden = !intent;
  if (!intent) return;
  const { payment_method: method, currency, created_at } = intent;
  const rows = {
    payee: merchant,
    paid_with: method?.operator?.name ?? say[method?.type],
    number: method?.phone ?? (method?.last4 && `${method.brand ?? ""} •••• ${method.last4}`),
    reference: intent.merchant_reference,
    date: typeof created_at === "number" && dateOf(created_at, { dateStyle: "long", timeStyle: "short" }, locale),
    total: [formatMoney(String(payable), currency, locale), fee].join("\n"),
  };
  const shown = Object.entries(rows).filter(([, value]) => value);
  ui("receipt-rows").replaceChildren(...shown.map(([name, value]) => element("div", {},
    element("dt", {}, say[`receipt_${name}`]), element("dd", { "data-test": `receipt-${name}` }, String(value).trim()))));
}

function drawSummary({ intent, payable, fee, upTo }, say, locale) {
  if (!ui("amount").textContent) ui("items").open = matchMedia("(min-width: 56rem)").matches; // where there is room
  const amount = formatMoney(String(payable), intent.currency, locale);
  fit(write("amount", upTo ? fill(say.up_to, { amount }) : amount));
  write("fee", fee);
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
  const drawn = JSON.stringify([say.choose, choices.map(({ type, price, usable }) => [type, price, usable])]);
  if (drawn === drawnMethods) return;
  drawnMethods = drawn;
  ui("methods").replaceChildren(...choices.map((choice) => {
    const { type, price, quote } = choice;
    const radio = element("input", { type: "radio", name: "method", id: `method-${type}`, "data-test": `method-${type}` });
    radio.disabled = !choice.usable;
    radio.checked = choice === chosen;
    radio.addEventListener("change", () => choose(choice));
    return element("label", { class: "method" }, radio, element("span", {},
      element("span", { class: "method-name" }, say[type] ?? String(quote.method?.name ?? type)),
      fit(element("b", { "data-test": `price-${type}` }, price === undefined ? "" : money(price))),
      element("small", {}, noteOf(choice, intent, say, money))));
  }));
}

let drawnOperators;

/** Draws the operators: one that is closed is shown and not offered. The customer's choice stays. */
function drawOperators(operators, say) {
  const drawn = JSON.stringify([say.choose, operators]);
  if (drawn === drawnOperators) return;
  drawnOperators = drawn;
  const checked = document.querySelector("[name=operator]:checked")?.value;
  ui("operator-list").replaceChildren(...operators.map(({ code, name, status }) => {
    const radio = element("input", { type: "radio", name: "operator", value: String(code), "data-test": `operator-${code}` });
    radio.disabled = status === "closed";
    radio.checked = radio.value === checked && !radio.disabled;
    const note = status === "closed" || status === "delayed" ? say[`operator_${status}`] : "";
    return element("label", {}, radio, element("span", {}, String(name || code), element("small", {}, note)));
  }));
  ui("operators").hidden = operators.length === 0;
}

/** The note under a method's price: its fee, or the price for each kind of card. */
function noteOf({ price, quote, kinds, usable }, intent, say, money) {
  const values = ({ label, price }) => ({ what: say[label] ?? label, price: price === undefined ? say.price_missing : money(price) });
  if (kinds.length) return kinds.map((kind) => fill(say.price_of, values(kind))).join(" · ");
  if (price === undefined) return say.price_missing;
  if (!usable) return say.operators_closed;
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
