// The session tokens that were given out, by login, so that signing out ends them. The store gets them encrypted.

/** A session lives for 30 minutes at the service; a reply may be a call's deadline older. */
const KEPT_MS = 31 * 60 * 1000;

export class Sessions {
  #store;
  #secretKey;
  #key;

  constructor({ orders, secretKey }) {
    this.#store = orders.keepSession ? orders : new Memory();
    this.#secretKey = secretKey;
  }

  /** Keeps a token. Resolves with whether the login goes on. */
  async keep(login, token) {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await this.#sealing(), new TextEncoder().encode(token));
    const isKept = await this.#store.keepSession(login, btoa(String.fromCharCode(...iv, ...new Uint8Array(sealed))));
    if (typeof isKept !== "boolean") throw new TypeError("`orders.keepSession` must return true or false.");
    return isKept;
  }

  /** Ends a login. Resolves with its tokens. Those of a former secret key cannot be read, and expire by themselves. */
  async end(login) {
    const kept = await this.#store.endSessions(login);
    const tokens = kept.map((sealed) => this.#open(sealed).catch(() => undefined));
    return (await Promise.all(tokens)).filter((token) => token !== undefined);
  }

  async #open(sealed) {
    const bytes = Uint8Array.from(atob(sealed), (character) => character.charCodeAt(0));
    const algorithm = { name: "AES-GCM", iv: bytes.subarray(0, 12) };
    return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, await this.#sealing(), bytes.subarray(12)));
  }

  #sealing() {
    return (this.#key ??= derived(this.#secretKey));
  }
}

async function derived(secret) {
  const bytes = new TextEncoder().encode(`guichet session tokens ${secret}`);
  return crypto.subtle.importKey("raw", await crypto.subtle.digest("SHA-256", bytes), "AES-GCM", false, ["encrypt", "decrypt"]);
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
