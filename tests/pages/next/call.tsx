"use client";

import { useEffect, useState } from "react";
import { createGuichet } from "guichet/beside";

/** Shows the prices by the client whose wasm is a separate file. */
export function Call({ service }: { service: string }) {
  const [shown, show] = useState("…");
  useEffect(() => {
    const guichet = createGuichet({ baseUrl: service, merchant: "/guichet" });
    guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" }).then(
      (quotes) => show(quotes.map((quote) => (quote.error ? quote.error.kind : quote.customer_pays)).join(" ")),
      (error) => show(String(error)),
    );
  }, [service]);
  return <p id="beside">{shown}</p>;
}
