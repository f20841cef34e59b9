import { useState } from "react";
import type { Outcome, Quote } from "guichet";
import { useCheckout, useQuotes, useReturn, useSession } from "guichet/react";
import { describe, describeLateApproval, formatMoney, words } from "guichet/words";

const { methods } = words("en");

export function Shop() {
  const { back, outcome, error } = useReturn();
  if (back === undefined) return null;
  return (
    <main>
      <header>
        <h1>Shoes</h1>
        <Account />
      </header>
      {error ? <p role="alert">{describe(error, "en")}</p> : null}
      {back ? <><Payment outcome={outcome} /><p><a href="/">Back to the shop</a></p></> : <Basket />}
    </main>
  );
}

function Account() {
  const { state, email, renew, revoke } = useSession();
  if (state === "revoked") return <button onClick={() => renew()}>Sign in</button>;
  return email ? <button onClick={() => revoke()}>Sign out {email}</button> : null;
}

function Basket() {
  const [popup, setPopup] = useState(false);
  const { checkout, isPending, outcome, error } = useCheckout();
  return (
    <>
      <p>A pair of runners, {formatMoney("5000", "XAF", "en")}. What you pay in all, by how you pay:</p>
      <Prices />
      <p>
        <label>
          <input id="in-a-popup" type="checkbox" checked={popup} onChange={() => setPopup(!popup)} /> in a window of its own
        </label>
      </p>
      <button id="pay" onClick={() => checkout({ order: { id: "17" } }, { mode: popup ? "popup" : "redirect" })}>
        {isPending ? "One moment…" : "Choose how to pay"}
      </button>
      {error ? <p role="alert">{describe(error, "en")}</p> : null}
      {outcome ? <Payment outcome={outcome} /> : null}
    </>
  );
}

function Prices() {
  const { quotes, error, retry } = useQuotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
  if (error) return <p role="alert">{describe(error, "en")} <button onClick={retry}>Try again</button></p>;
  if (!quotes) return <p>Asking for the prices…</p>;
  return (
    <table>
      <tbody>
        {quotes.map((quote) => (
          <tr key={`${quote.method.id} ${quote.card_type}`}>
            <th scope="row">{name(quote)}</th>
            <td>{quote.error ? "?" : formatMoney(quote.customer_pays, quote.currency, "en")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// The fee of a card depends on where it was issued.
const name = ({ card_type, method }: Quote) => (card_type ? methods[`card_${card_type}`] : method.name);

const sentences: Record<Outcome["state"], string> = {
  succeeded: "Thank you. You have paid.",
  failed: "The payment was declined.",
  canceled: "The payment was canceled.",
  pending: "The payment is still under way. We will write to you.",
  dismissed: "You have not paid yet.",
  unknown: "We do not know yet whether you have paid. We will write to you.",
};

function Payment({ outcome }: { outcome: Outcome | undefined }) {
  return (
    <div role="status" data-state={outcome?.state}>{outcome ? <Known outcome={outcome} /> : <p>Asking for your payment…</p>}</div>
  );
}

function Known({ outcome }: { outcome: Outcome }) {
  const { state, merchant_reference, amount, amount_payable, plus_fee } = outcome;
  // If the operator may still approve an attempt that it declined, nobody knows yet whether it took the money.
  const late = describeLateApproval(outcome, "en");
  const payable = amount_payable ?? amount; // one amount, which the customer pays
  const sum = payable && formatMoney(payable, "XAF", "en") + (plus_fee ? " plus the fee" : "");
  return (
    <>
      <p>{late ?? sentences[state]}</p>
      {sum ? <p>{merchant_reference}, {sum}</p> : null}
    </>
  );
}
