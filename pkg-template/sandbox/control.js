import { exchange } from "./service.js";

/** A call of the control API. Its fields go into the body, or for GET into the query. */
export async function control(service, name, method, path, fields = {}) {
  const query = method === "GET" ? `?${new URLSearchParams(fields)}` : "";
  const headers = ["host", "localhost", "authorization", `Bearer ${service.controlToken}`, "content-type", "application/json"];
  const body = method === "GET" ? undefined : new TextEncoder().encode(JSON.stringify(fields));
  const answer = await exchange(service, { method, target: `/sandbox/${path}${query}`, headers, body });
  const reply = JSON.parse(new TextDecoder().decode(answer.body));
  if (answer.status !== 200) throw new Error(`${name}: ${reply.message}`);
  return reply;
}

/** One merchant of the sandbox. `call` calls the control API. */
export class Tenant {
  #call;
  #secretKey;

  constructor(call, { merchant, secret_key }) {
    const about = (name, method, path, fields) => call(name, method, path, { ...fields, merchant });
    const time = async (reply) => new Date((await reply).now * 1000);
    const faults = async (reply) => (await reply).faults;
    this.#call = about;
    this.#secretKey = secret_key;
    this.id = merchant;
    this.clock = {
      now: () => time(about("clock.now", "GET", "clock")),
      advance: async (by) => time(about("clock.advance", "POST", "clock", { advance_seconds: seconds(by) })),
    };
    this.faults = {
      set: async (fault) => faults(about("faults.set", "POST", "faults", fault)),
      list: () => faults(about("faults.list", "GET", "faults")),
      clear: async () => void (await about("faults.clear", "DELETE", "faults")),
    };
  }

  /** Not an own member, so that no log shows it. */
  get secretKey() {
    return this.#secretKey;
  }

  async requests() {
    return (await this.#call("requests", "GET", "requests")).requests;
  }

  async events() {
    return (await this.#call("events", "GET", "events")).events;
  }

  async reset() {
    await this.#call("reset", "POST", "reset");
  }
}

const SECONDS = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads 90, "90s", "15m", "2h" or "31d". */
function seconds(length) {
  const [, number, unit] = /^(\d+)([smhd]?)$/.exec(length) ?? [];
  if (!number) throw new TypeError(`clock.advance: ${JSON.stringify(length)} is not a length of time. Give one: 90, "90s", "15m", "2h" or "31d".`);
  return number * SECONDS[unit];
}
