"use client";

import { useState } from "react";
import type { Quote } from "guichet";
import { useCheckout, useQuotes } from "guichet/react";
import { describe, formatMoney, words } from "guichet/words";
import { Form } from "./payments";
import { Result } from "./result";

interface Sale {
  order: { id: string };
  amount: string;
  currency: string;
}

export function Basket({ order, amount, currency }: Sale) {
  const [popup, setPopup] = useState(false);
  const { checkout, isPending, outcome, error } = useCheckout();
  return (
    <>
      <Prices amount={amount} currency={currency} />
      <p>
        <label>
          <input id="in-a-popup" type="checkbox" checked={popup} onChange={() => setPopup(!popup)} /> in a window of its own
        </label>
      </p>
      <Form path="/guichet/intents" submit={() => checkout({ order }, { mode: popup ? "popup" : "redirect" })}>
        <input type="hidden" name="id" value={order.id} />
        <button id="pay">{isPending ? "One moment…" : "Choose how to pay"}</button>
      </Form>
      {error ? <p role="alert">{describe(error, "en")}</p> : null}
      {outcome ? <Result outcome={outcome} /> : null}
    </>
  );
}

function Prices({ amount, currency }: Omit<Sale, "order">) {
  const { quotes, error, retry } = useQuotes({ amount, currency, fee_bearer: "customer" });
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
const { methods } = words("en");
const name = ({ card_type, method }: Quote) => (card_type ? methods[`card_${card_type}`] : method.name);
