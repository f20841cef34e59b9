import { Seal } from "./seal.js";

// The session tokens that were given out, by login, so that signing out ends them. The store gets them encrypted.

/** A session lives for 30 minutes at the service; a reply may be a call's deadline older. */
const KEPT_MS = 31 * 60 * 1000;

export class Sessions {
  #store;
  #seal;

  constructor({ orders, secretKey }) {
    this.#store = orders.keepSession ? orders : new Memory();
    this.#seal = new Seal(secretKey, "guichet session tokens");
  }

  /** Keeps a token. Resolves with whether the login goes on. */
  async keep(login, token) {
    const isKept = await this.#store.keepSession(login, await this.#seal.seal(token));
    if (typeof isKept !== "boolean") throw new TypeError("`orders.keepSession` must return true or false.");
    return isKept;
  }

  /** Ends a login. Resolves with its tokens. Those of a former secret key cannot be read, and expire by themselves. */
  async end(login) {
    const kept = await this.#store.endSessions(login);
    const tokens = kept.map((sealed) => this.#seal.open(sealed).catch(() => undefined));
    return (await Promise.all(tokens)).filter((token) => token !== undefined);
  }
}

/** For a shop of one process whose `orders` keep no sessions. */
class Memory {
  /** One without a token says that its login has ended. */
  #entries = [];

  keepSession(login, sealed) {
    this.#entries = this.#entries.filter(({ at }) => Date.now() - at < KEPT_MS);
    const isEnded = this.#entries.some((entry) => entry.login === login && !entry.sealed);
    if (!isEnded) this.#entries.push({ login, sealed, at: Date.now() });
    return !isEnded;
  }

  endSessions(login) {
    const own = this.#entries.filter((entry) => entry.login === login && entry.sealed);
    this.#entries = this.#entries.filter((entry) => entry.login !== login).concat({ login, at: Date.now() });
    return own.map(({ sealed }) => sealed);
  }
}
