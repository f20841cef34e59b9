import { run } from "./doors.js";
import { guarded, load } from "./load.js";

/** Makes `createGuichet` for one way of getting the wasm. Every method hands its arguments to the wasm. */
export const creator = (source) => (options) => {
  const given = { ...options };
  const listeners = new Set();
  const tell = (state) => listeners.forEach((listener) => listener(state));
  let client;

  const call = async (name, first, how) => {
    const core = await load(given.wasm === undefined ? source : () => given.wasm);
    client ??= new core.Client(given, tell);
    return run(client.call(name, first, how), how?.signal);
  };
  const about = (name) => (how) => guarded(() => call(name, undefined, how));
  const of = (name) => (first, how) => guarded(() => call(name, first, how));

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
      validate: about("validate"),
      renew: about("renew"),
      revoke: about("revoke"),
      subscribe(listener) {
        const own = (state) => listener(state);
        listeners.add(own);
        return () => void listeners.delete(own);
      },
    },
    paymentMethods: of("payment_methods"),
    fee: of("fee"),
    quotes: of("quotes"),
    checkout: of("checkout"),
    returned: about("returned"),
    waitForOutcome: of("wait_for_outcome"),
  };
};
