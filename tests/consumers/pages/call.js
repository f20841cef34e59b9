// A page that calls a service with the package and shows the results. Each bundler and framework builds it twice: with the entry that
// embeds the wasm, and with the entry whose wasm is a file.
import { createGuichet } from "guichet";
import { formatMoney } from "guichet/words";

/** Calls the service that the page's address names, and shows what it answers in this element. */
export async function call(shown) {
  const { service, token, checkout } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  try {
    const guichet = createGuichet({ baseUrl: service, merchant: { session: async () => token } });
    const { valid } = await guichet.session.validate();
    const methods = await guichet.paymentMethods({ country_code: "CM" });
    const fee = await guichet.fee({ payment_method: "mobile_money", currency: "XAF", amount: "45000" });

    const { openHostedCheckout } = await import("guichet/hosted");
    const { intent } = await openHostedCheckout({ baseUrl: service, intent: checkout });

    const total = formatMoney(String(fee.total_payable), fee.currency, "en");
    const found = { valid, methods: methods.map(({ id }) => id), total, status: intent.status };
    shown.textContent = JSON.stringify(found);
    shown.dataset.state = "done";
  } catch (error) {
    shown.textContent = error?.stack ?? String(error);
    shown.dataset.state = "failed";
  }
}
