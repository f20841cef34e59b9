// The scenarios of tests/pages/calls.rs. The path of the address names the one to run. Each shows its result as JSON.
import { createGuichet } from "/package/guichet.js";

const parameters = new URLSearchParams(location.hash.slice(1));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const methods = [{ id: "svc_mobile_money", active: true }];
const json = (body) => new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
const kind_of = (e) => e?.kind ?? String(e);

/** A client of a fake service: `answers` returns each response, and `requests` records each request. */
function client(answers, options) {
  const requests = [];
  const fetch = async (url, init) => {
    requests.push(String(url).replace("https://api.example", "").replace(location.origin, ""));
    return answers(String(url), init);
  };
  return { requests, guichet: createGuichet({ baseUrl: "https://api.example", fetch, ...options }) };
}

/** Counts the timers, listeners, channels and requests that have not ended. */
function watch() {
  const [set, clear] = [setTimeout.bind(window), clearTimeout.bind(window)];
  const { addEventListener: add, removeEventListener: remove } = EventTarget.prototype;
  const timers = new Set();
  const channels = new Set();
  let listeners = [];
  const counts = { requests: 0 };
  window.setTimeout = (run, ms) => {
    const timer = set(() => (timers.delete(timer), run()), ms);
    timers.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => (timers.delete(timer), clear(timer));
  EventTarget.prototype.addEventListener = function (name, listen, options) {
    listeners.push([this ?? window, name, listen]);
    return add.call(this ?? window, name, listen, options);
  };
  EventTarget.prototype.removeEventListener = function (name, listen, options) {
    const own = [this ?? window, name, listen];
    listeners = listeners.filter((listener) => !listener.every((part, at) => part === own[at]));
    return remove.call(this ?? window, name, listen, options);
  };
  window.BroadcastChannel = class extends BroadcastChannel {
    constructor(name) {
      super(name);
      channels.add(this);
    }
    close() {
      super.close();
      channels.delete(this);
      listeners = listeners.filter(([target]) => target !== this);
    }
  };
  return {
    counts,
    now: () => ({ ...counts, timers: timers.size, listeners: listeners.length, channels: channels.size }),
    listen: (target, name, listen) => add.call(target, name, listen),
    sleep: (ms) => new Promise((resolve) => set(resolve, ms)),
  };
}

/** Returns a function that gives the memory of the module that is started from now on. */
function wasm_memory() {
  const real = WebAssembly.instantiate;
  let memory;
  WebAssembly.instantiate = async (...args) => {
    const instantiated = await real.apply(WebAssembly, args);
    memory = Object.values((instantiated.instance ?? instantiated).exports).find((one) => one instanceof WebAssembly.Memory);
    return instantiated;
  };
  return () => memory;
}

const found = {
  async nobody_waits() {
    let ended = 0;
    const answers = (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(++ended)));
    const { guichet, requests } = client(answers);
    const [mine, yours] = [new AbortController(), new AbortController()];
    const calls = [mine, yours].map(({ signal }) => guichet.paymentMethods({}, { signal }).catch((e) => e));
    while (!requests.length) await sleep(10);
    mine.abort("mine");
    await sleep(100);
    const before = ended;
    yours.abort("yours");
    const results = await Promise.all(calls);
    while (!ended) await sleep(10);
    return { results, requests: requests.length, before, ended };
  },

  async called_off() {
    const page = watch();
    const hangs = (_, { signal }) =>
      new Promise((_, reject) => {
        page.counts.requests++;
        page.listen(signal, "abort", () => (page.counts.requests--, reject(signal.reason)));
      });
    const fine = (url) => json({ data: url.includes("session") ? { session_token: "cst_test_1" } : methods });
    const busy = () => new Response("{}", { status: 503, headers: { "retry-after": "20" } });
    const processing = () => json({ data: { id: "pi_1", status: "processing" } });
    const intent = { id: "pi_1", status: "requires_action", checkout_url: `${location.origin}/nowhere/to/go` };
    const ordered = (url) => (url.endsWith("/intents") ? json({ intent, return_nonce: "0123456789012345678901" }) : fine(url));
    const hanging_fees = (url, init) => (url.includes("/fee/") ? hangs(url, init) : fine(url));
    let answer = fine;
    const answers = (...request) => answer(...request);
    const session = async () => "cst_test_1";
    const { guichet } = client(answers, { merchant: { session } });
    const shop = client(answers, { merchant: "/guichet", checkoutOrigins: [location.origin] }).guichet;
    const functions = client(answers, { merchant: { session, intent: () => new Promise(() => {}) } }).guichet;
    for (const { paymentMethods } of [guichet, shop, functions]) await paymentMethods(); // with their own listeners
    const frame = document.body.appendChild(document.createElement("iframe"));
    window.open = () => frame.contentWindow;

    const fee = { payment_method: "mobile_money", currency: "XAF", amount: "5000" };
    const order = { order: { id: "17" } };
    const request = { requests: 1, timers: 1, listeners: 1 };
    // The least that each call holds while it runs. `renew` and `revoke` are missing: an abort does not end them, because a token
    // on its way is used or revoked, and a sign-out is final.
    const works = {
      methods: [hangs, request, (options) => guichet.paymentMethods({}, options)],
      fee: [hangs, request, (options) => guichet.fee(fee, options)],
      fee_between_attempts: [busy, { timers: 1, listeners: 1 }, (options) => guichet.fee(fee, options)],
      quotes: [hangs, request, (options) => guichet.quotes({ amount: "5000" }, options)],
      quotes_with_methods: [hanging_fees, request, (options) => guichet.quotes({ amount: "5000" }, options)],
      validate: [hangs, request, (options) => guichet.session.validate(options)],
      outcome: [hangs, request, (options) => guichet.waitForOutcome({ id: "pi_1" }, options)],
      outcome_by_the_merchant: [hangs, request, (options) => shop.waitForOutcome({ payment_ref: "gch_1" }, options)],
      outcome_between_reads: [processing, { timers: 1, listeners: 4 }, (options) => guichet.waitForOutcome({ id: "pi_1" }, options)],
      intent: [hangs, request, (options) => shop.checkout(order, options)],
      intent_by_a_function: [hangs, { timers: 1, listeners: 1 }, (options) => functions.checkout(order, options)],
      redirect: [ordered, { listeners: 2 }, (options) => shop.checkout(order, options)],
      popup_without_intent: [hangs, request, (options) => shop.checkout(order, { mode: "popup", ...options })],
      popup: [ordered, { timers: 1, listeners: 3, channels: 1 }, (options) => shop.checkout(order, { mode: "popup", ...options })],
    };
    const found = {};
    for (const [name, [answered, holds, work]] of Object.entries(works)) {
      const before = page.now();
      answer = answered;
      const controller = new AbortController();
      const call = work({ signal: controller.signal }).then(() => "it resolves", (e) => e);
      const is_under_way = () => Object.entries(holds).every(([what, least]) => page.now()[what] - before[what] >= least);
      for (let polls = 0; polls < 1000 && !is_under_way(); polls++) await page.sleep(20);
      await page.sleep(100);
      const during = page.now();
      controller.abort("enough");
      const rejected = await call;
      const is_over = () => JSON.stringify(page.now()) === JSON.stringify(before);
      for (let polls = 0; polls < 1000 && !is_over(); polls++) await page.sleep(20);
      found[name] = { rejected: String(rejected), holds, before, during, after: page.now() };
    }
    return found;
  },

  async long_wait() {
    const reads = [];
    let listeners = 0;
    const { addEventListener: add, removeEventListener: remove } = EventTarget.prototype;
    const { signal } = new AbortController();
    EventTarget.prototype.addEventListener = function (name, listen, options) {
      const counts = this === undefined || this === window || this === document || this === signal;
      if (counts) listeners++;
      if (counts && options?.signal) add.call(options.signal, "abort", () => listeners--);
      return add.call(this ?? window, name, listen, options);
    };
    EventTarget.prototype.removeEventListener = function (...which) {
      if (this === undefined || this === window || this === document || this === signal) listeners--;
      return remove.apply(this ?? window, which);
    };
    const answers = (url) => {
      if (url.endsWith("/guichet/intents")) return new Response("{}", { status: 400 });
      reads.push(listeners);
      setTimeout(() => dispatchEvent(new Event("online")), 50); // causes a read at once
      return json({ data: { id: "pi_1", status: reads.length < 8 ? "processing" : "succeeded" } });
    };
    const { guichet } = client(answers, { merchant: { session: async () => "cst_test_1" } });
    await guichet.paymentMethods({}).catch(() => {}); // creates the client's own listeners
    reads.length = 0;
    const before = listeners;
    const { state } = await guichet.waitForOutcome({ id: "pi_1" }, { signal });
    const shop = client(answers, { merchant: "/guichet" }).guichet;
    await shop.paymentMethods({}).catch(() => {});
    const between = listeners;
    const checkout = await shop.checkout({ order: 1 }, { signal }).catch(kind_of);
    return { reads, state, checkout, left: listeners - between, ended: between - before };
  },

  async asked_again() {
    const guichet = createGuichet({ baseUrl: parameters.get("service"), merchant: { session: async () => "cst_test_1" } });
    const of = { payment_method: "mobile_money", currency: "XAF", amount: "5000" };
    await guichet.fee(of);
    await guichet.fee(of);
    return guichet.waitForOutcome({ id: "pi_1" });
  },

  async reasons() {
    const signals = [];
    const never = ({ signal }) => new Promise(() => signals.push(signal));
    const reads = client((_, init) => never(init)).guichet;
    const shop = client(() => json({}), { merchant: { intent: (_, options) => never(options) } }).guichet;
    const mine = new AbortController();
    const { signal } = mine;
    const calls = [reads.paymentMethods({}, { signal }), shop.checkout({ order: 1 }, { signal })];
    while (signals.length < 2) await sleep(10);
    mine.abort("mine");
    const results = (await Promise.allSettled(calls)).map(({ reason }) => reason);
    return { results, reasons: signals.map(({ reason }) => reason) };
  },

  async throws() {
    const { guichet } = client(() => json({ data: methods }));
    const fail = (what) => () => {
      throw what;
    };
    const throwing = (name) => Object.defineProperty({}, name, { enumerable: true, get: fail(name) });
    const invalid_options = [new Proxy({}, { ownKeys: fail("keys") }), new Proxy({}, { get: fail("get") })];
    invalid_options.push(throwing("timeoutMs"), throwing("signal"), { signal: Object.assign(throwing("aborted"), { addEventListener() {}, removeEventListener() {} }) });
    const results = [];
    for (const options of invalid_options) results.push(await guichet.paymentMethods({}, options).then((all) => all.length, String));
    return { results, after: (await guichet.paymentMethods()).length };
  },

  /** A `fetch` of the page's own may change what it is args, and use it up. */
  async spoils() {
    const attempts = [];
    const inits = [];
    const spoils = (url, init) => {
      const { method, headers, body, signal } = init;
      attempts.push([new URL(url, location).pathname, method, { ...headers }, body ?? null, signal.aborted]);
      inits.push(init, headers, signal);
      new Request(url, init).text();
      Object.assign(headers, { authorization: "Bearer spoiled", "content-type": "text/plain" });
      Object.assign(init, { method: "DELETE", body: "spoiled", signal: AbortSignal.abort() });
      if (attempts.length % 2) return new Response("{}", { status: 503 });
      return json({ data: url.endsWith("/session") ? { session_token: "cst_test_1" } : methods });
    };
    const merchantHeaders = () => ({ "x-csrf": "17" });
    const { guichet } = client(spoils, { merchant: "/guichet", merchantHeaders });
    const results = await guichet.paymentMethods().then((all) => all.length, kind_of);
    return { results, attempts, own: new Set(inits).size === inits.length };
  },

  /** A browser that does not let the page leave. */
  async cannot_leave() {
    let stays = true;
    const stuck = {
      set href(address) {
        throw new DOMException(`The frame may not go to '${address}'.`, "SecurityError");
      },
    };
    const real = WebAssembly.instantiate;
    WebAssembly.instantiate = async (module, imports) => {
      for (const members of Object.values(imports ?? {})) {
        for (const name of Object.keys(members).filter((name) => String(members[name]).includes(".href = "))) {
          const go = members[name];
          members[name] = (target, ...rest) => go(target === location && stays ? stuck : target, ...rest);
        }
      }
      return real.call(WebAssembly, module, imports);
    };
    const intent = { id: "pi_1", status: "requires_action", checkout_url: `${location.origin}/nowhere/to/go` };
    const answers = (url) => json(url.endsWith("/guichet/intents") ? { intent } : { data: methods });
    const { guichet, requests } = client(answers, {
      merchant: "/guichet", publicReads: "anonymous", checkoutOrigins: [location.origin],
    });
    const first = await guichet.checkout({ order: 1 }).catch(({ kind, message }) => [kind, message]);
    const after = (await guichet.paymentMethods()).length;
    stays = false;
    const off = new AbortController();
    const second = guichet.checkout({ order: 1 }, { signal: off.signal }).catch(String);
    await sleep(500);
    off.abort("it leaves");
    return { results: [first, after, await second], requests };
  },

  /** Both times are over before the first answer comes. */
  async from_the_call() {
    const late = (value) => new Promise((come) => setTimeout(come, 800, value));
    const of = { payment_ref: "gch_1" };
    let reads = 0;
    const status = () => (reads++, late({ status: "processing" }));
    const { guichet, requests } = client(() => json({ data: methods }), { merchant: { session: () => late("cst_test_1"), status } });
    await guichet.ready();
    const call = await guichet.paymentMethods({}, { timeoutMs: 400 }).catch(kind_of);
    const { state } = await guichet.waitForOutcome(of, { budgetMs: 400 });

    const { openHostedCheckout } = await import("/package/hosted.js");
    const sent = [];
    const fetch = async (_, { method }) => {
      sent.push(method);
      const reply = json({ data: { id: "pi_1", status: method === "GET" ? "requires_action" : "processing" } });
      return method === "GET" ? reply : late(reply);
    };
    const intent = { id: "pi_1", client_secret: "s_1" };
    const page = await openHostedCheckout({ baseUrl: "https://api.example", intent, fetch });
    sent.length = 0;
    const paid = await page.pay({ type: "mobile_money", phone: "237670000000" }, { budgetMs: 400 });
    return { call, requests, state, reads, paid: paid.status, sent };
  },

  async no_channels() {
    delete window.BroadcastChannel;
    const opened = [];
    const popup = { document: { body: {} }, closed: false, close() {}, sessionStorage };
    popup.location = { replace: (address) => ((popup.closed = true), opened.push(address)) };
    window.open = () => popup;
    const intent = { id: "pi_1", payment_ref: "gch_1", status: "requires_action", checkout_url: `${location.origin}/nowhere/to/go` };
    const merchant = {
      intent: async () => ({ intent, return_nonce: "0123456789abcdefghijAB" }),
      status: async () => ({ status: "succeeded" }),
    };
    const { guichet } = client(() => json({}), { merchant, checkoutOrigins: [location.origin] });
    setInterval(() => dispatchEvent(new Event("pointerdown")), 100); // the page is used again
    const { state } = await guichet.checkout({ order: 1 }, { mode: "popup" });
    // A window that cannot be used is closed, and this page goes there.
    let is_closed = false;
    const close = () => (is_closed = true);
    Object.assign(popup, { closed: false, close, location: {} });
    const off = new AbortController();
    const leaves = guichet.checkout({ order: 2 }, { mode: "popup", signal: off.signal }).catch(String);
    await sleep(500);
    off.abort("it leaves");
    return { opened, state, is_closed, leaves: await leaves };
  },

  async popup_languages() {
    const shown = [];
    for (const locale of ["fr-CM", "en"]) {
      const popup = { document: { body: {} }, closed: false, close() {} };
      window.open = () => popup;
      const { guichet } = client(() => json({}), { merchant: {}, locale });
      await guichet.checkout({ order: 1 }, { mode: "popup" }).catch(() => {});
      shown.push(popup.document.body.textContent);
    }
    return shown;
  },

  async never_settles() {
    const memory = wasm_memory();
    const { guichet } = client(() => new Promise(() => {}));
    const of = (n) => ({ payment_method: "mobile_money", currency: "XAF", amount: `${n + 1}` });
    const two_thousand_calls = async () => {
      for (let times = 0; times < 20; times++) {
        await Promise.allSettled(Array.from({ length: 100 }, (_, n) => guichet.fee(of(n), { timeoutMs: 1 })));
      }
      return memory().buffer.byteLength;
    };
    const before = await two_thousand_calls();
    for (let times = 0; times < 3; times++) await two_thousand_calls();
    return { before, after: memory().buffer.byteLength };
  },

  /** Clients with a session, a call that has ended and one under way, which are closed. */
  async closed() {
    const page = watch();
    const answers = (url, { signal }) =>
      url.includes("/fee/")
        ? new Promise((_, reject) => {
            page.counts.requests++;
            page.listen(signal, "abort", () => (page.counts.requests--, reject(signal.reason)));
          })
        : json({ data: methods });
    const session = async () => ({ session_token: "cst_test_1", expires_at: new Date(Date.now() + 60_000).toISOString() });
    await client(answers, {}).guichet.ready();
    const before = page.now();
    const clients = Array.from({ length: 20 }, () => client(answers, { merchant: { session } }).guichet);
    const never_used = client(answers, {}).guichet;
    await Promise.all(clients.map((guichet) => guichet.paymentMethods()));
    const fee = { payment_method: "mobile_money", currency: "XAF", amount: "5000" };
    const calls = clients.map((guichet) => guichet.fee(fee).catch((e) => e));
    calls.push(clients[0].waitForOutcome({ id: "pi_1" }).catch((e) => e));
    while (page.counts.requests < clients.length) await page.sleep(10);
    const during = page.now();
    for (const guichet of [...clients, never_used, clients[0]]) guichet.close();
    const ended = new Set((await Promise.all(calls)).map(({ name, message }) => `${name}: ${message}`));
    const is_over = () => JSON.stringify(page.now()) === JSON.stringify(before);
    for (let polls = 0; polls < 250 && !is_over(); polls++) await page.sleep(20);
    const later = [];
    for (const call of ["ready", "paymentMethods", "returned", "checkout"]) {
      for (const guichet of [clients[0], never_used]) later.push(await guichet[call]({ order: 1 }).then(String, kind_of));
    }
    const disposes = !Symbol.dispose || clients[0][Symbol.dispose] === clients[0].close;
    return { before, during, after: page.now(), ended: [...ended], later, disposes, state: clients[0].session.state };
  },

  /** Makes, uses and closes clients. What is left of each is garbage. */
  async thousand_clients() {
    const memory = wasm_memory();
    const session = async () => ({ session_token: "cst_test_1", expires_at: new Date(Date.now() + 60_000).toISOString() });
    const five_hundred = async () => {
      for (let times = 0; times < 500; times++) {
        const { guichet } = client(() => json({ data: methods }), { merchant: { session } });
        guichet.session.subscribe(() => guichet.session.email); // its listener knows the client
        await guichet.paymentMethods();
        guichet.close();
      }
      return memory().buffer.byteLength;
    };
    return { before: await five_hundred(), after: await five_hundred() };
  },

  /** Counts the calls from the wasm to JavaScript during one fee. */
  async crossings() {
    const real = WebAssembly.instantiate;
    let count = 0;
    WebAssembly.instantiate = async (module, imports) => {
      for (const members of Object.values(imports ?? {})) {
        for (const [name, member] of Object.entries(members)) members[name] = (...args) => (count++, member(...args));
      }
      return real.call(WebAssembly, module, imports);
    };
    const reply = { amount: 5000, currency: "XAF", fee: 100, total_payable: 5100 };
    const { guichet } = client(() => json({ data: reply }), { publicReads: "anonymous" });
    const fee = (amount) => guichet.fee({ payment_method: "mobile_money", currency: "XAF", amount });
    await fee("5000"); // the first call also makes what later ones reuse
    count = 0;
    const { total_payable } = await fee("6000");
    return { total_payable, count };
  },

  async unmatched() {
    const { guichet } = client(() => json({}), { merchant: { status: async () => ({ status: "succeeded" }) } });
    await guichet.ready();
    const times = [];
    for (const nonce of ["AA", "BB", "CC", "DD", "EE"]) {
      history.replaceState(null, "", `/return?guichet_return=0123456789abcdefghij${nonce}&payment_intent=pi_1`);
      const began = performance.now();
      const { match } = await guichet.returned();
      times.push([match, performance.now() - began]);
    }
    return { matches: times.map(([match]) => match), fastest: Math.min(...times.map(([, ms]) => ms)) };
  },

  /** Whose fault an exception is: the page's headers are bad, or its function throws. */
  async bad_headers() {
    const own = new Error("mine");
    const results = [];
    const throws = () => {
      throw own;
    };
    for (const merchantHeaders of [() => ({ "a name": "1" }), () => ({ a: "\n\u0000" }), () => 17, throws]) {
      const { guichet, requests } = client(() => json({}), { merchant: "/guichet", merchantHeaders });
      results.push(await guichet.session.validate().catch((e) => (e === own ? "its own" : [e.kind, e.fields?.[0]?.param ?? "", requests.length])));
    }
    return results;
  },

  /** What a read of the merchant sends. Equal reads at once are one. */
  async merchant_reads() {
    const found = [];
    const status = { 1: 401, 2: 422, 3: 404 };
    const answers = (url, { method, headers, body, credentials, cache, redirect }) => {
      found.push([url.replace(location.origin, ""), method, headers, body ?? null, credentials, cache, redirect ?? null]);
      const amount = new URL(url).searchParams.get("amount");
      if (status[amount]) return new Response('{"message":"No.","error":{"code":"no"}}', { status: status[amount] });
      return json({ data: amount ? { fee: 1, total_payable: 6, amount, currency: "XAF" } : methods });
    };
    const options = { merchant: "/guichet/", publicReads: "merchant", merchantHeaders: () => ({ "x-csrf": "17" }), locale: "fr", merchantCredentials: "include" };
    const { guichet } = client(answers, options);
    const of = { payment_method: "a/b?c", currency: "XAF", amount: "5000", country_code: "CM", card_type: "international" };
    const [all] = await Promise.all([guichet.paymentMethods(), guichet.paymentMethods()]);
    await guichet.paymentMethods({ country_code: "CM" });
    const fee = await guichet.fee(of);
    const [quote] = await guichet.quotes({ amount: "5", fee_bearer: "customer" });
    const sent = found.splice(0);
    const refused = [];
    for (const amount of ["1", "2", "3"]) refused.push(await guichet.fee({ ...of, amount }).catch(({ kind, operation }) => [kind, operation]));
    const other = client(answers, { ...options, merchant: "https://api.shop.example/guichet", merchantCredentials: undefined }).guichet;
    found.length = 0;
    await other.paymentMethods();
    return { sent, results: [all.length, fee.fee, quote.customer_pays], refused, other: found, state: guichet.session.state };
  },

  async a_test_page() {
    const { openTestPage } = await import("/package/testing.js");
    const names = ["location", "history", "navigator", "sessionStorage", "localStorage", "open", "BroadcastChannel"];
    const globals = () => names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name));
    const before = globals();
    let message;
    try {
      openTestPage();
    } catch (e) {
      message = e.message;
    }
    const after = globals();
    const same = (one, other) => ["value", "get", "set"].every((part) => Object.is(one[part], other[part]));
    return { message, unchanged: before.every((one, at) => same(one, after[at])) };
  },
};

function show(what) {
  const shown = document.querySelector("#shown");
  shown.textContent = JSON.stringify(what);
  shown.dataset.state = "shown";
}
found[location.pathname.slice(1)]().then(show, (e) => show({ failed: String(e) }));
