import type { ShopServer } from "./server.js";

/**
 * A request of `node:http`, or what an adapter gives in its place (serverless-http, `node:http2`). If a body parser has read it, its result
 * must be in `body`, as Express has it; for Koa: `ctx.req.body = ctx.request.body`.
 *
 * @example
 * const path = ({ url }: Incoming) => url;
 */
export interface Incoming {
  method?: string | undefined;
  url?: string | undefined;
}

/**
 * A response of `node:http`.
 *
 * @example
 * const status = ({ statusCode }: Outgoing) => statusCode;
 */
export interface Outgoing {
  statusCode: number;
}

/**
 * The shop as a handler of Express, Connect or `node:http`. With `next`, it leaves every address but its own to the next handler.
 *
 * @example
 * const handler = toNode(server); // app.use(handler)
 */
export function toNode(shop: ShopServer): (request: Incoming, response: Outgoing, next?: (error?: unknown) => void) => void;
