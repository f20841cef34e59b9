import { inspect } from "node:util";
import { CLOSED, exchange, toJson } from "./service.js";

/** A call of the control API. Its fields go into the body, or for GET into the query. A refused field is a `TypeError`. */
export async function callControl(service, name, method, path, fields = {}) {
  const query = method === "GET" ? `?${new URLSearchParams(fields)}` : "";
  const headers = ["host", "localhost", "authorization", `Bearer ${service.controlToken}`, "content-type", "application/json"];
  const body = method === "GET" ? undefined : new TextEncoder().encode(toJson(fields));
  const answer = await exchange(service, { method, target: `/sandbox/${path}${query}`, headers, body }).catch((e) => {
    throw service.isClosed ? new Error(`${name}: ${CLOSED}`) : e;
  });
  const reply = JSON.parse(new TextDecoder().decode(answer.body));
  if (answer.status === 200) return reply;
  const message = `${name}: ${reply.message}`;
  throw reply.error.param ? new TypeError(message) : new Error(message);
}

/** Checks what `merchant()` takes. */
export function optionsOfMerchant(options = {}) {
  if (typeof options !== "object" || options === null) {
    throw new TypeError("merchant: The options must be an object: { name: \"Awa's shoes\" }.");
  }
  const { name, ...rest } = options;
  const [unknown] = Object.keys(rest);
  if (unknown) throw new TypeError(`merchant: Unknown option \`${unknown}\`. The option is \`name\`.`);
  return { name };
}

/** One merchant of the sandbox. `call` calls the control API. Its methods are fields, so that they need no `this`. */
export class Tenant {
  #call;
  #secretKey;

  constructor(call, { merchant, secret_key }) {
    const about = (name, method, path, fields) => call(name, method, path, { ...fields, merchant });
    const time = async (reply) => new Date((await reply).now * 1000);
    const faults = async (reply) => (await reply).faults;
    this.#call = about;
    this.#secretKey = secret_key;
    Object.defineProperty(this, "id", { value: merchant, enumerable: true });
    this.clock = {
      now: () => time(about("clock.now", "GET", "clock")),
      advance: async (by) => time(about("clock.advance", "POST", "clock", { advance_seconds: seconds(by) })),
    };
    this.faults = {
      set: async (fault) => faults(about("faults.set", "POST", "faults", fault)),
      list: () => faults(about("faults.list", "GET", "faults")),
      clear: async () => void (await about("faults.clear", "DELETE", "faults")),
    };
    const decide = (decision) => async (payment, attempt) => void (await about(`handset.${decision}`, "POST", "handset", { payment, decision, attempt }));
    this.handset = { approve: decide("approve"), refuse: decide("refuse"), ignore: decide("ignore"), approveLate: decide("approve_late") };
    this.operators = {
      set: async (operator) => (await about("operators.set", "POST", "operators", operator)).operators,
    };
  }

  /** Not an own member, so that no log shows it. */
  get secretKey() {
    return this.#secretKey;
  }

  requests = async () => (await this.#call("requests", "GET", "requests")).requests;
  events = async () => (await this.#call("events", "GET", "events")).events;
  reset = async () => void (await this.#call("reset", "POST", "reset"));

  [inspect.custom](_, options) {
    return `Tenant ${inspect({ id: this.id }, options)}`;
  }
}

const SECONDS = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 };
/** The service moves a clock by a hundred years at most. */
const MOST_SECONDS = 36_600 * SECONDS.d;

/** Reads 90, "90s", "15m", "2h" or "31d". */
function seconds(length) {
  const text = typeof length === "number" && Number.isInteger(length) && length >= 0 ? BigInt(length).toString() : length;
  const [, number, unit] = (typeof text === "string" && /^(\d+)([smhd]?)$/.exec(text)) || [];
  const shown = inspect(length, { depth: 0, maxStringLength: 40 });
  if (!number) throw new TypeError(`clock.advance: ${shown} is not a length of time. Give one: 90, "90s", "15m", "2h" or "31d".`);
  const seconds = number * SECONDS[unit];
  if (seconds > MOST_SECONDS) throw new TypeError(`clock.advance: ${shown} is too long. One call moves the clock by "36600d" at most, a hundred years.`);
  return seconds;
}
