// What tests/pages/calls.rs asks of the package, by the name in the address. Each shows what it found.
import { createGuichet } from "/package/guichet.js";

const told = new URLSearchParams(location.hash.slice(1));
const soon = (ms) => new Promise((over) => setTimeout(over, ms));
const methods = [{ id: "svc_mobile_money", active: true }];
const json = (body) => new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
const said = (e) => e?.kind ?? String(e);

/** A client of a service that is not there: `answers` answers, and `asked` keeps what was asked. */
function client(answers, options) {
  const asked = [];
  const fetch = async (url, init) => {
    asked.push(String(url).replace("https://api.example", ""));
    return answers(String(url), init);
  };
  return { asked, guichet: createGuichet({ baseUrl: "https://api.example", fetch, ...options }) };
}

const found = {
  async one_request() {
    const answers = async (_, { signal }) => {
      await soon(300);
      signal.throwIfAborted();
      return json({ data: methods });
    };
    const { guichet, asked } = client(answers);
    const [mine, yours] = [new AbortController(), new AbortController()];
    const calls = [mine, yours, {}].map(({ signal }) => guichet.paymentMethods({ country_code: "CM" }, { signal }));
    calls.push(guichet.paymentMethods({ country_code: "CI" }));
    while (asked.length < 2) await soon(10);
    mine.abort("mine");
    return { came: (await Promise.allSettled(calls)).map(({ reason, value }) => reason ?? value.length), asked };
  },

  async nobody_waits() {
    let ended = 0;
    const answers = (_, { signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(++ended)));
    const { guichet, asked } = client(answers);
    const [mine, yours] = [new AbortController(), new AbortController()];
    const calls = [mine, yours].map(({ signal }) => guichet.paymentMethods({}, { signal }).catch((e) => e));
    while (!asked.length) await soon(10);
    mine.abort("mine");
    await soon(100);
    const before = ended;
    yours.abort("yours");
    const came = await Promise.all(calls);
    while (!ended) await soon(10);
    return { came, asked: asked.length, before, ended };
  },

  async long_wait() {
    const looks = [];
    let listeners = 0;
    const { addEventListener: add, removeEventListener: remove } = EventTarget.prototype;
    const { signal } = new AbortController();
    EventTarget.prototype.addEventListener = function (name, hear, how) {
      const counts = this === undefined || this === window || this === document || this === signal;
      if (counts) listeners++;
      if (counts && how?.signal) add.call(how.signal, "abort", () => listeners--);
      return add.call(this ?? window, name, hear, how);
    };
    EventTarget.prototype.removeEventListener = function (...which) {
      if (this === undefined || this === window || this === document || this === signal) listeners--;
      return remove.apply(this ?? window, which);
    };
    const answers = (url) => {
      if (url.endsWith("/guichet/intents")) return new Response("{}", { status: 400 });
      looks.push(listeners);
      setTimeout(() => dispatchEvent(new Event("online")), 50); // looks again at once
      return json({ data: { id: "pi_1", status: looks.length < 8 ? "processing" : "succeeded" } });
    };
    const { guichet } = client(answers, { merchant: { session: async () => "cst_test_1" } });
    await guichet.paymentMethods({}).catch(() => {}); // the client and its own listeners are there
    looks.length = 0;
    const before = listeners;
    const { state } = await guichet.waitForOutcome({ id: "pi_1" }, { signal });
    const shop = client(answers, { merchant: "/guichet" }).guichet;
    await shop.paymentMethods({}).catch(() => {});
    const between = listeners;
    const checkout = await shop.checkout({ order: 1 }, { signal }).catch(said);
    return { looks, state, checkout, left: listeners - between, ended: between - before };
  },

  async asked_again() {
    const guichet = createGuichet({ baseUrl: told.get("service"), merchant: { session: async () => "cst_test_1" } });
    const of = { payment_method: "mobile_money", currency: "XAF", amount: "5000" };
    for (let times = 0; times < 2; times++) {
      await guichet.fee(of);
      await fetch(`${told.get("service")}/plain`, { headers: { authorization: "Bearer cst_test_1" } });
    }
    return guichet.waitForOutcome({ id: "pi_1" });
  },

  async by_time() {
    // Counted from when it is asked for: a busy machine takes its time to come so far.
    const until = () => new Date(Date.now() + 32_000).toISOString();
    const session = async () => ({ session_token: "a", expires_at: until(), customer_email: "awa@example.com" });
    const { guichet } = client(() => json({ data: { valid: true } }), { merchant: { session } });
    const states = [];
    const left = guichet.session.subscribe((state) => states.push(state));
    const late = new Promise((heard) => guichet.session.subscribe((state) => state === "expiring" && heard()));
    await guichet.session.validate();
    const steady = guichet.session.expiresAt === guichet.session.expiresAt;
    await late;
    left();
    return { states, steady, state: guichet.session.state, email: guichet.session.email };
  },

  async blocked() {
    const { guichet } = client(() => json({}));
    const e = await guichet.paymentMethods().catch((e) => e);
    return { kind: e.kind, names: e.message.includes("script-src 'wasm-unsafe-eval'") };
  },

  async loads_again() {
    let tries = 0;
    const address = "/package/core/guichet_core_bg.wasm";
    const lost = client(() => json({ data: methods }), { wasm: `/nowhere${address}` });
    const first = await lost.guichet.paymentMethods().catch(said);
    const real = window.fetch;
    window.fetch = (url, init) => (tries++, real(String(url).replace("/nowhere", ""), init));
    const second = (await lost.guichet.paymentMethods()).length;
    window.fetch = real;
    const bytes = await (await fetch(address)).arrayBuffer();
    const ways = [address, new URL(address, location.href), await fetch(address), bytes, await WebAssembly.compile(bytes)];
    const came = [];
    for (const wasm of ways) came.push((await client(() => json({ data: methods }), { wasm }).guichet.paymentMethods()).length);
    return { first, second, tries, came };
  },

  async a_defect() {
    const real = WebAssembly.instantiate;
    WebAssembly.instantiate = async (module, imports) => {
      for (const members of Object.values(imports ?? {})) {
        for (const name of Object.keys(members).filter((name) => name.includes("_now_"))) {
          const now = members[name];
          members[name] = () => {
            if (window.defect) throw new WebAssembly.RuntimeError("unreachable");
            return now();
          };
        }
      }
      return real.call(WebAssembly, module, imports);
    };
    const one = client(() => json({ data: methods })).guichet;
    const before = (await one.paymentMethods()).length;
    window.defect = true;
    const met = await one.paymentMethods().catch(said);
    window.defect = false;
    const after = await one.paymentMethods().catch(said);
    const next = await client(() => json({ data: methods })).guichet.paymentMethods().catch(said);
    return { before, met, after, next };
  },

  /** Stays signed in, and shows each change; what a service's token is, it shows too. */
  async signed_in() {
    const session = async () => told.get("token");
    const guichet = createGuichet({ baseUrl: told.get("service"), merchant: { session } });
    guichet.session.subscribe((state) => show({ state }));
    window.sign_out = () => guichet.session.revoke().catch((e) => show({ failed: said(e) }));
    await guichet.session.validate();
    return { state: guichet.session.state };
  },
};

function show(what) {
  const shown = document.querySelector("#shown");
  shown.textContent = JSON.stringify(what);
  shown.dataset.state = "shown";
}
document.querySelector("#out").onclick = () => window.sign_out();
found[location.pathname.slice(1)]().then(show, (e) => show({ failed: String(e) }));
