// The sessions that were requested while the wasm was loading: their replies, by the request.
const replies = new Map();
const key = (address, { headers }) => JSON.stringify([address, headers]);

/** Calls `fetch`, unless this request has been sent already. The wasm calls this. */
export function send(address, init) {
  const sent = replies.size ? key(address, init) : "";
  const reply = replies.get(sent);
  replies.delete(sent);
  return reply ?? fetch(address, init);
}

/** Lets no call use a session that was requested before now. */
export const forget_sessions = () => replies.clear();

/** Sends the request for a session that `src/browser/core/merchant.rs` would send. Returns what forgets it. */
export function request_session({ baseUrl, merchant, locale }) {
  const json = "application/json";
  const address = location.origin + merchant.replace(/\/*$/, "/session");
  // In the order of their names, as the wasm reads them.
  const headers = { accept: json, ...(locale && { "accept-language": `${locale}` }), "content-type": json };
  const init = { method: "POST", headers, body: "{}", cache: "no-store", signal: AbortSignal.timeout?.(30_000) };
  const sent = key(address, init);
  if (replies.has(sent)) return; // another client's
  // The channel of `src/browser/core/tabs.rs`: if another tab signs out, the reply is not used.
  const channel = new BroadcastChannel(`${baseUrl}`.replace(/\/*(\/v1\/*)?$/, "#guichet"));
  const reply = (async () => fetch(address, init))();
  reply.catch(() => {}); // the wasm reports it
  replies.set(sent, reply);
  return (channel.onmessage = () => {
    channel.close();
    replies.delete(sent);
  });
}
