import { control, Tenant } from "./control.js";
import { failed, fetchFrom } from "./fetch.js";
import { start } from "./service.js";

/** Starts a sandbox in this process. */
export const createSandbox = async (options) => new InProcess(await start(options));

class InProcess {
  #service;
  #isClosed = false;
  #secretKey;
  #controlToken;
  /** The merchants that were made here, without the first. */
  #merchants = [];

  constructor(service) {
    this.#service = service;
    this.#secretKey = service.secretKey;
    this.#controlToken = service.controlToken;
    this.baseUrl = service.baseUrl;
    this.fetch = fetchFrom(this.baseUrl, () => {
      if (this.#isClosed) throw failed(CLOSED);
      return this.#service;
    });
  }

  /** Not an own member, so that no log shows it. The same holds for the token. */
  get secretKey() {
    return this.#secretKey;
  }

  get controlToken() {
    return this.#controlToken;
  }

  async merchant({ name, ...rest } = {}) {
    const [unknown] = Object.keys(rest);
    if (unknown) throw new TypeError(`Unknown option \`${unknown}\`. The option is \`name\`.`);
    const made = await this.#control("merchant", "POST", "merchants", { name });
    this.#merchants.push(made.merchant);
    return new Tenant(this.#control, made);
  }

  async reset() {
    for (const merchant of [undefined, ...this.#merchants]) {
      await this.#control("reset", "POST", "reset", { merchant });
    }
  }

  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#service.close();
  }

  #control = async (name, ...call) => {
    if (this.#isClosed) throw new Error(`${name}: ${CLOSED}`);
    return control(this.#service, name, ...call);
  };
}

const CLOSED = "The sandbox is closed.";
