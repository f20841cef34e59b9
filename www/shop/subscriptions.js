// The customer's own subscriptions: each can be paused, resumed and canceled here, and a new one begun.
//
// The shop's server does it with its key; what it asks of this page is the customer's session token,
// which says whose subscriptions these are.
//
// For tests, by data-test: subscription-<plan code> (data-status), pause, resume, cancel, cancel-at-end,
// cancel-now, keep (within it), plan-<code>, subscribe-<code>, no-subscriptions, sign-in-<customer id>, customer, sign-out,
// problem.

import { describe, fill, formatMoney } from "./package/words.js";
import { api, element, guichetFor, signInButtons, signOut, ui } from "./common.js";
import { language, locale, say, translate } from "./texts.js";

translate();
document.title = `${say.subscriptions} · Pas à Pas`;
let session; // the customer's token: asked for once, kept in memory alone
let mine = [];
let names = {}; // of the plans, in the customer's language
let asked; // the subscription whose cancelling is being asked for
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
}

/** Asks the shop's server with the customer's token. One that has run out is asked for once more. */
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

/** Does one thing with a subscription, and shows what it is now. */
async function act(button, path, body) {
  const card = button.closest("li");
  for (const other of card.querySelectorAll("button")) other.disabled = true; // a second click
  ui("problem").textContent = "";
  asked = undefined;
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
  // Nobody subscribes to the same thing twice by mistake.
  const plans = [...ui("plans").children];
  const has = (plan) => mine.some(({ status, plan: { code } }) => status !== "canceled" && plan.dataset.test === `plan-${code}`);
  for (const plan of plans) plan.hidden = has(plan);
  ui("offers").hidden = plans.every(({ hidden }) => hidden);
  ui("mine").replaceChildren(...mine.map(card));
  // Drawn anew, the button just pressed is gone: the card it was on takes the keyboard's focus.
  if (changed ?? asked) document.getElementById((changed ?? asked).id)?.focus();
}

function card(subscription) {
  const { id, status, plan } = subscription;
  return element("li", { "data-test": `subscription-${plan.code}`, "data-status": status },
    element("h2", { id, tabindex: "-1" }, nameOf(plan)),
    element("p", { class: "price" }, price(plan)),
    element("p", {}, standing(subscription)),
    element("div", { class: "row" }, ...(asked?.id === id ? cancelling(subscription) : moves(subscription))));
}

/** What can be done with it now. */
function moves(subscription) {
  const { id, status, pause_at_period_end, cancel_at_period_end } = subscription;
  if (status === "canceled") return [];
  const stops = status === "paused" || pause_at_period_end || cancel_at_period_end;
  const cancel = () => { asked = subscription; draw(); };
  return [
    stops ? button("resume", (pressed) => act(pressed, `/${id}/resume`, {})) : button("pause", (pressed) => act(pressed, `/${id}/pause`, {})),
    !cancel_at_period_end && button("cancel", cancel),
  ].filter(Boolean);
}

/** Cancelling is asked for twice: a subscription that is canceled does not come back. */
function cancelling(subscription) {
  const { id, status, current_period_end } = subscription;
  const at = (immediately) => (pressed) => act(pressed, `/${id}/cancel`, { immediately });
  return [
    status !== "paused" && current_period_end && button("cancel_at_end", at(false), { date: day(current_period_end) }),
    button("cancel_now", at(true)),
    button("keep", () => { const kept = asked; asked = undefined; draw(kept); }),
  ].filter(Boolean);
}

/** How it stands, in a sentence. */
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
  const made = element("button", { type: "button", "data-test": word.replaceAll("_", "-") }, fill(say[word], values));
  made.addEventListener("click", () => done(made));
  return made;
}

/** What the shop calls a plan; one that it sells no more is called what the payment service knows it by. */
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
