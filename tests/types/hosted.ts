// Everything that `guichet/hosted` exports, used as the payment company's own page would.
import { GuichetError, openHostedCheckout } from "guichet/hosted";
import type { FieldError, HostedCheckout, HostedOptions, Instrument, Kind, Paths, Payable, PayOptions, Typed } from "guichet/hosted";
import * as entry from "guichet/hosted";
import type { PaymentIntent, Quote } from "guichet";
import * as shop from "guichet";
import { type Equal, holds } from "./equal.js";

holds<Equal<keyof typeof entry, "openHostedCheckout" | "GuichetError">>();
// One class of errors, whichever entry it comes from.
holds<Equal<typeof GuichetError, typeof shop.GuichetError>>();
holds<Equal<Kind, shop.Kind>>();
holds<Equal<FieldError, shop.FieldError>>();

export const elsewhere: Paths = { cancel_payment_intent: "/v2/payments/{id}/void", abandon_payment_intent: "/v2/payments/{id}/stop" };
const payable: Payable = { id: "pi_1", client_secret: "pi_1_secret_1" };
export const openings: HostedOptions[] = [
  { baseUrl: "", intent: location.href },
  { baseUrl: new URL("https://api.example.com"), intent: payable, redirectOrigins: ["https://shop.example.com"] },
  { baseUrl: "", intent: payable, paths: { read_payment_intent: "/v2/payments/{id}", attach_payment_method: "/pay/{id}" } },
  // @ts-expect-error: a path says where the identifier stands
  { baseUrl: "", intent: payable, paths: { read_payment_intent: "/v2/payments" } },
  // @ts-expect-error: no such operation is sent from here
  { baseUrl: "", intent: payable, paths: { create_payment_intent: "/v2/{id}" } },
  { baseUrl: "", intent: (address) => new URL(address).searchParams.get("i") ?? payable, onCall: () => {}, fetch },
];

export async function checkout(options: HostedOptions, signal: AbortSignal): Promise<PaymentIntent> {
  const page: HostedCheckout = await openHostedCheckout(options, { signal });
  const quotes: Quote[] = await page.quotes({ country_code: "CM", signal });
  // @ts-expect-error: a way of paying says its type
  await page.pay({ phone: "237670000000" });
  const how: PayOptions = { onStatus: (now) => holds<Equal<typeof now, PaymentIntent>>(), signal, budgetMs: 60_000 };
  let intent: PaymentIntent = await page.pay({ type: "mobile_money", phone: "670000000", country_code: "CM" }, how);
  const typed: Omit<Typed, "country_code"> = page.normalize({ phone: "6 70 00 00 00", country_code: "CM" });
  // @ts-expect-error: no such field is typed
  page.normalize({ email: "awa@example.com" });
  if (typed.phone) intent = await page.pay({ type: "mobile_money", phone: typed.phone });
  intent = await page.pay({ type: "card", card: { number: "4242 4242 4242 4242", exp_month: "12", exp_year: "34", cvc: "123" } });
  if (intent.next_action?.type === "approve_on_phone") intent = await page.anotherNumber(how);
  intent = await page.pay({ type: "mobile_money", phone: "237690000099", operator: "orange_cm" });
  if (quotes.some((quote) => quote.payment_method === "card")) {
    const card: Instrument = {
      type: "card",
      card: { number: "4242424242424242", exp_month: 12, exp_year: 2034, cvc: "123" },
    };
    intent = await page.pay(card);
  }
  if (intent.next_action?.type === "otp") intent = await page.answer("123456", how);
  if (intent.next_action?.type === "redirect") page.proceed();
  intent = await page.wait(how);
  intent = await page.refresh({ signal });
  intent = await page.cancel(how);
  holds<Equal<typeof page.intent, PaymentIntent>>();
  holds<Equal<ReturnType<typeof page.leave>, void>>();
  // @ts-expect-error: the intent is read, not set
  page.intent = intent;
  return intent;
}
