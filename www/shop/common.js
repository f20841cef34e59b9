// What the shop's pages need: the shop's own server, the payment client, the kept order.

import { createGuichet } from "./package/guichet.js";

/** Asks the shop's server; its cookie says who is signed in, or a token among the headers. */
export async function api(path, body, headers) {
  const reply = await fetch(path, body === undefined ? { headers } : {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const answer = await reply.json().catch(() => null); // signing out answers nothing
  if (reply.ok) return answer;
  const { status } = reply;
  const code = answer?.error?.code;
  // A refusal with a code is told as the package tells it; without one, the server is not answering.
  throw Object.assign(new Error(`${path} answered ${status}`), { status, code, kind: code && (status === 401 ? "signed_out" : "refused") });
}

/**
 * The payment client of this page. It asks the shop's server at /guichet for a session token and
 * for payments to be made: the secret key stays there. Making the client sends nothing.
 */
export function guichetFor(shop) {
  return createGuichet({
    baseUrl: shop.base_url,
    merchant: "/guichet",
    checkoutOrigins: shop.checkout_origins, // no other address is followed to pay
  });
}

/** Ends the session everywhere: at the payment service first, then at the shop. */
export async function signOut(guichet) {
  try {
    await guichet.session.revoke();
  } catch (error) {
    console.warn(error); // unreachable: the token runs out by itself, and signing out must go on
  }
  await api("/api/sign-out", {});
  sessionStorage.removeItem("order");
  location.assign("/"); // a fresh page: nothing of this customer stays in memory
}

/** A button for each customer there is: pressed, they are signed in, and the page is loaded anew for them. */
export function signInButtons(customers, problem) {
  return customers.map(({ id, name, email }) => {
    const button = element("button", { type: "button", "data-test": `sign-in-${id}` }, element("b", {}, name), element("small", {}, email));
    button.addEventListener("click", async () => {
      try {
        await api("/api/sign-in", { customer: id });
        location.reload(); // a new customer begins with a fresh page and a fresh client
      } catch (error) {
        problem(error);
      }
    });
    return button;
  });
}

/**
 * The order that this tab is paying, so that paying again pays the same order, not another one.
 * One that is paid is kept without its lines: it can be shown again, and what is bought next is another.
 */
export const keptOrder = {
  read: () => JSON.parse(sessionStorage.getItem("order") ?? "null"),
  keep: (order) => sessionStorage.setItem("order", JSON.stringify(order)),
};

/** The basket: quantities by sku. Prices are not kept here: the server has them. */
export const basket = {
  read: () => JSON.parse(sessionStorage.getItem("basket") ?? "{}"),
  keep: (quantities) => sessionStorage.setItem("basket", JSON.stringify(quantities)),
};

export const ui = (id) => document.getElementById(id);

/** Makes an element. Strings among the children become text, never markup. */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
