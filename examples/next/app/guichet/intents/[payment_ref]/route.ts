import { cookies } from "next/headers";
import { call, owner, refuse, unavailable, type Intent } from "../../../service";

export async function GET(_: Request, { params }: { params: Promise<{ payment_ref: string }> }) {
  const { payment_ref } = await params;
  const missing = () => refuse(404, "resource_missing", "There is no such payment.");
  const id = (await cookies()).get(payment_ref)?.value;
  if (!id) return missing();
  try {
    const intent = await call<Intent>("GET", `/payment-intents/${encodeURIComponent(id)}`);
    // A customer can write any cookie. An e-mail would not do: it may change hands.
    if (intent.payment_ref !== payment_ref || intent.metadata?.owner !== owner) return missing();
    return Response.json({ status: intent.status, last_payment_error: intent.last_payment_error });
  } catch (error) {
    return unavailable(error);
  }
}
