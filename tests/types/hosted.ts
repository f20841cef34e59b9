// Everything that `guichet/hosted` exports, used as the payment company's own page would.
import { openHostedCheckout } from "guichet/hosted";
import type { HostedCheckout } from "guichet/hosted";
import * as entry from "guichet/hosted";
import type { PaymentIntent, Quote } from "guichet";
import { type Equal, holds } from "./equal.js";

type _Values = keyof typeof entry;

export async function checkout(signal: AbortSignal): Promise<PaymentIntent> {
  const page: HostedCheckout = await openHostedCheckout({ baseUrl: "", intent: location.href });
  const quotes: Quote[] = await page.quotes();
  // @ts-expect-error: a way of paying says its type
  await page.pay({ phone: "237670000000" });
  let intent: PaymentIntent = await page.pay(
    { type: "mobile_money", phone: "237670000000" },
    { onStatus: (now) => holds<Equal<typeof now, PaymentIntent>>(), signal },
  );
  if (quotes.some((quote) => quote.payment_method === "card")) {
    const card = { number: "4242424242424242", exp_month: 12, exp_year: 2034, cvc: "123" };
    intent = await page.pay({ type: "card", card });
  }
  holds<Equal<typeof page.intent, PaymentIntent>>();
  page.leave();
  return intent;
}
