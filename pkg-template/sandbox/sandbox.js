import { inspect } from "node:util";
import { callControl, optionsOfMerchant, Tenant } from "./control.js";
import { fetchFrom } from "./fetch.js";
import { start } from "./service.js";

/** Starts a sandbox in this process. */
export const createSandbox = async (options) => new Sandbox(await start(options));

/** Its methods are fields, so that they need no `this`. */
class Sandbox {
  #service;
  /** The merchants that were made here, without the first. */
  #merchants = [];

  constructor(service) {
    this.#service = service;
    Object.defineProperty(this, "baseUrl", { value: service.baseUrl, enumerable: true });
    this.fetch = fetchFrom(service);
  }

  /** Not an own member, so that no log shows it. The same holds for the token. */
  get secretKey() {
    return this.#service.secretKey;
  }

  get controlToken() {
    return this.#service.controlToken;
  }

  merchant = async (options) => {
    const made = await this.#control("merchant", "POST", "merchants", optionsOfMerchant(options));
    this.#merchants.push(made.merchant);
    return new Tenant(this.#control, made);
  };

  reset = async () => {
    for (const merchant of [undefined, ...this.#merchants]) {
      await this.#control("reset", "POST", "reset", { merchant });
    }
  };

  close = () => this.#service.close();

  #control = (...call) => callControl(this.#service, ...call);

  [inspect.custom](_, options) {
    return `Sandbox ${inspect({ baseUrl: this.baseUrl }, options)}`;
  }
}

// `await using`, where the runtime has it.
if (Symbol.asyncDispose) {
  Object.defineProperty(Sandbox.prototype, Symbol.asyncDispose, {
    value() {
      return this.close();
    },
  });
}
