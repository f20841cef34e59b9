/** The ledger in this process's memory, which is lost when it ends: for demos and tests. It keeps what the stores of orders.js keep. */
export function memoryOrders() {
  const [orders, payments, names, logins] = [new Map(), new Map(), new Map(), new Map()];
  let shared;
  let events = [];
  const seconds = () => Math.floor(Date.now() / 1000);
  const openOf = (owner, now) => [...payments.values()].filter((payment) => payment.owner === owner && payment.counts_until > now).length;

  return {
    async open(first) {
      shared ??= first(seconds());
    },
    async now() {
      return seconds();
    },
    async load(name, owner, now) {
      const isTaken = (payment) => payment.name !== name && (payment.reference === name || payment.reference.startsWith(`${name}-`) && payment.reference !== `${name}-`);
      const taken = [...payments.values()].filter(isTaken).map(({ reference }) => reference);
      return { order: orders.get(name)?.body ?? null, open: openOf(owner, now), taken: taken.sort() };
    },
    async commit({ name, version, body, owner, before, open, now, rows, event }) {
      const isAnothers = ({ reference }) => (payments.get(reference)?.name ?? name) !== name;
      if (open !== null && openOf(owner, now) !== open) return false;
      if ((orders.get(name)?.version ?? null) !== before || rows.some(isAnothers)) return false;
      orders.set(name, { version, body });
      for (const { reference, created_at, due_at, counts_until, names: called } of rows) {
        payments.set(reference, { reference, name, created_at, returned_at: null, ...payments.get(reference), owner, due_at, counts_until });
        for (const payment of called) names.set(payment, (names.get(payment) ?? new Set()).add(name));
      }
      if (event !== null) events.push({ name, ...event });
      return true;
    },
    async find(payment) {
      return [...(names.get(payment) ?? [])].sort();
    },
    async returned(reference, now) {
      if (payments.has(reference)) payments.get(reference).returned_at = now;
    },
    async due(now, beyond) {
      const due = [...payments.values()].filter(({ due_at }) => due_at !== null && (due_at <= now || due_at > beyond));
      return due.map(({ reference, owner, created_at, returned_at, due_at }) => ({ reference, owner, created_at, returned_at, since: due_at }));
    },
    async postpone(reference, dueAt) {
      if (payments.has(reference)) payments.get(reference).due_at = dueAt;
    },
    async shared() {
      return shared;
    },
    async replaceShared(before, after) {
      if (shared !== before) return false;
      shared = after;
      return true;
    },
    async events() {
      return [...events].sort((one, other) => one.version - other.version);
    },
    async close(name, version) {
      events = events.filter((event) => event.name !== name || event.version !== version);
    },
    async keepSession(login, token, now, until) {
      for (const [name, kept] of logins) if (kept.until < now) logins.delete(name);
      const kept = logins.get(login) ?? { tokens: [] };
      if (kept.hasEnded) return false;
      logins.set(login, { tokens: [...kept.tokens, token], until });
      return true;
    },
    async endSessions(login, until) {
      const kept = logins.get(login)?.tokens ?? [];
      logins.set(login, { tokens: [], hasEnded: true, until });
      return kept;
    },
  };
}
