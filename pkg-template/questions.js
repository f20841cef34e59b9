// What `guichet/react` and `guichet/vue` share: the questions of the components of a page, each sent once.

export const IDLE = { outcome: undefined, error: undefined, isPending: false };
export const QUOTES = { quotes: undefined, error: undefined, isLoading: true };
export const RETURN = { back: undefined, status: undefined, outcome: undefined, error: undefined, isLoading: true };

// The questions of a client by their key.
const questionsByClient = new WeakMap();

/** Asks for the quotes of a request: its key, and what loads the answer. */
export const quotesQuestion = (client, request, timeoutMs) => ({
  key: `quotes ${JSON.stringify([Object.entries(request).sort(), timeoutMs])}`,
  load: async (signal) => ({ quotes: await client.quotes(request, { signal, timeoutMs }) }),
});

/** Asks for the outcome of the payment from which a customer returns: its key, and what loads the answer. */
export const returnQuestion = (client, { budgetMs, timeoutMs }) => ({
  key: `return ${JSON.stringify([budgetMs, timeoutMs])}`,
  load: async (signal, show) => {
    const back = await client.returned();
    show({ back });
    if (!back) return {};
    return { outcome: await client.waitForOutcome(back, { budgetMs, timeoutMs, signal, onStatus: (status, outcome) => show({ status, outcome }) }) };
  },
});

/**
 * Finds a question of a client: `state` is what is shown of it now, and `open()` opens it. It is loaded once for all components that
 * subscribe, and until the last of them is gone; not at all if an answer is given.
 */
export function shared(client, { key, load }, initial, given = initial) {
  if (!questionsByClient.has(client)) questionsByClient.set(client, new Map());
  const all = questionsByClient.get(client);
  return {
    state: () => all.get(key)?.state ?? given,
    open() {
      if (!all.has(key)) all.set(key, question(initial, given, load, (entry) => all.get(key) === entry && all.delete(key)));
      return all.get(key);
    },
  };
}

function question(initial, given, load, forget) {
  const listeners = new Set();
  let controller;
  const entry = {
    state: given,
    settled: undefined,
    subscribe(listener) {
      listeners.add(listener);
      if (!controller && entry.state.isLoading) entry.start();
      return () => {
        listeners.delete(listener);
        setTimeout(leave); // StrictMode subscribes again at once
      };
    },
    start() {
      controller?.abort();
      const { signal } = (controller = new AbortController());
      const show = (more) => {
        if (signal.aborted) return;
        entry.state = more === initial ? initial : { ...entry.state, ...more };
        for (const listener of listeners) listener();
      };
      show(initial);
      entry.settled = load(signal, show)
        .then((found) => show({ ...found, isLoading: false }), (error) => show({ error, isLoading: false }))
        // A component that suspends subscribes once all that suspend with it have their answers. After an error none does.
        .then(() => {
          // A request that a newer one has replaced must not end that one.
          const leaveIfLatest = () => signal.aborted || leave();
          setTimeout(leaveIfLatest, entry.state.error ? 1_000 : 60_000).unref?.();
        });
      return entry;
    },
  };
  const leave = () => {
    if (listeners.size) return;
    controller?.abort();
    forget(entry);
  };
  return entry;
}
