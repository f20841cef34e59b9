// The control API, as the page calls it, and the elements that it draws. What comes from a payment is text, never markup.

/** The merchant that the address names. Without one it is the first. */
export const merchant = new URLSearchParams(location.search).get("merchant") ?? undefined;
const headers = { "content-type": "application/json", "guichet-inspector": "1" };

/** Exchanges the token of the address for the page's cookie. The address loses it before any request. */
export async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  await fetch("/inspector/session", { method: "POST", headers, body: JSON.stringify({ token }) });
}

/** A call of the control API. Its fields go into the body of a POST, otherwise into the query. */
export async function call(method, path, fields = {}) {
  const given = Object.fromEntries(Object.entries({ ...fields, merchant }).filter(([, value]) => value !== undefined && value !== ""));
  const isPost = method === "POST";
  const query = isPost ? "" : `?${new URLSearchParams(given)}`;
  const response = await fetch(`/sandbox/${path}${query}`, { method, headers, body: isPost ? JSON.stringify(given) : undefined });
  const reply = await response.json();
  if (!response.ok) throw Object.assign(new Error(reply.message), { status: response.status });
  return reply;
}

/** An element. Its children are elements and texts. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== ""));
  return element;
}

/** A word of the service, which a narrow column may break at its underscores. */
export const code = (text, attributes) => el("code", attributes, text.split(/(?<=_)/).map((part) => [part, el("wbr")]));

/** A command of `guichet`, as it is typed: with the address of this sandbox if it is not the usual one, and with the merchant. */
export const commandAt = (command) =>
  ["guichet", command, merchant && command !== "inspector" && `--merchant ${merchant}`, location.origin !== "http://127.0.0.1:4243" && `--control-url ${location.origin}/sandbox`].filter(Boolean).join(" ");

/** A status, as the service writes it. */
export const pill = (status, tone = status) => code(status, { class: "pill", "data-tone": tone });
