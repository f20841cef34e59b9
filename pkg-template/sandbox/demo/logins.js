import { createHash, randomBytes } from "node:crypto";
import { CUSTOMERS } from "./catalogue.js";
import { notSignedIn } from "./shop_error.js";

const COOKIE = "shop_login";
const ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax";
/** The most logins that are kept. The oldest is forgotten first. */
const MAX_LOGINS = 10_000;

/** The logins of the shop: an HttpOnly cookie, whose token is stored only as a hash. The demo's customers have no password. */
export class Logins {
  /** By the hash of the cookie's token. */
  #logins = new Map();

  /** Signs a customer in. Returns the value of the `Set-Cookie` header. */
  begin(customer) {
    const token = randomBytes(32).toString("hex");
    this.#logins.set(hash(token), { id: hash(token), customer });
    if (this.#logins.size > MAX_LOGINS) this.#logins.delete(this.#logins.keys().next().value);
    return `${COOKIE}=${token}; ${ATTRIBUTES}`;
  }

  /** The login of a request's cookies: its name and its customer. */
  find(cookies) {
    const token = tokenOf(cookies);
    return token && this.#logins.get(hash(token));
  }

  /** The same; refuses a request without a login. */
  require(cookies) {
    const login = this.find(cookies);
    if (!login) throw notSignedIn();
    return login;
  }

  /** Signs the sender of these cookies out. Returns the login that ended, and the value of the `Set-Cookie` header. */
  end(cookies) {
    const login = this.find(cookies);
    if (login) this.#logins.delete(login.id);
    return { login, cookie: `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0` };
  }
}

export const customerOf = (id) => CUSTOMERS.find((customer) => customer.id === id);

function tokenOf(cookies) {
  const pairs = (cookies ?? "").split(";").map((cookie) => cookie.trim().split("="));
  return pairs.find(([name]) => name === COOKIE)?.[1];
}

const hash = (token) => createHash("sha256").update(token).digest("hex");
