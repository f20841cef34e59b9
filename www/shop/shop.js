// The shop's page: products, the basket, sign-in, the price by payment method, and "pay".
//
// For tests, by data-test: add-<sku>, less-<sku>, more-<sku>, quantity-<sku>, total,
// sign-in-<customer id>, customer, sign-out, quotes, quote-<method>[-<card type>], pay, pay-in-window,
// dismissed, problem.

import { describe, describeLateApproval, fill, formatMoney } from "./package/words.js";
import { api, basket, element, focusAfterSignIn, guichetFor, storedOrder, signInButtons, signOut, ui } from "./common.js";
import { language, locale, say, translate } from "./texts.js";

translate();
const shop = await api("/api/shop").catch(() => null);
for (const product of shop?.products ?? []) Object.assign(product, { name: product.name[language], description: product.description[language] });
const guichet = shop && guichetFor(shop);
let quantities = basket.read();
let quotesRequest = new AbortController(); // aborts the request for quotes in flight
let leaving = false; // navigating to the payment page

if (shop) open();
else ui("problem").textContent = say.shop_down;

function open() {
  ui("products").append(...shop.products.map(product));
  ui("customers").append(...signInButtons(shop.customers, problem));
  ui("customer").textContent = shop.customer?.name ?? "";
  ui("sign-out").hidden = !shop.customer;
  ui("subscriptions").hidden = !(shop.customer && shop.has_subscriptions);
  ui("sign-out").addEventListener("click", () => signOut(guichet).catch(problem));
  ui("pay").addEventListener("click", pay);
  // A window must be opened within the click, so the order is placed before, and "pay" waits for it.
  ui("window").addEventListener("change", async () => {
    if (leaving || !ui("window").checked) return;
    canPay(false);
    await placeOrder().catch(console.warn);
    canPay(true);
  });
  // The back button may restore this page from the cache, with "pay" still disabled and the paid products in its basket.
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    canPay(true);
    quantities = basket.read();
    drawBasket();
  });
  drawBasket();
  focusAfterSignIn(ui("pay"), ui("basket-title"));
}

/** Places the order, then navigates to the payment page or opens it in a popup. */
async function pay() {
  if (leaving) return; // a second click
  const mode = ui("window").checked ? "popup" : "redirect"; // if the browser blocks the popup, the package redirects
  canPay(mode === "popup"); // a second click brings the window to the front
  ui("problem").textContent = ui("dismissed").textContent = "";
  try {
    const { id } = await placeOrder();
    canPay(true); // a navigation that the customer stops raises no event; a second click shares this call or navigates again
    // The page sends only the order's number. The server sets price and customer.
    const outcome = await guichet.checkout({ order: { id } }, { mode });
    // The popup has closed. The return page asks the server for the order's status, unless it has shown it before.
    if (outcome.state !== "dismissed" && storedOrder.read()?.lines) return location.assign("/return");
    if (outcome.state === "dismissed") ui("dismissed").textContent = leftUnpaid(outcome);
  } catch (error) {
    // Already paid, perhaps in another tab: the return page shows the order's status.
    if (error.kind === "settled") return location.assign("/return");
    problem(error);
  }
  canPay(true); // the page was not left
}

/** What is known after the customer has left the payment page. The operator may still approve an attempt that it declined. */
function leftUnpaid(outcome) {
  const late = describeLateApproval(outcome, locale);
  return late ? `${late} ${say.kept}` : outcome.last_payment_error ? say.left : say.dismissed;
}

function canPay(can) {
  leaving = !can;
  ui("pay").disabled = !can;
}

// An equal basket is the same order, however often "pay" is clicked: one order, one payment.
async function placeOrder() {
  const lines = inBasket().map(({ sku, quantity }) => ({ sku, quantity }));
  const stored = storedOrder.read();
  if (JSON.stringify(stored?.lines) === JSON.stringify(lines)) return stored;
  const { id } = await api("/api/orders", { lines, language });
  storedOrder.write({ id, lines });
  return { id };
}

/** Shows what the customer would pay with each method. A newer call aborts an older one. */
async function showQuotes(amount) {
  quotesRequest.abort();
  quotesRequest = new AbortController();
  const { signal } = quotesRequest;
  ui("quotes").replaceChildren(element("li", {}, say.looking));
  try {
    const quotes = await guichet.quotes(
      { amount, currency: shop.currency, country_code: shop.country_code, fee_bearer: "customer" },
      { signal },
    );
    ui("quotes").replaceChildren(...quotes.map(quoteLine));
  } catch (error) {
    if (signal.aborted) return;
    ui("quotes").replaceChildren();
    problem(error);
  }
}

function quoteLine({ method, payment_method, card_type, customer_pays, fee, currency }) {
  const key = [payment_method, card_type].filter(Boolean).join("-");
  const known = customer_pays !== undefined; // a method whose fee is unknown is listed without a price
  return element("li", { "data-test": `quote-${key}` },
    element("span", {}, say[key.replace("-", "_")] ?? method.name),
    element("b", {}, known ? money(customer_pays, currency) : say.no_price),
    element("small", {}, known && fee !== undefined ? fill(say.fee, { fee: money(fee, currency) }) : ""));
}

function product({ sku, name, price, currency, picture, description }) {
  const add = element("button", { type: "button", "data-test": `add-${sku}`, "aria-label": fill(say.about, { what: say.add, name }) }, say.add);
  add.addEventListener("click", () => change(sku, 1, fill(say.added, { name })));
  return element("li", {},
    element("img", { src: new URL(picture, import.meta.url).href, alt: "", width: "320", height: "240", loading: "lazy" }),
    element("h2", {}, name),
    element("p", { class: "soft" }, description),
    element("p", { class: "price" }, money(price, currency)),
    add,
    element("a", { href: "#basket", "data-in-basket": sku }));
}

function change(sku, by, said = "") {
  quantities[sku] = Math.max(0, (quantities[sku] ?? 0) + by);
  basket.write(quantities);
  drawBasket();
  ui("said").textContent = said;
}

function inBasket() {
  return shop.products.filter(({ sku }) => quantities[sku] > 0).map((product) => ({ ...product, quantity: quantities[product.sku] }));
}

function drawBasket() {
  const lines = inBasket();
  // For display only: the server computes the total that is charged. BigInt, because amounts are exact integers.
  const total = String(lines.reduce((sum, { price, quantity }) => sum + BigInt(price) * BigInt(quantity), 0n));
  const focused = document.activeElement.dataset.test;

  ui("lines").replaceChildren(...lines.map(({ sku, name, price, currency, quantity }) => {
    const step = (test, sign, by, label) => {
      const button = element("button", { type: "button", "data-test": `${test}-${sku}`, "aria-label": fill(label, { name }) }, sign);
      button.addEventListener("click", () => change(sku, by));
      return button;
    };
    return element("li", {},
      element("span", {}, name),
      element("span", { class: "steps" }, step("less", "−", -1, say.less),
        element("span", { "data-test": `quantity-${sku}` }, String(quantity)), step("more", "+", 1, say.more)),
      element("b", {}, money(String(BigInt(price) * BigInt(quantity)), currency)));
  }));
  // Drawn anew, the button just pressed would lose the keyboard's focus.
  if (document.activeElement === document.body && focused) {
    (document.querySelector(`[data-test="${focused}"]`) ?? ui("basket-title")).focus();
  }

  const filled = lines.length > 0;
  ui("empty").hidden = filled;
  ui("total-line").hidden = !filled;
  ui("total").textContent = money(total, shop.currency);
  for (const link of document.querySelectorAll("[data-in-basket]")) {
    const quantity = quantities[link.dataset.inBasket];
    link.textContent = quantity ? fill(say.in_basket, { quantity: String(quantity) }) : "";
  }
  ui("sign-in").hidden = Boolean(shop.customer);
  ui("paying").hidden = !filled || !shop.customer;
  ui("problem").textContent = "";
  if (filled && shop.customer) showQuotes(total);
}

function money(amount, currency) {
  return formatMoney(amount, currency, locale);
}

function problem(error) {
  console.warn(error);
  // The package's errors have sentences of their own; others are the shop's server not answering.
  ui("problem").textContent = error.kind ? describe(error, locale) : say.shop_down;
}
