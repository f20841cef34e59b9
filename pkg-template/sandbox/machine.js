// What a check needs of Node.js: HTTP, waiting, and commands.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";

/** The machine that a check runs on. */
export class Machine {
  /**
   * Sends a request without any header but these, `Host` and `Content-Length`, and follows no redirect. Resolves with
   * `[status, headers, body]`, or with "timeout", "no connection", "certificate: …" or what broke.
   */
  send(method, url, headers, body, milliseconds) {
    return new Promise((resolve) => {
      const signal = AbortSignal.timeout(milliseconds);
      let isConnected = false;
      const failed = ({ message, code }) => {
        const isOfTls = /CERT|VERIFY|ALTNAME/.test(code);
        resolve(signal.aborted ? "timeout" : isOfTls ? `certificate: ${message}` : isConnected ? message : "no connection");
      };
      const { request } = url.startsWith("https:") ? https : http;
      // A restarted shop has closed its connections: each request has its own.
      const sent = request(url, { method, agent: false, signal }, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part)).once("error", failed);
        response.once("end", () => resolve([response.statusCode, response.rawHeaders.map(fromBytes), Buffer.concat(parts).toString()]));
      });
      sent.once("error", failed).once("socket", (socket) => socket.once(url.startsWith("https:") ? "secureConnect" : "connect", () => (isConnected = true)));
      sent.removeHeader("connection");
      try {
        for (let i = 0; i < headers.length; i += 2) {
          // Node.js has set Host, and a request has one.
          if (/^host$/i.test(headers[i])) sent.removeHeader(headers[i]);
          sent.appendHeader(headers[i], toBytes(headers[i + 1]));
        }
        // As bytes: a text would be sent with the headers in one encoding.
        sent.end(Buffer.from(body));
      } catch (e) {
        isConnected = true;
        sent.destroy(e);
      }
    });
  }

  now() {
    return performance.now();
  }

  /** Reads a file as a text. Resolves with a list of it, or with why it cannot be read. */
  read(path) {
    return readFile(path).then((bytes) => [bytes.toString()], ({ message }) => message);
  }

  sleep(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
  }

  /**
   * Runs a command in a shell. Resolves with `[status, stdout, stderr]`, whose status is empty if it succeeded, or with "timeout" or
   * why it cannot be run.
   */
  run(command, variables, isOutputWanted, milliseconds) {
    const env = { ...process.env };
    for (let i = 0; i < variables.length; i += 2) env[variables[i]] = variables[i + 1];
    // A shop that the command leaves running would hold a pipe open.
    const pipe = isOutputWanted ? "pipe" : "ignore";
    const child = spawn(command, { shell: true, env, stdio: ["ignore", pipe, pipe] });
    const [stdout, stderr] = [child.stdout, child.stderr].map(read);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        resolve("timeout");
        child.kill("SIGKILL");
      }, milliseconds);
      child.once("error", ({ message }) => resolve(message));
      child.once("close", (code, signal) => {
        clearTimeout(timer);
        resolve([code === 0 ? "" : code === null ? `signal: ${signal}` : `exit status: ${code}`, stdout(), stderr()]);
      });
    });
  }
}

/** Resolves with what the work resolves with, with "timeout" if it takes longer, or with why it failed. */
export function within(milliseconds, work) {
  let timer;
  const end = new Promise((resolve) => (timer = setTimeout(resolve, milliseconds, "timeout")));
  const done = work().catch((e) => String(e?.message ?? e));
  return Promise.race([done, end]).finally(() => clearTimeout(timer));
}

/** Reads a stream. Returns a function that says what has come. */
function read(stream) {
  const parts = [];
  stream?.on("data", (part) => parts.push(part));
  return () => Buffer.concat(parts).toString();
}

/** Node.js holds a header's bytes as one character each. */
const fromBytes = (text) => Buffer.from(text, "latin1").toString();
export const toBytes = (text) => Buffer.from(text).toString("latin1");
