// Shared by the shop's pages: calls to the shop's server, the payment client, the stored order.

import { createGuichet } from "./package/guichet.js";

/** Calls the shop's server. Its cookie, or a token in the headers, authenticates the customer. */
export async function api(path, body, headers) {
  const reply = await fetch(path, body === undefined ? { headers } : {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const data = await reply.json().catch(() => null); // signing out has an empty response
  if (reply.ok) return data;
  const { status } = reply;
  const code = data?.error?.code;
  // With a code it is an error of the shop, of the same kind as the package's. Without one, the server is not reachable.
  throw Object.assign(new Error(`${path} responded with ${status}`), { status, code, kind: code && (status === 401 ? "signed_out" : "refused") });
}

/**
 * The payment client of this page. It calls the shop's server at /guichet for a session token and for
 * new payments: the secret key stays there. Creating the client sends nothing.
 */
export function guichetFor(shop) {
  return createGuichet({
    baseUrl: shop.base_url,
    merchant: "/guichet",
    checkoutOrigins: shop.checkout_origins, // the only origins whose checkout pages may be opened
  });
}

/** Ends the session everywhere: at the payment service first, then at the shop. */
export async function signOut(guichet) {
  try {
    await guichet.session.revoke();
  } catch (error) {
    console.warn(error); // unreachable: the token expires by itself, and signing out continues
  }
  await api("/api/sign-out", {});
  sessionStorage.removeItem("order");
  location.assign("/"); // a new page: nothing of this customer stays in memory
}

/** One button per customer. A click signs the customer in and reloads the page. */
export function signInButtons(customers, problem) {
  return customers.map(({ id, name, email }) => {
    const button = element("button", { type: "button", "data-test": `sign-in-${id}` }, element("b", {}, name), element("small", {}, email));
    button.addEventListener("click", async () => {
      try {
        await api("/api/sign-in", { customer: id });
        sessionStorage.setItem("signed_in", "now");
        location.reload(); // a new customer gets a new page and a new client
      } catch (error) {
        problem(error);
      }
    });
    return button;
  });
}

/** Gives the keyboard's focus, once after a sign-in, to what has taken the place of the button: the first of these that is shown. */
export function focusAfterSignIn(...places) {
  if (!sessionStorage.getItem("signed_in")) return;
  sessionStorage.removeItem("signed_in");
  places.find((place) => place?.checkVisibility?.())?.focus();
}

/**
 * The order of this tab, so that paying again pays the same order. A paid order is stored without its
 * lines: it can be shown again, and the next basket is a new order.
 */
export const storedOrder = {
  read: () => JSON.parse(sessionStorage.getItem("order") ?? "null"),
  write: (order) => sessionStorage.setItem("order", JSON.stringify(order)),
};

/** The basket: quantities by sku. Prices are not stored here: the server has them. */
export const basket = {
  read: () => JSON.parse(sessionStorage.getItem("basket") ?? "{}"),
  write: (quantities) => sessionStorage.setItem("basket", JSON.stringify(quantities)),
};

export const ui = (id) => document.getElementById(id);

/** Creates an element. Strings among the children become text, never markup. */
export function element(tag, attributes, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
}
