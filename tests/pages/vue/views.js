// Components that use every function of `guichet/vue`, without a compiler of templates, for a browser and for a server.
import { createSSRApp, h, ref } from "vue";
import { createGuichet } from "guichet";
import { guichetPlugin, useCheckout, useQuotes, useReturn, useSession } from "guichet/vue";

/** Every request of the page to the service or the merchant, with the signal that aborts it. */
export const requests = [];
const { service = "https://api.example.com" } = globalThis.document?.documentElement.dataset ?? {};
const guichet = createGuichet({
  baseUrl: service,
  merchant: "/guichet",
  fetch: (address, init) => {
    requests.push({ address: String(address), signal: init.signal });
    return fetch(address, init);
  },
});

const p = (id, text) => h("p", { id }, text);
const button = (id, onClick) => h("button", { id, onClick }, id);
const found = (quotes) => quotes.map((quote) => `${quote.method.id} ${quote.error ? quote.error.kind : quote.customer_pays}`).join(", ");
const shown = ({ quotes, error, isLoading }) => (isLoading.value ? "loading" : error.value ? error.value.kind : found(quotes.value));

const Account = {
  setup() {
    const { state, email, expiresAt, renew, revoke } = useSession();
    return () => h("section", [
      p("session", `${state.value} ${email.value ?? "nobody"} ${expiresAt.value instanceof Date}`),
      button("sign-in", () => renew()), button("sign-out", () => revoke()),
    ]);
  },
};

const Prices = {
  props: ["id", "given"],
  setup({ id, given }) {
    const amount = ref("5000");
    const prices = useQuotes(() => ({ amount: amount.value, currency: "XAF", fee_bearer: "customer" }), { initialQuotes: given });
    return () => h("section", [p(id, shown(prices)), button(`${id}-retry`, prices.retry), button(`${id}-ask`, () => (amount.value = "10000"))]);
  },
};

const Pay = {
  setup() {
    const { checkout, outcome, error, isPending } = useCheckout();
    const pay = (mode) => checkout({ order: { id: "17" } }, { mode }).then((outcome) => (window.resolved = outcome ?? null));
    return () => h("section", [
      p("checkout", isPending.value ? "pending" : (outcome.value?.state ?? error.value?.kind ?? "idle")),
      button("pay", () => pay("redirect")), button("pay-in-a-popup", () => pay("popup")),
      button("pay-an-unknown-order", () => checkout({ order: { id: 1 } })),
    ]);
  },
};

const Returned = {
  setup() {
    const { back, status, outcome, error, isLoading } = useReturn();
    const waiting = () => (back.value ? `waiting ${status.value}` : "loading");
    const ended = () => (error.value ? error.value.kind : back.value ? `${back.value.match} ${outcome.value.state}` : "no return");
    return () => p("outcome", isLoading.value ? waiting() : ended());
  },
};

const views = {
  quotes: () => [h(Prices, { id: "first" }), h(Prices, { id: "second" })],
  given: () => [h(Prices, { id: "first", given: [{ method: { id: "given" }, customer_pays: "1" }] })],
  account: () => [h(Account)],
  pay: () => [h(Pay)],
  returned: () => [h(Returned), h(Returned)],
};
views.all = () => [h(Account), ...views.quotes(), h(Pay), h(Returned)];

/** The page that shows a view, and a button that removes it and shows it again: of a server, or of a browser alone. */
export const createPage = (view = "all", create = createSSRApp) => {
  const Page = {
    setup() {
      const isShown = ref(true);
      return () => h("main", [isShown.value && views[view](), button("toggle", () => (isShown.value = !isShown.value))]);
    },
  };
  return create(Page).use(guichetPlugin(guichet));
};
