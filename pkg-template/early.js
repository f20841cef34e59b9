// The sessions that were requested while the wasm was loading: their replies, by the request.
const replies = new Map();
const key = ({ url, headers }) => [url, ...headers].join();

/** Sends a request of the wasm, unless it has been sent already. */
export function send(request) {
  const sent = replies.size ? key(request) : "";
  const reply = replies.get(sent);
  replies.delete(sent);
  return reply ?? fetch(request);
}

/** Sends the request for a session that `src/browser/core/merchant.rs` would send. Returns what forgets it. */
export function request_session({ baseUrl, merchant, locale }) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  if (locale) headers["accept-language"] = locale;
  const request = new Request(merchant.replace(/\/*$/, "/session"), {
    method: "POST", headers, body: "{}", cache: "no-store", signal: AbortSignal.timeout?.(30_000),
  });
  const sent = key(request);
  if (replies.has(sent)) return; // another client's
  // The channel of `src/browser/core/tabs.rs`: if another tab signs out, the reply is not used.
  const channel = new BroadcastChannel(`${baseUrl}`.replace(/\/*(\/v1\/*)?$/, "#guichet"));
  const reply = fetch(request);
  reply.catch(() => {}); // the wasm reports it
  replies.set(sent, reply);
  return (channel.onmessage = () => {
    channel.close();
    replies.delete(sent);
  });
}
