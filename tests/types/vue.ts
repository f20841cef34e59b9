// Everything that `guichet/vue` exports, used as the components of a shop would.
import { computed, createApp, ref } from "vue";
import { createGuichet, type Outcome, type Quote, type QuoteRequest, type Return, type SessionState, type Validity } from "guichet";
import { guichetPlugin, useCheckout, useQuotes, useReturn, useSession } from "guichet/vue";
import type { CheckoutRefs, QuotesOptions, QuotesRefs, ReturnOptions, ReturnRefs, SessionRefs } from "guichet/vue";
import * as entry from "guichet/vue";
import { describe } from "guichet/words";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "guichetPlugin" | "useCheckout" | "useQuotes" | "useReturn" | "useSession">>();

createApp({}).use(guichetPlugin(createGuichet({ baseUrl: "/pay", merchant: "/guichet" }))).mount("#app");
// @ts-expect-error: the functions need a client
guichetPlugin();

export function account() {
  const session: SessionRefs = useSession();
  holds<Equal<typeof session.state.value, SessionState>>();
  holds<Equal<typeof session.expiresAt.value, Date | undefined>>();
  holds<Equal<typeof session.email.value, string | undefined>>();
  holds<Equal<ReturnType<typeof session.validate>, Promise<Validity>>>();
  // @ts-expect-error: the state is the session's own
  session.state.value = "active";
  return { renew: () => session.renew(), signOut: () => session.revoke({ timeoutMs: 2000 }) };
}

export function prices() {
  const options: QuotesOptions = { timeoutMs: 5000, initialQuotes: [] };
  const request = ref<QuoteRequest>({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
  const { quotes, error, isLoading, retry }: QuotesRefs = useQuotes(request, options);
  holds<Equal<typeof quotes.value, Quote[] | undefined>>();
  useQuotes({ amount: "5000" });
  useQuotes(() => request.value);
  // @ts-expect-error: an amount is text
  useQuotes({ amount: 5000 });
  // @ts-expect-error: the quotes may not be there yet
  quotes.value.length;
  const text = computed(() => (isLoading.value ? "…" : error.value ? describe(error.value) : String(quotes.value?.length)));
  return { text, retry };
}

export function pay() {
  const { checkout, outcome, error, isPending }: CheckoutRefs = useCheckout();
  holds<Equal<typeof outcome.value, Outcome | undefined>>();
  holds<Equal<typeof error.value, Error | undefined>>();
  holds<Equal<typeof isPending.value, boolean>>();
  // @ts-expect-error: the component cancels it
  const own = () => checkout({ order: 1 }, { signal: AbortSignal.abort() });
  return { pay: async () => (await checkout({ order: { id: "17" } }, { mode: "popup" }))?.state, own };
}

export function returned() {
  const options: ReturnOptions = { budgetMs: 60_000, timeoutMs: 5000 };
  const { back, status, outcome, error, isLoading }: ReturnRefs = useReturn(options);
  holds<Equal<typeof back.value, Return | null | undefined>>();
  return computed(() => (error.value ? describe(error.value, "fr") : isLoading.value ? status.value : outcome.value?.state));
}
