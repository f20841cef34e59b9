import { exchange } from "./service.js";

/** A `fetch` for one origin. `open` returns the service, or throws if it is closed. */
export const fetchFrom = (baseUrl, open) => async (input, init) => {
  // The signal may be of another realm, as jsdom's is, which `Request` refuses.
  const { signal = input?.signal, ...rest } = init ?? {};
  const request = new Request(input, rest);
  const url = new URL(request.url);
  if (url.origin !== baseUrl) {
    throw new TypeError(`This sandbox is ${baseUrl}, and the request is for ${url.origin}. Use the sandbox's \`baseUrl\`, or the global fetch.`);
  }
  const body = new Uint8Array(await request.arrayBuffer());
  const target = url.href.slice(0, url.href.length - url.hash.length);
  const answer = await exchange(open(), { method: request.method, target, headers: [...request.headers].flat(), body }, signal);
  if (!answer) throw failed("The sandbox closed the connection: an injected fault.");
  return response(answer, request.method, url.href);
};

/** The error of `fetch` without a response. */
export const failed = (why) => new TypeError("fetch failed", { cause: new Error(why) });

/** The statuses whose responses have no body. */
const WITHOUT_BODY = [204, 205, 304];

function response({ status, headers, body, isWhole }, method, url) {
  const isEmpty = method === "HEAD" || WITHOUT_BODY.includes(status);
  const sent = isWhole ? body : brokenOff(body);
  const made = new Response(isEmpty ? null : sent, { status, headers: pairs(headers) });
  return Object.defineProperty(made, "url", { value: url });
}

const pairs = (flat) => flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1]]]));

/** A body that breaks off after these bytes. */
const brokenOff = (bytes) =>
  new ReadableStream({
    start: (body) => body.enqueue(bytes),
    pull: (body) => body.error(new TypeError("terminated", { cause: new Error("The sandbox closed the connection: an injected fault.") })),
  });
