// A client by hand over the types that openapi-typescript generates from docs/openapi.json.
import type { components, operations } from "./openapi.js";

type Create = operations["create_payment_intent"];
type Order = Create["requestBody"]["content"]["application/json"];
type PaymentIntent = components["schemas"]["PaymentIntent"];
type Refusal = components["schemas"]["Error"];
/** What any status of an operation answers. */
type Reply<O extends { responses: Record<number, { content: { "application/json": unknown } }> }> = {
  [Status in keyof O["responses"]]: O["responses"][Status] extends { content: { "application/json": infer Body } } ? Body : never;
}[keyof O["responses"]];

export const order: Order = {
  merchant_reference: "ORDER-17",
  amount: "45000",
  description: "A pair of shoes",
  firstname: "Awa",
  lastname: "Ngono",
  email: "awa@example.com",
  items: [{ name: "Shoes", price: 45000, currency: "XAF", quantity: 1 }],
  metadata: { basket: 17 },
};

// @ts-expect-error an amount is text
export const asNumber: Order = { ...order, amount: 45000 };
// @ts-expect-error there is no such fee bearer
export const unknownBearer: Order = { ...order, fee_bearer: "unknown" };

export const card: operations["attach_payment_method"]["requestBody"]["content"]["application/json"] = {
  payment_method: { type: "card", card: { number: "4242424242424242", exp_month: 12, exp_year: 2034, cvc: "123" } },
};

export async function create(baseUrl: string, secretKey: string): Promise<PaymentIntent> {
  const response = await fetch(`${baseUrl}/v1/payment-intents`, {
    method: "POST",
    headers: { authorization: `Bearer ${secretKey}`, "content-type": "application/json" },
    body: JSON.stringify(order),
  });
  const reply = (await response.json()) as Reply<Create>;
  if (reply.response_type === "error") throw new Error(explain(reply));
  return reply.data;
}

/** Where the customer pays, while there is something to do. */
export function whereToPay({ status, checkout_url }: PaymentIntent): string | undefined {
  return status === "requires_action" ? checkout_url : undefined;
}

export function explain({ message, error }: Refusal): string {
  switch (error.code) {
    case "merchant_reference_conflict":
      return `${message} It is ${error.existing_id ?? "unknown"}.`;
    case "parameter_invalid":
    case "parameter_missing":
      return (error.errors ?? []).map((field) => `${field.param}: ${field.message}`).join("\n");
    // @ts-expect-error there is no such code
    case "out_of_shoes":
      return "";
    default:
      return error.retryable ? `${message} Try again.` : message;
  }
}

export function names({ data, pagination }: components["schemas"]["CustomerListResponse"]): [string[], string | null] {
  return [data.map((customer) => customer.firstname), pagination.next_cursor];
}
