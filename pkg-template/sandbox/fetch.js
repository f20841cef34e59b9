import { STATUS_CODES } from "node:http";
import { BODY_LIMIT, exchange, failed, reason } from "./service.js";

/** A `fetch` for the service's origin. */
export const fetchFrom = (service) => async (input, init) => {
  // The signal may be of another realm, as jsdom's is, which `Request` refuses.
  const { signal = input?.signal, ...rest } = init ?? {};
  const request = new Request(input, rest);
  const { method, url } = request;
  if (!url.startsWith(`${service.baseUrl}/`)) throw foreign(url, service.baseUrl);
  const target = url.split("#", 1)[0];
  // Awaited in any case: an abort in the same turn comes before the request.
  const body = await (bytes(rest.body, request) ?? service.until(signal, (ended) => read(request.body, ended)));
  const answer = await exchange(service, { method, target, headers: [...request.headers].flat(), body }, signal);
  if (!answer) throw failed(CUT);
  return response(answer, method, target, signal);
};

const CUT = "The sandbox closed the connection: an injected fault.";

function foreign(url, baseUrl) {
  const { origin, protocol } = new URL(url);
  const other = origin === "null" ? `a ${protocol} address` : origin;
  return new TypeError(`This sandbox is ${baseUrl}, and the request is for ${other}. Use the sandbox's \`baseUrl\`, or the global fetch.`);
}

const encoder = new TextEncoder();

/** The bytes of a body that needs no reading. */
function bytes(given, request) {
  if (!request.body) return new Uint8Array();
  return typeof given === "string" ? encoder.encode(given) : undefined;
}

/** Reads a body to its end, or to one byte more than the service takes: it refuses the request then. */
async function read(stream, ended) {
  const reader = stream.getReader();
  const cancel = (why) => reader.cancel(why).catch(() => {});
  ended.catch(cancel);
  const whole = new Uint8Array(BODY_LIMIT + 1);
  let length = 0;
  while (length < whole.length) {
    const { value, done } = await reader.read().catch((e) => Promise.reject(failed(e)));
    if (done) return whole.subarray(0, length);
    if (!(value instanceof Uint8Array)) {
      const e = new TypeError("The parts of a body that is a stream must be bytes: Uint8Array.");
      cancel(e);
      throw failed(e);
    }
    const part = value.subarray(0, whole.length - length);
    whole.set(part, length);
    length += part.length;
  }
  cancel();
  return whole;
}

/** The statuses whose responses have no body. */
const WITHOUT_BODY = [204, 205, 304];

function response({ status, headers, body, isWhole }, method, url, signal) {
  const isEmpty = method === "HEAD" || WITHOUT_BODY.includes(status);
  const content = isWhole && !signal ? body : stream(body, isWhole, signal);
  const made = new Response(isEmpty ? null : content, { status, statusText: STATUS_CODES[status], headers: pairs(headers) });
  return Object.defineProperty(made, "url", { value: url });
}

const pairs = (flat) => flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1]]]));

/** A body that ends with an error if a fault breaks it off, or if the signal aborts before it was read. */
function stream(bytes, isWhole, signal) {
  let abort;
  const release = () => signal?.removeEventListener("abort", abort);
  return new ReadableStream(
    {
      start(body) {
        abort = () => body.error(reason(signal));
        if (signal?.aborted) abort();
        else signal?.addEventListener("abort", abort, { once: true });
      },
      pull(body) {
        if (bytes.length > 0) body.enqueue(bytes);
        if (bytes.length > 0 && !isWhole) return void (bytes = bytes.subarray(bytes.length));
        release();
        if (isWhole) body.close();
        else body.error(new TypeError("terminated", { cause: new Error(CUT) }));
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  );
}
