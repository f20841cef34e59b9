import { createContext, createElement, useCallback, useContext, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";

const Client = /* @__PURE__ */ createContext(null);

export const GuichetProvider = ({ client, children }) => createElement(Client.Provider, { value: client }, children);

function useClient() {
  const client = useContext(Client);
  if (!client) throw new Error("This hook needs a <GuichetProvider client={…}> above its component.");
  return client;
}

export function useSession() {
  const { session } = useClient();
  // Text is equal to itself, as React wants of a snapshot.
  const snapshot = () => JSON.stringify([session.state, session.email, session.expiresAt]);
  const key = useSyncExternalStore(session.subscribe, snapshot, () => '["none"]');
  return useMemo(() => {
    const [state, email, expiresAt] = JSON.parse(key);
    const { validate, renew, revoke } = session;
    return { state, email: email ?? undefined, expiresAt: expiresAt ? new Date(expiresAt) : undefined, validate, renew, revoke };
  }, [session, key]);
}

export function useQuotes(request, { suspense, timeoutMs, initialQuotes } = {}) {
  const client = useClient();
  const key = `quotes ${JSON.stringify([Object.entries(request).sort(), timeoutMs])}`;
  // They answer the first question alone: a later one has another amount or other methods.
  const [given] = useState({ key, state: initialQuotes && { ...QUOTES, quotes: initialQuotes, isLoading: false } });
  const load = async (signal) => ({ quotes: await client.quotes(request, { signal, timeoutMs }) });
  const [state, retry] = useShared(client, key, QUOTES, suspense, load, given.key === key ? given.state : undefined);
  return useMemo(() => ({ ...state, retry }), [state, retry]);
}

export function useReturn({ budgetMs, timeoutMs } = {}) {
  const client = useClient();
  const key = `return ${JSON.stringify([budgetMs, timeoutMs])}`;
  const [state] = useShared(client, key, RETURN, false, async (signal, show) => {
    const back = await client.returned();
    show({ back });
    if (!back) return {};
    return { outcome: await client.waitForOutcome(back, { budgetMs, timeoutMs, signal, onStatus: (status, outcome) => show({ status, outcome }) }) };
  });
  return state;
}

export function useCheckout() {
  const client = useClient();
  const [{ of, ...state }, setState] = useState(IDLE);
  const mounted = useRef();
  useEffect(() => {
    const controller = (mounted.current = new AbortController());
    return () => controller.abort();
  }, [client]);
  const checkout = useCallback((what, options) => {
    const { signal } = mounted.current;
    const of = {};
    // The latest click counts: an earlier one may still wait for the same payment.
    const show = (state) => {
      if (!signal.aborted) setState((now) => (now.of === of ? { ...IDLE, ...state } : now));
      return state.outcome;
    };
    // In the click itself, or the browser blocks the popup.
    const outcome = client.checkout(what, { ...options, signal });
    // Firefox runs microtasks while it opens a window. React before 18.2 loses a state that was set before.
    setState({ ...IDLE, of, isPending: true });
    return outcome.then((outcome) => show({ outcome }), (error) => show({ error }));
  }, [client]);
  return { ...state, checkout };
}

const IDLE = { of: undefined, outcome: undefined, error: undefined, isPending: false };
const QUOTES = { quotes: undefined, error: undefined, isLoading: true };
const RETURN = { back: undefined, status: undefined, outcome: undefined, error: undefined, isLoading: true };

// The questions of the components of a page by their key, by client.
const questionsByClient = new WeakMap();

/**
 * Loads once for all components with the same question, and until the last of them is gone; not at all if an answer is given. Returns
 * the state, and a function that loads again.
 */
function useShared(client, key, initial, suspense, load, given = initial) {
  if (!questionsByClient.has(client)) questionsByClient.set(client, new Map());
  const all = questionsByClient.get(client);
  const open = () => {
    if (!all.has(key)) all.set(key, question(initial, given, load, (entry) => all.get(key) === entry && all.delete(key)));
    return all.get(key);
  };
  const snapshot = () => all.get(key)?.state ?? given;
  const subscribe = useCallback((listener) => open().subscribe(listener), [all, key]);
  const retry = useCallback(() => open().start(), [all, key]);
  // On a server nothing is loaded but where a component suspends: then the page waits for the answer.
  const state = useSyncExternalStore(subscribe, snapshot, suspense ? snapshot : () => given);
  if (suspense && state.isLoading) {
    const entry = open();
    throw entry.settled ?? entry.start().settled;
  }
  if (suspense && state.error) throw state.error;
  return [state, retry];
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
