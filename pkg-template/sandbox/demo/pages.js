import { readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ShopError } from "../server/server.js";

const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};
const PAGES = { "/": "index.html", "/return": "return.html" };
const ASSETS = "/assets";

/** The shop's pages, their files under `/assets`, and the npm package `guichet`, which they import, under `/assets/package`. */
export class Pages {
  #files;
  #headers;

  /** `service` is the payment service's origin, the only other one that the pages may call. */
  constructor(service) {
    this.#files = new Map([...filesOf("./pages/", ASSETS), ...filesOf("../guichet/", `${ASSETS}/package`)]);
    this.#headers = {
      "content-security-policy":
        `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ${service}; style-src 'self'; img-src 'self'; ` +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cache-control": "no-cache",
    };
  }

  respond(path) {
    const name = Object.hasOwn(PAGES, path) ? `${ASSETS}/${PAGES[path]}` : path;
    const bytes = this.#files.get(name);
    if (!bytes) throw new ShopError(404, "route_not_found", "This page does not exist.");
    return { status: 200, headers: { ...this.#headers, "content-type": TYPES[extname(name)] }, body: bytes };
  }
}

/** The files of a folder, by their addresses. Nothing else can be requested. */
function filesOf(folder, base) {
  const root = fileURLToPath(new URL(folder, import.meta.url));
  const names = readdirSync(root, { recursive: true }).filter((name) => Object.hasOwn(TYPES, extname(name)));
  return names.map((name) => [`${base}/${name.replaceAll(sep, "/")}`, readFileSync(join(root, name))]);
}
