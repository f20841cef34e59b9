// A payment company's own checkout page. guichet/hosted has the rules of paying: what is sent, when
// it is sent again, which address is followed. This file shows what has become of the payment.

import { openHostedCheckout } from "./guichet/hosted.js";
import { hostedWords } from "./guichet/hosted-words.js";
import { describe, describeLateApproval, fill, formatMoney, words } from "./guichet/words.js";

const COUNTRY = "CM"; // of a phone number without a country code
const ENDED = "confirm succeeded failed canceled expired status_unknown";
const BUTTONS = [ // the key of its sentence, the views that show it, and what it does
  ["proceed", "bank", () => payment.proceed()],
  ["another", "code bank", () => show("ready")],
  ["number_no", "number_asked", () => show("waiting")],
  ["number_yes", "number_asked", () => act("abandoning", payment.anotherNumber)],
  ["cancel_no", "cancel_asked", () => show(viewOf(payment.intent))],
  ["cancel_yes", "cancel_asked", () => act("canceling", payment.cancel)],
  ["leave", `ready declined code bank waiting waiting_card ${ENDED}`, () => payment.leave()],
  ["number", "waiting", () => show("number_asked")],
  ["cancel", "ready declined code bank", () => show("cancel_asked")],
  ["again", "trouble", () => location.reload()],
];

const money = (amount) => formatMoney(String(amount), payment.intent.currency, locale);
const ui = (id) => document.getElementById(id);
const write = (id, text) => {
  if (ui(id).textContent !== text) ui(id).textContent = text; // which a screen reader reads
};
const form = ui("form");
const { type: methods, operator: operators, cvc, otp } = form.elements;
const locale = new URLSearchParams(location.search).get("lang") ?? navigator.language;
const say = hostedWords(locale);
let payment; // the open checkout
let pending; // aborts the action under way
let view, error; // what is shown, a key of the sentences; why the last action failed

/** Runs an action, and shows what has become of the payment. Until then, nothing can be paid. */
async function act(name, run) {
  pending?.abort();
  const { signal } = (pending = new AbortController());
  const [from, before] = [view, JSON.stringify(payment.intent)];
  let failure;
  const onStatus = (intent) => intent.status === "processing" && show(viewOf(intent), failure);
  const options = { signal, onStatus, budgetMs: 24 * 60 * 60 * 1000 }; // while the page is open
  show(name);
  try {
    await run(options).catch((thrown) => {
      failure = thrown;
      if (thrown.kind === "input") return; // nothing was sent
      if (["offline", "timeout", "unreadable"].includes(thrown.kind)) show("uncertain");
      return payment.wait(options); // no error says whether money moved: the status does
    });
    if (payment.intent.status === "requires_action") offer(await payment.quotes({ signal }));
    signal.throwIfAborted();
    const isNews = JSON.stringify(payment.intent) !== before;
    if (isNews) cvc.value = otp.value = "";
    show(isNews || from !== "ready" ? viewOf(payment.intent) : from, isNews ? null : failure);
    pending = undefined;
  } catch (thrown) {
    if (!signal.aborted) show("trouble", thrown);
  }
}

/** Another tab may have paid, or an operator taken the money of an attempt that it declined. */
function reread() {
  if (payment && !pending && !document.hidden && view !== "cancel_asked") act(view, payment.wait);
}

/** The view of a payment's status. */
function viewOf({ status, next_action: action, payment_method: method, ...intent }) {
  const steps = { otp: "code", redirect: "bank", confirm: "confirm" };
  if (status === "requires_action" && action) return steps[action.type] ?? "status_unknown";
  if (status === "requires_action") return intent.last_payment_error ? "declined" : "ready";
  if (status === "processing") return method?.type === "card" ? "waiting_card" : "waiting";
  if (status === "canceled" && intent.cancellation_reason === "expired") return "expired";
  return ENDED.split(" ").includes(status) ? status : "status_unknown";
}

/** Shows a view. What comes from outside becomes text, never markup. */
function show(name, thrown) {
  [view, error] = [name, thrown];
  const focused = document.activeElement;
  const shown = view === "code" ? [view] : [view, methods.value];
  for (const part of document.querySelectorAll("[data-views]")) {
    part.hidden = !part.dataset.views.split(" ").some((name) => shown.includes(name));
  }
  const [title, ...text] = payment ? textsOf(payment) : [say[view], say[`${view}_text`]];
  write("title", title);
  write("text", [error && describe(error, locale), ...text].filter(Boolean).join("\n"));
  ui("status").dataset.status = view;
  const wrong = error?.fields?.map(({ param }) => param.split(".").pop()) ?? [];
  for (const field of form.querySelectorAll("[autocomplete]")) {
    field.ariaInvalid = wrong.includes(field.name);
  }
  if (!focused.checkVisibility()) ui("status").focus();
}

/** The title, and then what happened, what to do, and what is not known of the money. */
function textsOf({ intent, late }) {
  const { last_payment_error: decline, payment_method: method, next_action: action } = intent;
  const isUnpaid = ["declined", "failed", "canceled", "expired"].includes(view);
  const doubt = describeLateApproval({ ...intent, late }, locale);
  const isUnsure = doubt && (isUnpaid || view === "ready");
  const taken = intent.duplicate_payments?.map(({ amount }) => money(amount)) ?? [];
  const isAsked = view === "waiting" && action?.payee;
  const amount = money(intent.amount_payable ?? intent.amount);
  const operator = action?.operator?.name ?? say.your_operator;
  const values = { amount, operator, payee: action?.payee, status: intent.status };
  const row = (what, price) => view === "succeeded" && price && fill(say.price_of, { what, price });
  write("amount", amount);
  return [
    isUnsure || view === "ready" ? say.pay_title : fill(say[view], values),
    ...taken.map((amount) => fill(say.duplicate_text, { amount })),
    /declined|failed/.test(view) && decline && !doubt && describe(decline, locale, late),
    isUnpaid && !doubt && !taken.length && say.not_charged,
    fill(say[`${view}_${isUnsure ? "unsure" : isAsked ? "asks" : "text"}`] ?? "", values),
    isUnsure && say.look_text,
    row(say.receipt_number, method?.phone ?? method?.last4),
    row(say.receipt_reference, intent.merchant_reference),
    doubt,
  ];
}

/** Offers the methods with their prices, and the operators with their state. */
function offer(quotes) {
  const { amount, fee_bearer } = payment.intent;
  for (const radio of methods) {
    const prices = quotes.filter((quote) => quote.payment_method === radio.value).map((quote) => {
      const what = say[`card_${quote.card_type}`] ?? say[radio.value];
      const price = fee_bearer === "customer" ? quote.customer_pays : amount;
      return price ? fill(say.price_of, { what, price: money(price) }) : say.price_missing;
    });
    radio.nextSibling.textContent = prices.join(" · ");
    radio.parentNode.hidden = prices.length === 0;
    radio.disabled = prices.length === 0 || prices.includes(say.price_missing);
    radio.checked = !radio.disabled && (radio.checked || !methods.value);
  }
  const states = quotes.flatMap(({ method }) => method.operators ?? []);
  const options = states.map(({ code, name, status }) => {
    const text = [name, say[`operator_${status}`]].filter(Boolean).join(": ");
    return Object.assign(new Option(text, code), { disabled: status === "closed" });
  });
  operators.replaceChildren(new Option(say.your_operator, ""), ...options);
}

form.onchange = () => show(view, error);
form.onsubmit = (event) => {
  event.preventDefault();
  const { type, phone, operator, otp: code, ...card } = Object.fromEntries(new FormData(form));
  const byPhone = { type, phone, country_code: COUNTRY, operator: operator || undefined };
  const [method, isCode] = [type === "card" ? { type, card } : byPhone, view === "code"];
  act("sending", (how) => (isCode ? payment.answer(code, how) : payment.pay(method, how)));
};
for (const [word, views, run] of BUTTONS) {
  const onclick = () => Promise.resolve().then(run).catch((thrown) => show("trouble", thrown));
  const button = Object.assign(document.createElement("button"), { onclick, hidden: true });
  Object.assign(button.dataset, { word, views, test: word.replace("_", "-") });
  ui("buttons").append(button);
}
for (const place of document.querySelectorAll("[data-word]")) {
  place.textContent = say[place.dataset.word];
}
document.documentElement.lang = words(locale).language;
document.onvisibilitychange = reread;
setInterval(() => payment?.late.state === "open" && reread(), 20_000);

try {
  const wasm = new URL("./guichet/core/guichet_hosted_bg.wasm", import.meta.url);
  payment = await openHostedCheckout({ baseUrl: location.origin, intent: location.href, wasm });
  await act("loading", payment.wait);
} catch (thrown) {
  const isWrong = ["input", "session", "not_found"].includes(thrown.kind);
  show(isWrong ? "link_wrong" : "trouble", isWrong ? null : thrown);
}
