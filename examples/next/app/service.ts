import "server-only"; // the build fails if a client component imports this file
import { createHmac } from "node:crypto";

// The payment service and this shop's own address. Read at run time: one build serves every environment.
export const service = process.env.GUICHET_BASE_URL ?? "http://127.0.0.1:4243"; // the sandbox
export const shop = process.env.SHOP_URL ?? "http://localhost:3000";

export const product = { name: "A pair of runners", amount: "5000", currency: "XAF" };
// Who is signed in: the shop's own id, and what the service gets. The customer has verified the e-mail.
export const owner = "awa";
export const customer = { firstname: "Awa", lastname: "Ngono", email: "awa@example.com" };

export interface Intent {
  id: string;
  checkout_url: string;
  payment_ref: string;
  status: string;
  metadata?: { owner?: string };
  last_payment_error?: unknown;
}

/** Calls the service with the secret key. Returns its `data`. */
export async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${secretKey()}`, "content-type": "application/json" };
  const response = await fetch(`${service}/v1${path}`, { method, headers, body: body && JSON.stringify(body), cache: "no-store" });
  const reply = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${reply.message}`);
  return reply.data;
}

/** The same each time for one reference: the return page matches the return by it. */
export const returnNonce = (reference: string) => createHmac("sha256", secretKey()).update(reference).digest("hex").slice(0, 22);

function secretKey() {
  const key = process.env.GUICHET_SECRET_KEY;
  if (!key) throw new Error("GUICHET_SECRET_KEY is not set. Set it to the secret key that the sandbox prints (sk_test_…).");
  return key;
}

/** An error as `guichet` in the page reads it. */
export const refuse = (status: number, code: string, message: string) =>
  Response.json({ message, error: { code } }, { status });

export function unavailable(error: unknown) {
  console.error(error instanceof Error ? error.message : error);
  return refuse(503, "unavailable", "The payment service does not answer.");
}
