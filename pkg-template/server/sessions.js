import { Seal } from "./seal.js";

// The session tokens that were given out, by login, so that signing out ends them. The store gets them encrypted.

/** A session lives for 30 minutes at the service; a reply may be a call's deadline older. In seconds. */
const KEPT = 31 * 60;

export class Sessions {
  #store;
  #seal;

  constructor({ secretKey }, store) {
    this.#store = store;
    this.#seal = new Seal(secretKey, "guichet session tokens");
  }

  /** Keeps a token. Resolves with whether the login goes on. */
  async keep(login, token) {
    const now = seconds();
    return (await this.#store()).keepSession(login, await this.#seal.seal(token), now, now + KEPT);
  }

  /** Ends a login. Resolves with its tokens. Those of a former secret key cannot be read, and expire by themselves. */
  async end(login) {
    const kept = await (await this.#store()).endSessions(login, seconds() + KEPT);
    const tokens = kept.map((sealed) => this.#seal.open(sealed).catch(() => undefined));
    return (await Promise.all(tokens)).filter((token) => token !== undefined);
  }
}

const seconds = () => Math.floor(Date.now() / 1000);
