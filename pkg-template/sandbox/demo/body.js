import { textOf } from "../server/body.js";
import { ShopError } from "../server/server.js";

/** The largest body that is read, in bytes. */
const MAX_BYTES = 64 * 1024;

/** Reads the body of a request. It must be JSON, so that no form can send it, and no page of another site without asking first (CORS). */
export async function readJson(request) {
  // The connection stays open, so that a refusal can be sent.
  const text = await textOf({ body: request.iterator({ destroyOnReturn: false }) }, MAX_BYTES);
  if (text === undefined) throw new ShopError(413, "body_too_large", "The body is larger than 64 KiB.");
  if (!text) return {};
  const [type] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") throw new ShopError(415, "unsupported_media_type", "Send application/json.");
  try {
    return JSON.parse(text) ?? {};
  } catch {
    throw new ShopError(400, "invalid_json", "The body is not JSON.");
  }
}
