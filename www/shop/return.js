// The return page: shows the result of the payment and what the customer can do next.
//
// For tests, by data-test: outcome (data-state: looking, paid, paid_other_sum, paid_after_end, failed, canceled, unpaid, pending,
// none, trouble), try-again, look-again, to-shop, sign-out, lines, number, total, fee, receipt, print, refunds-due, problem.

import { describe, describeLateApproval, fill, formatMoney } from "./package/words.js";
import { api, basket, element, guichetFor, storedOrder, signOut, ui } from "./common.js";
import { language, locale, say, translate } from "./texts.js";

translate();
const order = storedOrder.read(); // null in another tab or browser: then the payment alone is shown
let guichet;
let shop;
let leaving = false; // on the way to the payment page
let looking = new AbortController(); // aborted by the next look: the result of the last one is shown
look();

async function look() {
  looking.abort();
  looking = new AbortController();
  const { signal } = looking;
  show("looking");
  try {
    shop = await api("/api/shop");
    guichet ??= guichetFor(shop);
    ui("sign-out").hidden = !shop.customer;
    const readOrder = async () => order && api(`/api/orders/${encodeURIComponent(order.id)}`);
    const before = await readOrder();
    if (before) drawOrder(before);

    // Anyone can type this address. It is used only to find the payment. It has none if the customer closed the window of the
    // payment page or used the back button, and they may have paid.
    const back = await guichet.returned() ?? (before?.payment_ref && { payment_ref: before.payment_ref });
    const isSettled = Boolean(before) && before.status !== "unpaid";
    const outcome = back && await guichet.waitForOutcome(back, {
      signal,
      budgetMs: isSettled ? 1 : undefined, // one look, for what is known beside the order's status
      // The customer left the payment page without paying: there is nothing to wait for.
      onStatus: (status, outcome) => status === "requires_action" && !signal.aborted && show("unpaid", { known: before, outcome }),
    });

    // The shop's server decides: it has read the payment with its secret key and marked the order.
    const known = await readOrder();
    if (signal.aborted) return;
    if (known) drawOrder(known);
    show(stateOf(known, outcome), { known, outcome });
  } catch (error) {
    if (signal.aborted) return;
    console.warn(error);
    show("trouble", { error: error.kind ? error : null });
  }
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

/** Shows one state; its name is also the key of its texts. `error` is the reason that nothing could be read. */
function show(state, { known, outcome, error } = {}) {
  const isOpen = ["failed", "canceled", "unpaid"].includes(state);
  const isPaid = ["paid", "paid_other_sum", "paid_after_end"].includes(state);
  // The operator may still approve an attempt that it declined. What it has approved, and is a refund due, is not counted in `late`.
  // An earlier payment of the order may be approved later than this one. Once a refund is due, it has been, and the page says that.
  const until = !known?.refunds_due.length && known?.approvable_until;
  const isEarlierOpen = until && !(until <= outcome?.as_of) && outcome?.late?.state !== "open"; // by the service's clock
  const payment = isEarlierOpen ? { status: outcome?.status ?? state, late: { state: "open", until } } : outcome;
  const late = isOpen || isPaid || state === "pending" ? describeLateApproval(payment, locale) : undefined;
  const isNotKnown = isOpen && Boolean(late);
  const reason = error ?? (isOpen && outcome?.last_payment_error);
  ui("outcome").dataset.state = state;
  ui("outcome").toggleAttribute("data-not-known", isNotKnown);
  ui("outcome-title").textContent = isNotKnown ? say.not_known : state === "looking" ? say.looking_payment : say[state];
  const texts = isNotKnown ? [late, say.kept] : [reason && describe(reason, locale, outcome?.late), say[`${state}_text`], late];
  ui("outcome-text").textContent = texts.filter(Boolean).join(" ");
  ui("pay").hidden = !order || !isOpen;
  ui("pay").textContent = isNotKnown ? say.pay_again : state === "failed" ? say.pay_otherwise : say.go_on;
  ui("look").hidden = !(isNotKnown || ["pending", "trouble"].includes(state));
  ui("pay").className = isNotKnown ? "" : "primary"; // to look again costs nothing
  ui("look").className = isNotKnown ? "primary" : "";
  document.title = `${ui("outcome-title").textContent} · Pas à Pas`;
  drawAmount(known, outcome);
  ui("receipt").hidden = ui("print").hidden = !isPaid;
  if (isPaid) {
    ui("payment").textContent = known?.payment_ref ?? outcome?.reference.payment_ref ?? "";
    ui("date").textContent = new Intl.DateTimeFormat(language, { dateStyle: "long" }).format();
    if (order) storedOrder.write({ id: order.id });
    basket.write({});
  }
}

/** One amount, which the customer pays. The fee is a part of it, if they bear it. */
function drawAmount(known, outcome) {
  const [number, amount] = [known?.id ?? outcome?.merchant_reference, known?.total ?? outcome?.amount];
  ui("number-line").hidden = !number;
  ui("number").textContent = number ?? "";
  ui("total-line").hidden = !amount;
  if (!amount) return;
  // The address may name a payment of another order.
  const payable = outcome?.amount === amount ? outcome.amount_payable ?? amount : amount;
  const isWhole = [payable, amount].every((digits) => /^\d+$/.test(digits));
  const fee = isWhole ? BigInt(payable) - BigInt(amount) : 0n;
  ui("total").textContent = formatMoney(payable, shop.currency, locale);
  const isPlusFee = outcome?.amount === amount && outcome.plus_fee;
  ui("fee").textContent = isPlusFee ? say.plus_fee : fee ? fill(say.fee, { fee: formatMoney(String(fee), shop.currency, locale) }) : "";
}

function drawOrder({ lines, refunds_due }) {
  // The operator approved an attempt after it was shown as declined, too late to pay for the order.
  ui("refunds").replaceChildren(...refunds_due.map(({ amount, currency, plus_fee: plusFee }) =>
    element("li", {}, fill(plusFee ? say.refund_due_and_fee : say.refund_due, { amount: formatMoney(amount, currency, locale) }))));
  ui("lines").replaceChildren(...lines.map(({ sku, quantity }) =>
    element("li", {}, element("span", {}, `${quantity} × ${shop.products.find((product) => product.sku === sku)?.name[language] ?? sku}`))));
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
ui("print").addEventListener("click", () => print());
ui("sign-out").addEventListener("click", () => signOut(guichet));
// The back button may restore this page from the cache, with "try again" still disabled.
addEventListener("pageshow", ({ persisted }) => persisted && canPay(true));
