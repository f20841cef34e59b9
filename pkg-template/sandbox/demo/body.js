import { ShopError } from "./shop_error.js";

/** The largest body that is read, in bytes. An order is far smaller. */
const MAX_BYTES = 64 * 1024;

/** Reads the body of a request: JSON, or the fields of a form. Returns whether a form sent it. */
export async function readBody(request) {
  const parts = [];
  let length = 0;
  // The connection stays open, so that a refusal can be sent.
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    length += part.length;
    if (length > MAX_BYTES) throw new ShopError(413, "body_too_large", "The body is larger than 64 KiB.");
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString("utf8");
  if (!text) return { body: {}, byForm: false };
  const [type] = (request.headers["content-type"] ?? "").split(";");
  switch (type.trim().toLowerCase()) {
    case "application/json":
      return { body: parseJson(text), byForm: false };
    case "application/x-www-form-urlencoded":
      return { body: Object.fromEntries(new URLSearchParams(text)), byForm: true };
    default:
      // A page of another site can send any other type without asking first (CORS).
      throw new ShopError(415, "unsupported_media_type", "Send application/json, or a form.");
  }
}

function parseJson(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    throw new ShopError(400, "invalid_json", "The body is not JSON.");
  }
}
