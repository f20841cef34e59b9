import { guarded, load } from "./load.js";

/** Makes `createGuichet` for one way of getting the wasm. Every method hands its arguments to the wasm. */
export const creator = (source) => (options) => {
  const given = { ...options };
  const listeners = new Set();
  const tell = (state) => listeners.forEach((listener) => listener(state));
  let client;

  const ready = async () => {
    const core = await load(given.wasm === undefined ? source : () => given.wasm);
    return (client ??= guarded(() => new core.Client(given, tell)));
  };
  const call = (name) => async (how) => (await ready(), guarded(() => client.call(name, undefined, how)));
  const callWith = (name) => async (first, how) => (await ready(), guarded(() => client.call(name, first, how)));

  return {
    session: {
      get state() {
        return client?.state() ?? "none";
      },
      get expiresAt() {
        const at = client?.expires_at();
        return at === undefined ? undefined : new Date(at);
      },
      get email() {
        return client?.email();
      },
      validate: call("validate"),
      renew: call("renew"),
      revoke: call("revoke"),
      subscribe(listener) {
        const own = (state) => listener(state);
        listeners.add(own);
        return () => void listeners.delete(own);
      },
    },
    paymentMethods: callWith("payment_methods"),
    fee: callWith("fee"),
    quotes: callWith("quotes"),
    checkout: callWith("checkout"),
    returned: call("returned"),
    waitForOutcome: callWith("wait_for_outcome"),
  };
};
