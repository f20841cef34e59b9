import { createServer } from "node:http";
import { exchange, start } from "./service.js";

/** More than the service reads of a body: it refuses a longer one. */
const ENOUGH = 128 * 1024;
/** How long a head may take, a connection may be idle, and a stop waits for requests in flight. */
const [HEAD_MS, IDLE_MS, STOP_MS] = [30_000, 30_000, 10_000];

/** Starts the service on a port, which this option of the command sets. Resolves when it answers. */
export async function serve({ host, port, ...options }, option = "--listen") {
  const server = createServer({ headersTimeout: HEAD_MS, keepAliveTimeout: IDLE_MS });
  const { family, address, port: taken } = await listen(server, host, port, option);
  const baseUrl = `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`;
  let service;
  try {
    service = await start({ ...options, baseUrl });
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
  return { baseUrl, secretKey: service.secretKey, controlToken: service.controlToken, stop };
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
  response.writeHead(status, hasLength ? sent : [...sent, "content-length", bytes.length]);
  if (isWhole) response.end(bytes);
  else response.write(bytes, () => request.socket.destroy());
}

/** Reads a body to its end, so that the connection can go on, and keeps its first bytes. */
async function read(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    if (length < ENOUGH) parts.push(part);
    length += part.length;
  }
  return Buffer.concat(parts);
}
