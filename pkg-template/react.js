import { createContext, createElement, useCallback, useContext, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { IDLE, QUOTES, quotesQuestion, RETURN, returnQuestion, shared } from "./questions.js";

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
  const question = quotesQuestion(client, request, timeoutMs);
  // They answer the first question alone: a later one has another amount or other methods.
  const [given] = useState({ key: question.key, state: initialQuotes ? { ...QUOTES, quotes: initialQuotes, isLoading: false } : undefined });
  const [state, retry] = useShared(client, question, QUOTES, suspense, given.key === question.key ? given.state : undefined);
  return useMemo(() => ({ ...state, retry }), [state, retry]);
}

export function useReturn(options = {}) {
  const client = useClient();
  return useShared(client, returnQuestion(client, options), RETURN)[0];
}

export function useCheckout() {
  const client = useClient();
  const [{ of, ...state }, setState] = useState({ of: undefined, ...IDLE });
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

/** Subscribes a component to a question. Returns the state, and a function that loads again. */
function useShared(client, question, initial, suspense, given = initial) {
  const { state: snapshot, open } = shared(client, question, initial, given);
  const subscribe = useCallback((listener) => open().subscribe(listener), [client, question.key]);
  const retry = useCallback(() => open().start(), [client, question.key]);
  // On a server nothing is loaded but where a component suspends: then the page waits for the answer.
  const state = useSyncExternalStore(subscribe, snapshot, suspense ? snapshot : () => given);
  if (suspense && state.isLoading) {
    const entry = open();
    throw entry.settled ?? entry.start().settled;
  }
  if (suspense && state.error) throw state.error;
  return [state, retry];
}
