// The hand-written client: the session from the merchant's server, then the fee.

async function read(request) {
  const reply = await request;
  const body = await reply.json();
  if (!reply.ok) throw new Error(body.message ?? `The service responded with ${reply.status}.`);
  return body.data ?? body;
}

export function createGuichet({ baseUrl, merchant }) {
  let session;
  const signIn = () => (session ??= read(fetch(`${merchant}/session`, { method: "POST", credentials: "same-origin" })));
  return {
    async fee({ payment_method, currency, amount }) {
      const { session_token } = await signIn();
      const path = [payment_method, currency, amount].map(encodeURIComponent).join("/");
      return read(fetch(`${baseUrl}/v1/payment-methods/fee/${path}`, { headers: { authorization: `Bearer ${session_token}` } }));
    },
  };
}
