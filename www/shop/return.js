// Where the customer comes back to after paying: what became of it, and what to do next.
//
// For tests, by data-test: outcome (data-state: looking, paid, failed, canceled, unpaid, pending,
// none, trouble), try-again, look-again, to-shop, sign-out, lines, total, refunds-due, problem.

import { describe, fill, formatMoney } from "./package/words.js";
import { api, basket, element, guichetFor, keptOrder, signOut, ui } from "./common.js";
import { language, locale, say, translate } from "./texts.js";

translate();
const order = keptOrder.read(); // null in another tab or browser: then the payment alone is shown
let guichet;
let leaving = false; // on the way to the payment page
look();

async function look() {
  show("looking");
  try {
    const shop = await api("/api/shop");
    guichet ??= guichetFor(shop);
    ui("sign-out").hidden = !shop.customer;

    // What the address says may have been typed by anyone. It only tells which payment to ask for.
    const back = await guichet.returned() ?? await paymentOfOrder(shop);
    const outcome = back && await guichet.waitForOutcome(back, {
      // Left the payment page without paying: no use in letting them wait.
      onStatus: (status) => status === "requires_action" && show("unpaid"),
    });

    // The last word is the shop's own server's, which has asked with its key and marked the order.
    const known = order && await api(`/api/orders/${encodeURIComponent(order.id)}`);
    if (known) drawOrder(known, shop.products);
    show(stateOf(known, outcome), outcome?.last_payment_error);
  } catch (error) {
    console.warn(error);
    show("trouble", error.kind ? error : null);
  }
}

/**
 * The payment of the order that is kept, where the address names none: the customer has closed the window of the payment
 * page, or has come back by the back button, and may have paid.
 */
async function paymentOfOrder(shop) {
  const known = order && await api(`/api/orders/${encodeURIComponent(order.id)}`);
  if (known) drawOrder(known, shop.products);
  return known?.status === "unpaid" && known.payment_ref ? { payment_ref: known.payment_ref } : null;
}

function stateOf(known, outcome) {
  if (known) {
    if (known.status !== "unpaid") return known.status;
    if (outcome?.state === "succeeded") return "pending"; // the shop does not know it yet
  }
  if (!outcome) return known ? "unpaid" : "none";
  if (outcome.state === "succeeded") return "paid";
  if (outcome.state === "failed" || outcome.state === "canceled") return outcome.state;
  return outcome.status === "requires_action" ? "unpaid" : "pending";
}

/** Shows one state; its name is also the key of its sentences. `error` says why, where it is known. */
function show(state, error) {
  ui("outcome").dataset.state = state;
  ui("outcome-title").textContent = state === "looking" ? say.looking_payment : say[state];
  ui("outcome-text").textContent = [error ? describe(error, locale) : "", say[`${state}_text`]].filter(Boolean).join(" ");
  ui("pay").hidden = !order || !["failed", "canceled", "unpaid"].includes(state);
  ui("pay").textContent = state === "failed" ? say.try_again : say.go_on;
  ui("look").hidden = !["pending", "trouble"].includes(state);
  document.title = `${ui("outcome-title").textContent} · Pas à Pas`;
  if (state === "paid") {
    if (order) keptOrder.keep({ id: order.id });
    basket.keep({});
  }
}

function drawOrder({ lines, total, currency, refunds_due }, products) {
  // The operator approved an attempt after it was told as declined, and too late to pay for the order.
  ui("refunds").replaceChildren(...refunds_due.map((refund) =>
    element("li", {}, fill(say.refund_due, { amount: formatMoney(refund.amount, refund.currency, locale) }))));
  ui("lines").replaceChildren(...lines.map(({ sku, quantity }) =>
    element("li", {}, element("span", {}, `${quantity} × ${products.find((product) => product.sku === sku)?.name[language] ?? sku}`))));
  ui("total-line").hidden = false;
  ui("total").textContent = formatMoney(total, currency, locale);
}

// The same order again. After a refusal the shop's server makes a new payment for it; before one,
// it hands out the same payment: the customer cannot pay twice.
async function payAgain() {
  if (leaving) return; // a second click
  canPay(false);
  ui("problem").textContent = "";
  try {
    await guichet.checkout({ order: { id: order.id } }, { mode: "redirect" });
  } catch (error) {
    ui("problem").textContent = describe(error, locale);
    if (error.kind === "settled") look();
  }
  canPay(true); // still here: it did not work, or the customer has turned back
}

function canPay(can) {
  leaving = !can;
  ui("pay").disabled = !can;
}

ui("pay").addEventListener("click", payAgain);
ui("look").addEventListener("click", look);
ui("sign-out").addEventListener("click", () => signOut(guichet));
// The back button may bring back the very page that was left, with "try again" still off.
addEventListener("pageshow", ({ persisted }) => persisted && canPay(true));
