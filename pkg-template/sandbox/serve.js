import { createServer } from "node:http";
import { BODY_LIMIT, exchange, start } from "./service.js";

/** How long a request may take to arrive, and a connection may be idle. */
const [REQUEST_MS, IDLE_MS] = [30_000, 30_000];
/** How long a stop waits for requests in flight, and the end of a connection for the rest of a body that is too long. */
const [STOP_MS, REST_MS] = [1_000, 1_000];

/** Starts the service on a port, which this option of the command sets. Resolves when it answers. `begin` starts the service itself. */
export async function serve({ host, port, requestMs = REQUEST_MS, ...options }, option = "--listen", begin = start) {
  const server = createServer({
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: requestMs / 10,
  });
  const { family, address, port: taken } = await listen(server, host, port, option);
  const baseUrl = `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`;
  let service;
  try {
    service = await begin({ ...options, baseUrl });
  } catch (e) {
    server.close();
    throw e;
  }
  let inFlight = 0;
  const closeIfDone = () => {
    if (!server.listening && inFlight === 0) server.closeAllConnections();
  };
  server.on("request", (request, response) => {
    inFlight += 1;
    response.once("close", () => {
      inFlight -= 1;
      closeIfDone();
    });
    respond(service, request, response).catch((e) => {
      // The client has disconnected, or the service has failed: there is no response to send.
      if (!request.socket.destroyed) console.error(e);
      request.socket.destroy();
    });
  });
  const stop = () => {
    server.close();
    closeIfDone();
    setTimeout(() => server.closeAllConnections(), STOP_MS).unref();
  };
  const { secretKey, controlToken, inspectorUrl } = service;
  return { baseUrl, secretKey, controlToken, inspectorUrl, stop };
}

/** Listens on a port, which this option of the command sets. Resolves with the server's address. */
export const listen = (server, host, port, option) =>
  new Promise((resolve, reject) => {
    const at = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
    server.once("error", ({ code, message }) => reject(new Error(WHY[code]?.(at, option) ?? `Nothing can listen on ${at}: ${message}.`)));
    server.listen(port, host, () => resolve(server.address()));
  });

const WHY = {
  EADDRINUSE: (address, option) => `Another program already listens on ${address}. Stop it, or give another port with ${option}.`,
  EADDRNOTAVAIL: (address) => `${address} is not an address of this machine.`,
  EACCES: (address, option) => `This user may not listen on ${address}. Give a port above 1023 with ${option}.`,
};

async function respond(service, request, response) {
  const body = await read(request);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const { method, url: target, rawHeaders: headers } = request;
  const answer = await exchange(service, { method, target, headers, body }, gone.signal);
  // A fault cuts the connection.
  if (!answer) return request.socket.destroy();
  const { status, headers: sent, body: bytes, isWhole } = answer;
  const hasLength = sent.includes("content-length") || status === 204 || status === 304;
  if (!hasLength) sent.push("content-length", bytes.length);
  const isTooLong = body.length > BODY_LIMIT;
  if (isTooLong) sent.push("connection", "close");
  response.writeHead(status, sent);
  if (!isWhole) return response.write(bytes, () => request.socket.destroy());
  if (!isTooLong) return response.end(bytes);
  // A client that is still sending gets the response only if the connection is open for a while.
  response.flushHeaders();
  response.write(bytes);
  const end = () => response.end();
  if (request.complete) return end();
  request.once("end", end);
  setTimeout(end, REST_MS).unref();
}

/** Reads a body to its end, or to one byte more than the service takes: it refuses the request then. The rest is discarded. */
const read = (request) =>
  new Promise((resolve, reject) => {
    const parts = [];
    let length = 0;
    const whole = () => resolve(Buffer.concat(parts).subarray(0, BODY_LIMIT + 1));
    request.once("end", whole).once("error", reject);
    request.on("data", (part) => {
      if (length > BODY_LIMIT) return;
      parts.push(part);
      length += part.length;
      if (length > BODY_LIMIT) whole();
    });
  });
