// The customer's subscriptions: pause, resume, cancel, and subscribe.
//
// The shop's server does it with its secret key. This page authenticates with the customer's session token.
//
// For tests, by data-test: subscription-<plan code> (data-status), pause, resume, cancel, cancel-at-end,
// cancel-now, keep (within it), plan-<code>, subscribe-<code>, no-subscriptions, sign-in-<customer id>, customer, sign-out,
// problem.

import { describe, fill, formatMoney } from "./package/words.js";
import { api, element, focusAfterSignIn, guichetFor, signInButtons, signOut, ui } from "./common.js";
import { language, locale, say, translate } from "./texts.js";

translate();
document.title = `${say.subscriptions} · Pas à Pas`;
let session; // the customer's session token: requested once, in memory only
let mine = [];
let names = {}; // plan names by code, in the customer's language
let canceling; // the id of the subscription whose cancellation awaits confirmation
open().catch(problem);

async function open() {
  const shop = await api("/api/shop");
  if (!shop.customer) {
    ui("looking").hidden = true;
    ui("sign-in").hidden = false;
    return ui("customers").append(...signInButtons(shop.customers, problem));
  }
  ui("customer").textContent = shop.customer.name;
  ui("sign-out").hidden = false;
  ui("sign-out").addEventListener("click", () => signOut(guichetFor(shop)).catch(problem));
  const [{ subscriptions }, { plans }] = await Promise.all([asCustomer("/api/subscriptions"), api("/api/plans")]);
  mine = subscriptions;
  names = Object.fromEntries(plans.map(({ code, name }) => [code, name[language]]));
  ui("plans").append(...plans.map(offer));
  draw();
  focusAfterSignIn(ui("mine").firstElementChild, ...ui("plans").querySelectorAll("button"));
}

/** Calls the shop's server with the customer's session token. An expired token is renewed once. */
async function asCustomer(path, body, again = true) {
  session ??= api("/guichet/session", {});
  const { session_token } = await session.catch((error) => { session = undefined; throw error; });
  try {
    return await api(path, body, { authorization: `Bearer ${session_token}` });
  } catch (error) {
    if (error.status !== 401 || !again) throw error;
    session = undefined;
    return asCustomer(path, body, false);
  }
}

/** Changes a subscription and shows the result. */
async function act(button, path, body) {
  const card = button.closest("li");
  for (const other of card.querySelectorAll("button")) other.disabled = true; // a second click
  ui("problem").textContent = "";
  canceling = undefined;
  try {
    const changed = await asCustomer(`/api/subscriptions${path}`, body);
    mine = mine.some(({ id }) => id === changed.id) ? mine.map((one) => (one.id === changed.id ? changed : one)) : [changed, ...mine];
    draw(changed);
    ui("said").textContent = fill(say.about, { what: nameOf(changed.plan), name: standing(changed) });
  } catch (error) {
    problem(error);
    draw();
  }
  for (const other of card.querySelectorAll("button")) other.disabled = false;
}

function draw(changed) {
  ui("looking").hidden = true;
  ui("none").hidden = mine.length > 0;
  // Prevents subscribing to a plan twice by mistake.
  const plans = [...ui("plans").children];
  const has = (plan) => mine.some(({ status, plan: { code } }) => status !== "canceled" && plan.dataset.test === `plan-${code}`);
  for (const plan of plans) plan.hidden = has(plan);
  ui("offers").hidden = plans.every(({ hidden }) => hidden);
  ui("mine").replaceChildren(...mine.map(card));
  // The clicked button was replaced: its card takes the keyboard focus.
  if (changed ?? canceling) document.getElementById((changed ?? canceling).id)?.focus();
}

function card(subscription) {
  const { id, status, plan } = subscription;
  return element("li", { "data-test": `subscription-${plan.code}`, "data-status": status },
    element("h2", { id, tabindex: "-1" }, nameOf(plan)),
    element("p", { class: "price" }, price(plan)),
    element("p", {}, standing(subscription)),
    element("div", { class: "row" }, ...(canceling?.id === id ? cancelling(subscription) : moves(subscription))));
}

/** The buttons for a subscription's current status. */
function moves(subscription) {
  const { id, status, pause_at_period_end, cancel_at_period_end } = subscription;
  if (status === "canceled") return [];
  const stops = status === "paused" || pause_at_period_end || cancel_at_period_end;
  const cancel = () => { canceling = subscription; draw(); };
  return [
    stops ? button("resume", (pressed) => act(pressed, `/${id}/resume`, {})) : button("pause", (pressed) => act(pressed, `/${id}/pause`, {})),
    !cancel_at_period_end && button("cancel", cancel),
  ].filter(Boolean);
}

/** Cancelling needs a confirmation: a canceled subscription cannot be resumed. */
function cancelling(subscription) {
  const { id, status, current_period_end } = subscription;
  const at = (immediately) => (pressed) => act(pressed, `/${id}/cancel`, { immediately });
  return [
    status !== "paused" && current_period_end && button("cancel_at_end", at(false), { date: day(current_period_end) }),
    button("cancel_now", at(true)),
    button("keep", () => { const kept = canceling; canceling = undefined; draw(kept); }),
  ].filter(Boolean);
}

/** The status of a subscription, in a sentence. */
function standing({ status, pause_at_period_end, cancel_at_period_end, current_period_end, next_charge_at }) {
  const date = day(next_charge_at ?? current_period_end);
  const ending = cancel_at_period_end ? "ends" : pause_at_period_end ? "pauses" : undefined;
  if (ending && status !== "canceled" && status !== "paused") return fill(say[ending], { date: day(current_period_end) });
  return fill(say[`is_${status}`] ?? status, { date });
}

function offer({ code, trial_days, ...plan }) {
  const name = names[code];
  const subscribe = button("subscribe", (pressed) => act(pressed, "", { plan: code }));
  subscribe.dataset.test = `subscribe-${code}`;
  subscribe.setAttribute("aria-label", fill(say.about, { what: say.subscribe, name }));
  return element("li", { "data-test": `plan-${code}` },
    element("h3", {}, name),
    element("p", { class: "price" }, price(plan)),
    element("p", { class: "soft" }, trial_days > 0 ? fill(say.trial, { days: String(trial_days) }) : ""),
    element("div", { class: "row" }, subscribe));
}

function button(word, done, values = {}) {
  const created = element("button", { type: "button", "data-test": word.replaceAll("_", "-") }, fill(say[word], values));
  created.addEventListener("click", () => done(created));
  return created;
}

/** A plan's name in the shop, or at the payment service if the shop no longer sells it. */
function nameOf({ code, name }) {
  return names[code] ?? name;
}

function price({ amount, currency, billing_cycle }) {
  return fill(say[`each_${billing_cycle}`] ?? "{amount}", { amount: formatMoney(amount, currency, locale) });
}

function day(moment) {
  return moment ? new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long" }).format(new Date(moment)) : "";
}

function problem(error) {
  console.warn(error);
  ui("looking").hidden = true;
  ui("problem").textContent = error.kind ? describe(error, locale) : say.shop_down;
}
