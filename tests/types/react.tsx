// Everything that `guichet/react` exports, used as the components of a shop would.
import type { ReactElement } from "react";
import { createGuichet, type Outcome, type Quote, type Return, type SessionState, type Validity } from "guichet";
import { GuichetProvider, useCheckout, useQuotes, useReturn, useSession } from "guichet/react";
import type {
  CheckoutState, FailedQuotes, GuichetProviderProps, LoadedQuotes, LoadingQuotes, QuotesOptions, QuotesState, ReturnOptions,
  ReturnState, SessionSnapshot,
} from "guichet/react";
import * as entry from "guichet/react";
import { describe } from "guichet/words";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "GuichetProvider" | "useCheckout" | "useQuotes" | "useReturn" | "useSession">>();

const props: GuichetProviderProps = { client: createGuichet({ baseUrl: "/pay", merchant: "/guichet" }) };
export const page: ReactElement = (
  <GuichetProvider {...props}>
    <Account />
    {[<Prices key="prices" />, null, "text"]}
  </GuichetProvider>
);
// @ts-expect-error: the hooks need a client
export const empty = <GuichetProvider><Account /></GuichetProvider>;

function Account(): ReactElement {
  const session: SessionSnapshot = useSession();
  holds<Equal<typeof session.state, SessionState>>();
  holds<Equal<typeof session.expiresAt, Date | undefined>>();
  holds<Equal<typeof session.email, string | undefined>>();
  holds<Equal<ReturnType<typeof session.validate>, Promise<Validity>>>();
  // @ts-expect-error: the state is the session's own
  session.state = "active";
  return <button onClick={() => session.renew()} onDoubleClick={() => session.revoke({ timeoutMs: 2000 })}>{session.email}</button>;
}

function Prices(): ReactElement {
  const options: QuotesOptions = { timeoutMs: 5000, initialQuotes: [] };
  const prices = useQuotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" }, options);
  holds<Equal<typeof prices, QuotesState>>();
  holds<Equal<QuotesState, LoadingQuotes | LoadedQuotes | FailedQuotes>>();
  // @ts-expect-error: the quotes may not be there yet
  prices.quotes.length;
  const { quotes, error, isLoading, retry } = prices;
  if (isLoading) return <p>…</p>;
  if (error) return <button onClick={retry}>{describe(error)}</button>;
  holds<Equal<typeof quotes, Quote[]>>();
  // @ts-expect-error: an amount is text
  useQuotes({ amount: 5000 });
  return <ul>{quotes.map((quote) => <li key={quote.method.id}>{quote.customer_pays}</li>)}</ul>;
}

export function SuspendedPrices(): ReactElement {
  const loaded: LoadedQuotes = useQuotes({ amount: "5000" }, { suspense: true });
  holds<Equal<typeof loaded.quotes, Quote[]>>();
  return <p>{loaded.quotes.length}</p>;
}

export function Pay(): ReactElement {
  const { checkout, outcome, error, isPending }: CheckoutState = useCheckout();
  holds<Equal<typeof outcome, Outcome | undefined>>();
  holds<Equal<typeof error, Error | undefined>>();
  const pay = async (): Promise<Outcome["state"] | undefined> => (await checkout({ order: { id: "17" } }, { mode: "popup" }))?.state;
  // @ts-expect-error: the component cancels it
  const own = () => checkout({ order: 1 }, { signal: AbortSignal.abort() });
  return <button aria-busy={isPending} onClick={() => pay()} onDoubleClick={own}>Pay</button>;
}

export function Returned(): ReactElement | null {
  const options: ReturnOptions = { budgetMs: 60_000, timeoutMs: 5000 };
  const { back, status, outcome, error, isLoading }: ReturnState = useReturn(options);
  holds<Equal<typeof back, Return | null | undefined>>();
  if (error) return <p>{describe(error, "fr")}</p>;
  return back ? <p>{isLoading ? status : outcome?.state}</p> : null;
}
