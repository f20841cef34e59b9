import { needs_base_url, only, only_options, refuse_secret_key } from "./arguments.js";
import { call, explained, guarded } from "./calls.js";
import init, { HostedPage } from "./core/guichet_hosted.js";
import { load } from "./load.js";
import { needs_page } from "./page.js";

export { GuichetError } from "./error.js";

const CALL = "signal timeoutMs";
const MOVE = `${CALL} budgetMs onStatus`;

const embedded = async () => (await import("./core/inline_hosted.js")).default();

/** Opens the checkout of one payment intent. Every method checks the names of its options and hands its arguments to the wasm. */
export const openHostedCheckout = (...args) => explaining(open(...args));

const explaining = (call) =>
  call.catch(async (e) => {
    throw await explained(e, {});
  });

async function open(options, how) {
  refuse_secret_key(options);
  only(options, "option", "baseUrl intent paths redirectOrigins fetch wasm onCall");
  needs_base_url(options);
  await load(init, options.wasm, embedded);
  const page = guarded(() => new HostedPage({ ...options }));
  const method = (name, known) => (...args) => explaining(checked(name, known, args));
  const checked = async (name, known, args) => {
    refuse_secret_key(args);
    only_options(args[page[name].length - 1], known);
    return call(() => page[name](...args));
  };
  const refresh = method("refresh", CALL);
  await refresh(how);
  return {
    get intent() {
      return guarded(() => page.intent);
    },
    get late() {
      return guarded(() => page.late);
    },
    normalize: (fields) => guarded(() => page.normalize(fields)),
    quotes: method("quotes", `${CALL} country_code codes`),
    pay: method("pay", MOVE),
    answer: method("answer", MOVE),
    cancel: method("cancel", MOVE),
    anotherNumber: method("anotherNumber", MOVE),
    wait: method("wait", MOVE),
    refresh,
    proceed: () => (needs_page("proceed"), guarded(() => page.proceed())),
    leave: () => (needs_page("leave"), guarded(() => page.leave())),
  };
}
