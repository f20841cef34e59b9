// The hand-written page: the session from the merchant's server, then the fee.

interface Session { session_token: string; expires_at?: string }
interface Fee { amount: number; currency: string; fee: number; total_payable: number }

let session: Promise<Session> | undefined;

async function read<T>(request: Promise<Response>): Promise<T> {
  const reply = await request;
  const body = await reply.json();
  if (!reply.ok) throw new Error(body.message ?? `The service responded with ${reply.status}.`);
  return body.data ?? body;
}

function signIn(merchant: string): Promise<Session> {
  session ??= read<Session>(fetch(`${merchant}/session`, { method: "POST", credentials: "same-origin" }));
  return session;
}

export function client(baseUrl: string, merchant: string) {
  return {
    async fee({ payment_method, currency, amount }: { payment_method: string; currency: string; amount: string }) {
      const { session_token } = await signIn(merchant);
      const path = [payment_method, currency, amount].map(encodeURIComponent).join("/");
      return read<Fee>(fetch(`${baseUrl}/v1/payment-methods/fee/${path}`, { headers: { authorization: `Bearer ${session_token}` } }));
    },
  };
}
