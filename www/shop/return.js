// The return page: shows the result of the payment and what the customer can do next.
//
// For tests, by data-test: outcome (data-state: looking, paid, failed, canceled, unpaid, pending,
// none, trouble), try-again, look-again, to-shop, sign-out, lines, total, refunds-due, problem.

import { describe, fill, formatMoney } from "./package/words.js";
import { api, basket, element, guichetFor, storedOrder, signOut, ui } from "./common.js";
import { language, locale, say, translate } from "./texts.js";

translate();
const order = storedOrder.read(); // null in another tab or browser: then the payment alone is shown
let guichet;
let leaving = false; // on the way to the payment page
look();

async function look() {
  show("looking");
  try {
    const shop = await api("/api/shop");
    guichet ??= guichetFor(shop);
    ui("sign-out").hidden = !shop.customer;

    // Anyone can type this address. It is used only to find the payment.
    const back = await guichet.returned() ?? await paymentOfOrder(shop);
    const outcome = back && await guichet.waitForOutcome(back, {
      // The customer left the payment page without paying: there is nothing to wait for.
      onStatus: (status) => status === "requires_action" && show("unpaid"),
    });

    // The shop's server decides: it has read the payment with its secret key and marked the order.
    const known = order && await api(`/api/orders/${encodeURIComponent(order.id)}`);
    if (known) drawOrder(known, shop.products);
    show(stateOf(known, outcome), outcome?.last_payment_error);
  } catch (error) {
    console.warn(error);
    show("trouble", error.kind ? error : null);
  }
}

/**
 * The payment of the stored order, if the address has none: the customer closed the window of the payment
 * page or used the back button, and may have paid.
 */
async function paymentOfOrder(shop) {
  const known = order && await api(`/api/orders/${encodeURIComponent(order.id)}`);
  if (known) drawOrder(known, shop.products);
  return known?.status === "unpaid" && known.payment_ref ? { payment_ref: known.payment_ref } : null;
}

function stateOf(known, outcome) {
  if (known) {
    if (known.status !== "unpaid") return known.status;
    if (outcome?.state === "succeeded") return "pending"; // the shop's server has not read it yet
  }
  if (!outcome) return known ? "unpaid" : "none";
  if (outcome.state === "succeeded") return "paid";
  if (outcome.state === "failed" || outcome.state === "canceled") return outcome.state;
  return outcome.status === "requires_action" ? "unpaid" : "pending";
}

/** Shows one state; its name is also the key of its texts. `error` is the reason, if known. */
function show(state, error) {
  ui("outcome").dataset.state = state;
  ui("outcome-title").textContent = state === "looking" ? say.looking_payment : say[state];
  ui("outcome-text").textContent = [error ? describe(error, locale) : "", say[`${state}_text`]].filter(Boolean).join(" ");
  ui("pay").hidden = !order || !["failed", "canceled", "unpaid"].includes(state);
  ui("pay").textContent = state === "failed" ? say.try_again : say.go_on;
  ui("look").hidden = !["pending", "trouble"].includes(state);
  document.title = `${ui("outcome-title").textContent} · Pas à Pas`;
  if (state === "paid") {
    if (order) storedOrder.write({ id: order.id });
    basket.write({});
  }
}

function drawOrder({ lines, total, currency, refunds_due }, products) {
  // The operator approved an attempt after it was shown as declined, too late to pay for the order.
  ui("refunds").replaceChildren(...refunds_due.map((refund) =>
    element("li", {}, fill(say.refund_due, { amount: formatMoney(refund.amount, refund.currency, locale) }))));
  ui("lines").replaceChildren(...lines.map(({ sku, quantity }) =>
    element("li", {}, element("span", {}, `${quantity} × ${products.find((product) => product.sku === sku)?.name[language] ?? sku}`))));
  ui("total-line").hidden = false;
  ui("total").textContent = formatMoney(total, currency, locale);
}

// Pays the same order again. After a final decline the shop's server creates a new payment for it; before
// that it returns the same payment, so the customer cannot pay twice.
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
  canPay(true); // the page was not left: an error, or the customer came back
}

function canPay(can) {
  leaving = !can;
  ui("pay").disabled = !can;
}

ui("pay").addEventListener("click", payAgain);
ui("look").addEventListener("click", look);
ui("sign-out").addEventListener("click", () => signOut(guichet));
// The back button may restore this page from the cache, with "try again" still disabled.
addEventListener("pageshow", ({ persisted }) => persisted && canPay(true));
