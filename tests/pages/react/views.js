// Components that use every hook of `guichet/react`, without JSX, for a browser and for a server.
import { Component, createElement, StrictMode, Suspense, useState } from "react";
import { createGuichet } from "guichet";
import { GuichetProvider, useCheckout, useQuotes, useReturn, useSession } from "guichet/react";

/** Every request of the page to the service or the merchant, with the signal that aborts it. */
export const requests = [];
const { service = "https://api.example.com" } = globalThis.document?.documentElement.dataset ?? {};
export const guichet = createGuichet({
  baseUrl: service,
  merchant: "/guichet",
  fetch: (address, init) => {
    requests.push({ address: String(address), signal: init.signal });
    return fetch(address, init);
  },
});

const p = (id, text) => createElement("p", { id }, text);
const button = (id, onClick) => createElement("button", { id, onClick }, id);
const found = (quotes) => quotes.map((quote) => `${quote.method.id} ${quote.error ? quote.error.kind : quote.customer_pays}`).join(", ");

function Account() {
  const { state, email, expiresAt, renew, revoke } = useSession();
  return createElement("section", null,
    p("session", `${state} ${email ?? "nobody"} ${expiresAt instanceof Date}`),
    button("sign-in", () => renew()), button("sign-out", () => revoke()));
}

function Prices({ id, request }) {
  const { quotes, error, isLoading, retry } = useQuotes(request);
  return createElement("section", null,
    p(id, isLoading ? "loading" : error ? `${error.kind} ${error.code}` : found(quotes)), button(`${id}-retry`, retry));
}

function Replaced({ request }) {
  const [key, next] = useState(0);
  return createElement("section", null, createElement(Prices, { key, id: "first", request }), button("replace", () => next(key + 1)));
}

function GivenPrices() {
  const [request, ask] = useState(shoes);
  const { quotes, isLoading, retry } = useQuotes(request, { initialQuotes: [{ method: { id: "given" }, customer_pays: "1" }] });
  return createElement("section", null, p("first", isLoading ? "loading" : found(quotes)), button("retry", retry),
    button("ask", () => ask({ ...shoes, amount: "10000" })), button("ask-as-before", () => ask(shoes)));
}

function SuspendedPrices({ id, request }) {
  return p(id, found(useQuotes(request, { suspense: true }).quotes));
}

class Boundary extends Component {
  state = {};
  static getDerivedStateFromError = (error) => ({ error });
  render() {
    const { error } = this.state;
    return error ? createElement("section", null, p("caught", error.kind), button("again", () => this.setState({ error: null }))) : this.props.children;
  }
}

function Pay() {
  const { checkout, outcome, error, isPending } = useCheckout();
  const pay = (mode) => checkout({ order: { id: "17" } }, { mode }).then((outcome) => (window.resolved = outcome ?? null));
  return createElement("section", null,
    p("checkout", isPending ? "pending" : (outcome?.state ?? error?.kind ?? "idle")),
    button("pay", () => pay("redirect")), button("pay-in-a-popup", () => pay("popup")),
    button("pay-an-unknown-order", () => checkout({ order: { id: 1 } })));
}

function Returned() {
  const { back, status, outcome, error, isLoading } = useReturn();
  if (isLoading) return p("outcome", back ? `waiting ${status}` : "loading");
  return p("outcome", error ? error.kind : back ? `${back.match} ${outcome.state}` : "no return");
}

const shoes = { amount: "5000", currency: "XAF", fee_bearer: "customer" };
const views = {
  quotes: [createElement(Prices, { id: "first", request: shoes }),
    createElement(Prices, { id: "second", request: { fee_bearer: "customer", currency: "XAF", amount: "5000" } })],
  suspense: createElement(Boundary, null,
    createElement(Suspense, { fallback: p("fallback", "suspended") },
      createElement(SuspendedPrices, { id: "first", request: shoes }), createElement(SuspendedPrices, { id: "second", request: shoes }))),
  given: createElement(GivenPrices),
  replaced: createElement(Replaced, { request: shoes }),
  account: createElement(Account),
  pay: createElement(Pay),
  returned: [createElement(Returned), createElement(Returned)],
};
views.all = [views.account, ...views.quotes, views.pay, createElement(Returned)];

function Toggle({ children }) {
  const [shown, show] = useState(true);
  return createElement("main", null, shown && children, button("toggle", () => show(!shown)));
}

export function Page({ view = "all" }) {
  const children = [].concat(views[view]).map((child, key) => createElement("div", { key }, child));
  return createElement(StrictMode, null, createElement(GuichetProvider, { client: guichet }, createElement(Toggle, null, children)));
}
