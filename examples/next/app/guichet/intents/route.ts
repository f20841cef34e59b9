import { cookies } from "next/headers";
import { call, customer, owner, product, refuse, returnNonce, shop, unavailable, type Intent } from "../../service";

// Only the server sets price, customer and reference. The same reference again returns the same payment.
export async function POST(request: Request) {
  const order: unknown = await request.json().catch(() => undefined);
  if (order === undefined) return refuse(400, "invalid_json", "The body is not JSON.");
  const id = (order as { id?: unknown } | null)?.id;
  if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id)) return refuse(404, "order_missing", "There is no such order.");
  const merchant_reference = `ORDER-${id}`;
  try {
    const return_nonce = returnNonce(merchant_reference);
    const intent = await call<Intent>("POST", "/payment-intents", {
      ...customer,
      merchant_reference,
      metadata: { owner },
      amount: product.amount,
      currency: product.currency,
      description: product.name,
      fee_bearer: "customer",
      redirect_url: `${shop}/return?guichet_return=${return_nonce}`,
    });
    const { checkout_url, payment_ref, status } = intent;
    // The instances of a Next server share no memory. A shop stores its payments in a database.
    (await cookies()).set(payment_ref, intent.id, { httpOnly: true, sameSite: "lax", path: "/guichet/intents" });
    return Response.json({ intent: { id: intent.id, checkout_url, payment_ref, merchant_reference, status }, return_nonce });
  } catch (error) {
    return unavailable(error);
  }
}
