import { computed, inject, onMounted, onScopeDispose, shallowReactive, toRefs, toValue, watch } from "vue";
import { IDLE, QUOTES, quotesQuestion, RETURN, returnQuestion, shared } from "./questions.js";

const CLIENT = /* @__PURE__ */ Symbol("guichet");

export const guichetPlugin = (client) => ({ install: (app) => app.provide(CLIENT, client) });

function useClient() {
  const client = inject(CLIENT, null);
  if (!client) throw new Error("This function needs app.use(guichetPlugin(client)) before app.mount(…).");
  return client;
}

export function useSession() {
  const { session } = useClient();
  const { validate, renew, revoke } = session;
  const state = shallowReactive({ state: "none", email: undefined, expiresAt: undefined });
  const show = () => Object.assign(state, { state: session.state, email: session.email, expiresAt: session.expiresAt });
  whileMounted(() => {
    show();
    return session.subscribe(show);
  });
  return { ...toRefs(state), validate, renew, revoke };
}

export function useQuotes(request, { timeoutMs, initialQuotes } = {}) {
  const client = useClient();
  const question = computed(() => quotesQuestion(client, { ...toValue(request) }, timeoutMs));
  return useShared(client, question, QUOTES, initialQuotes ? { ...QUOTES, quotes: initialQuotes, isLoading: false } : undefined);
}

export function useReturn(options = {}) {
  const client = useClient();
  const { retry, ...state } = useShared(client, computed(() => returnQuestion(client, options)), RETURN);
  return state;
}

export function useCheckout() {
  const client = useClient();
  const state = shallowReactive({ ...IDLE });
  const controller = new AbortController();
  onScopeDispose(() => controller.abort());
  let latest;
  const checkout = (what, options) => {
    const { signal } = controller;
    const of = (latest = {});
    // The latest click counts: an earlier one may still wait for the same payment.
    const show = (more) => {
      if (of === latest && !signal.aborted) Object.assign(state, IDLE, more);
      return more.outcome;
    };
    // In the click itself, or the browser blocks the popup.
    const outcome = client.checkout(what, { ...options, signal });
    show({ isPending: true });
    return outcome.then((outcome) => show({ outcome }), (error) => show({ error }));
  };
  return { ...toRefs(state), checkout };
}

/** The state of a question while the component is mounted, so that a server asks nothing. A given answer belongs to the first question. */
function useShared(client, question, initial, given) {
  const first = question.value.key;
  const state = shallowReactive({ ...(given ?? initial) });
  const open = () => shared(client, question.value, initial, question.value.key === first ? given : undefined).open();
  whileMounted(() => {
    let leave;
    const stop = watch(() => question.value.key, () => {
      const before = leave;
      const entry = open();
      const show = () => Object.assign(state, entry.state);
      leave = entry.subscribe(show);
      before?.();
      show();
    }, { immediate: true });
    return () => (stop(), leave());
  });
  return { ...toRefs(state), retry: () => void open().start() };
}

/** Runs this once the component is mounted, and what it returns when the component is gone. */
function whileMounted(start) {
  let end;
  onMounted(() => (end = start()));
  onScopeDispose(() => end?.());
}
