// The page of the example shops. Their servers differ; this file is the same for all.

import { createGuichet } from "/package/guichet.js"; // with a bundler: "guichet"
import { describe, describeLateApproval, fill, formatMoney, words } from "/package/words.js"; // "guichet/words"

const { language } = words(navigator.language);
const texts = {
  en: {
    who: "You are", signIn: "Sign in", signOut: "Sign out", pay: "Pay", popup: "Pay in a window", orders: "Your orders",
    paid: "paid", open: "not paid yet", refund: "you paid twice: a refund is due", waiting: "One moment, we ask whether you have paid…",
    sum: "{amount}, of which {fee} is the fee",
    plus_fee: "{amount} plus the fee",
    states: {
      succeeded: "Thank you, you have paid.", failed: "The payment was declined. You can pay another way.",
      canceled: "The payment was canceled. You can start again.", dismissed: "You have not paid yet.",
      pending: "Your payment is not confirmed yet. The order below changes when it is.",
      unknown: "We do not know yet whether you have paid. The order below changes when we do.",
    },
  },
  fr: {
    who: "Vous êtes", signIn: "Se connecter", signOut: "Se déconnecter", pay: "Payer", popup: "Payer dans une fenêtre",
    orders: "Vos commandes", paid: "payée", open: "pas encore payée", refund: "vous avez payé deux fois : un remboursement est dû",
    waiting: "Un instant, nous demandons si vous avez payé…", sum: "{amount}, dont {fee} de frais", plus_fee: "{amount} plus les frais",
    states: {
      succeeded: "Merci, vous avez payé.", failed: "Le paiement a été refusé. Vous pouvez payer autrement.",
      canceled: "Le paiement a été annulé. Vous pouvez recommencer.", dismissed: "Vous n’avez pas encore payé.",
      pending: "Votre paiement n’est pas encore confirmé. La commande ci-dessous changera quand il le sera.",
      unknown: "Nous ne savons pas encore si vous avez payé. La commande ci-dessous changera quand nous le saurons.",
    },
  },
}[language];

// The shop's server, if it has another origin than this page: <meta name="server" content="https://api.shop.example">.
const server = document.querySelector("meta[name=server]")?.content ?? "";

// The CSRF token that Django or Laravel keeps in a cookie, in the header in which it expects it. Empty for other servers.
function csrfHeaders() {
  const cookie = (name) => document.cookie.match(new RegExp(`(?:^|; )${name}=([^;]+)`))?.[1];
  const [django, laravel] = [cookie("csrftoken"), cookie("XSRF-TOKEN")];
  return { ...(django && { "X-CSRFToken": django }), ...(laravel && { "X-XSRF-TOKEN": decodeURIComponent(laravel) }) };
}

const find = (id) => document.getElementById(id);
const show = (...sentences) =>
  find("message").replaceChildren(...sentences.filter(Boolean).map((sentence) => element("p", {}, sentence)));
const orShow = (action) => (event) => action(event).catch((error) => show(describe(error, language)));

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// What is known of a payment. If the operator may still approve an attempt that it declined, nobody knows yet whether it took the money.
function sentencesOf(outcome) {
  const { state, merchant_reference, amount, amount_payable, plus_fee } = outcome;
  const late = describeLateApproval(outcome, language);
  const known = [late ?? texts.states[state]]; // after a payment that succeeded, `late` begins with that
  if (!amount) return known;
  // One amount, which the customer pays. The fee is a part of it, if they bear it.
  const money = (figure) => formatMoney(String(figure), "XAF", language);
  const payable = money(amount_payable ?? amount);
  const fee = Number(amount_payable ?? amount) - Number(amount); // a service may write 45000.00
  const sum = fee ? fill(texts.sum, { amount: payable, fee: money(fee) }) : payable;
  return [...known, `${merchant_reference}, ${plus_fee ? fill(texts.plus_fee, { amount: payable }) : sum}`];
}

async function send(path, body) {
  const headers = { "content-type": "application/json", ...csrfHeaders() };
  const response = await fetch(server + path, { method: "POST", headers, body: JSON.stringify(body), credentials: "include" });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
}

// A basket has a number of its own, so that a second click is the same order. Once its order is paid, the next click is a new order.
function basketOf(product, orders) {
  const place = `basket-${product}`;
  const kept = sessionStorage.getItem(place);
  if (kept && !orders.some((order) => order.basket === kept && order.product_id === product && order.paid_by)) return kept;
  const fresh = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
  sessionStorage.setItem(place, fresh);
  return fresh;
}

function showShop(shop) {
  find("sign-in").hidden = Boolean(shop.customer);
  find("signed-in").hidden = !shop.customer;
  find("customer").textContent = shop.customer;
  find("orders-title").hidden = shop.orders.length === 0;
  const focused = find("products").querySelector(":focus")?.className;
  find("products").replaceChildren(...shop.products.map(({ id: product, amount, [language]: name }) => {
    // `checkout` is called in the click itself: a window that opens later is blocked.
    const buy = (mode) => () => pay({ id: basketOf(product, shop.orders), product }, mode);
    const button = (className, textContent, mode) => element("button", {
      className: `${className} ${product}`, textContent, ariaLabel: `${textContent}, ${name}`, disabled: !shop.customer, onclick: buy(mode),
    });
    return element("li", {},
      element("strong", { textContent: `${name}, ${formatMoney(amount, "XAF", language)}` }),
      button("primary", texts.pay, "redirect"), button("popup", texts.popup, "popup"));
  }));
  if (focused) find("products").getElementsByClassName(focused)[0]?.focus();
  find("orders").replaceChildren(...shop.orders.map(({ id, product_id, paid_by, refunds }) => {
    const state = [paid_by ? texts.paid : texts.open, ...(refunds ? [texts.refund] : [])].join(", ");
    return element("li", {}, `${shop.products.find((one) => one.id === product_id)?.[language] ?? product_id}, ${state} (${id})`);
  }));
}

async function readShop() {
  const response = await fetch(`${server}/shop`, { credentials: "include" });
  if (!response.ok) throw new Error(`/shop: ${response.status}`);
  return response.json();
}

// What has been paid may reach the server a moment after the customer.
async function showOrders(outcome) {
  for (const pause of outcome?.delivered === false ? [0, 500, 1000, 2000, 4000] : [0]) {
    await new Promise((go) => setTimeout(go, pause));
    showShop(await readShop());
  }
}

async function pay(order, mode) {
  let outcome;
  try {
    outcome = await guichet.checkout({ order }, { mode });
    show(...sentencesOf(outcome));
  } catch (error) {
    show(describe(error, language));
  }
  // If the shop does not answer, the list of orders stays as it is: what the message says is still so.
  await showOrders(outcome).catch(() => {});
}

document.documentElement.lang = language;
find("who").textContent = texts.who;
find("sign-in").elements[1].textContent = texts.signIn;
find("sign-out").textContent = texts.signOut;
find("orders-title").textContent = texts.orders;

const shop = await readShop().catch((error) => {
  show(describe(error, language));
  throw error;
});
const guichet = createGuichet({
  baseUrl: shop.base_url,
  checkoutOrigins: shop.checkout_origins, // where customers may be sent to pay
  merchant: shop.merchant ?? `${server}/guichet`, // `guichet shop` has another port than the server
  merchantCredentials: "include", // the cookie, also to another origin of this site
  locale: language, // the server names the product in it
});

find("sign-in").elements.customer.replaceChildren(...shop.customers.map((id) => element("option", { textContent: id })));
find("sign-in").onsubmit = orShow(async (event) => {
  event.preventDefault();
  await send("/sign-in", { customer: event.target.elements.customer.value });
  showShop(await readShop());
  find("products").querySelector("button").focus(); // the form that had the focus is hidden now
});
find("sign-out").onclick = orShow(async () => {
  await guichet.session.revoke().catch(() => {}); // the session ends by itself, too
  await send("/sign-out", {});
  location.reload();
});
showShop(shop);

try {
  const back = await guichet.returned(); // null unless the customer returns from paying; in a popup, it closes the window
  if (back) {
    show(texts.waiting);
    // After a decline the customer may still wait for the operator: they read at once what is known.
    const onStatus = (status, outcome) => status === "requires_action" && show(...sentencesOf(outcome));
    // What the customer reads. The order is paid when the server has read so from the service, whatever happens here.
    const outcome = await guichet.waitForOutcome(back, { onStatus });
    show(...sentencesOf(outcome));
    await showOrders(outcome);
  }
} catch (error) {
  show(describe(error, language));
}
