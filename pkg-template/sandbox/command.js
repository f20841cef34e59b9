import { file } from "./host.js";
import { serve } from "./serve.js";
import { address, CommandError, parse, print, profileIn } from "./terminal.js";

/** The command `guichet-sandbox`: it serves until Ctrl-C or SIGTERM. Its options are those of `guichet sandbox`. */
export async function run(args) {
  try {
    if (args[0] === "demo") {
      const { demo } = await import("./demo/command.js");
      return await demo(args.slice(1));
    }
    if (args[0] === "check") {
      const { check } = await import("./check-command.js");
      return await check(args.slice(1));
    }
    if (args[0] === "init") {
      const { init } = await import("./init/command.js");
      return init(args.slice(1));
    }
    if (/^\w/.test(args[0] ?? "")) {
      throw new CommandError(2, `There is no command '${args[0]}'. The commands are demo, check and init; without one, the service starts.`);
    }
    const { help, version, json, ...options } = read(args);
    if (help) return print(HELP);
    if (version) return print(JSON.parse(file("package.json")).version);
    const running = await serve(options);
    process.once("SIGINT", running.stop).once("SIGTERM", running.stop);
    print(json ? asJson(running) : asText(running));
  } catch (e) {
    if (!(e instanceof CommandError)) e = new CommandError(1, e.message);
    for (const line of e.message.split("\n")) console.error(`guichet-sandbox: ${line}`);
    process.exitCode = e.exitCode;
  }
}

const HELP = `\
The whole payment service of guichet on this machine, in memory. No account, no real money.

Usage: guichet-sandbox [OPTIONS]
       guichet-sandbox demo [OPTIONS]    A shop that uses it, in a browser; demo --help lists its options
       guichet-sandbox check [OPTIONS] --order <JSON> <URL>    The rules that your shop keeps; check --help lists its options
       guichet-sandbox init <KIND> <FOLDER>    An example shop in a folder of yours: express, next or php

      --listen <ADDRESS>       The address to listen on; port 0 takes a free port [default: 127.0.0.1:4243]
      --public-url <URL>       The origin under which customers reach the sandbox; default: the address it listens on
      --allow-host <NAME>      A host name under which the control API answers, besides loopback. May be repeated
      --allow-origin <ORIGIN>  An origin whose pages may call the service; default: every origin. May be repeated
      --public-methods         Let anyone read payment methods and fees without a credential
      --checkout <DIR>         The folder of your own checkout page, whose index.html is served in the place of the sandbox's
      --profile <FILE>         The profile of a payment company (service.json): payments are read, found and canceled as it says
      --strict                 Refuse unknown fields
      --json                   Print one line of JSON when ready, and nothing else on stdout
  -h, --help                   Print this help
  -V, --version                Print the version

If GUICHET_SECRET_KEY is set (sk_test_ and at least 16 letters and digits), the first merchant has that key.
It keeps nothing after it stops. The binary \`guichet sandbox\` can keep a database file.`;

const OPTIONS = {
  listen: { type: "string", default: "127.0.0.1:4243" },
  "public-url": { type: "string" },
  "allow-host": { type: "string", multiple: true },
  "allow-origin": { type: "string", multiple: true },
  "public-methods": { type: "boolean" },
  checkout: { type: "string" },
  profile: { type: "string" },
  strict: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
};
/** Options of the binary that need what this package does not have. */
const OF_THE_BINARY = { database: "a database", keys: "a file of keys", package: "another npm package", "connections-per-address": "a limit of connections" };

function read(args) {
  const { values } = parse(args, OPTIONS, "guichet sandbox", OF_THE_BINARY);
  const { listen, "public-url": publicUrl, "allow-host": allowHosts, "allow-origin": allowOrigins, "public-methods": publicMethods, profile, ...rest } = values;
  const { host, port } = address(listen);
  if (/^[0:.]+$/.test(host) && publicUrl === undefined) {
    throw new CommandError(1, `${listen} is every address of this machine, so the sandbox does not know the address of its checkout page for customers. Missing option --public-url, for example --public-url http://192.168.1.20:${port}.`);
  }
  return { host, port, publicUrl, allowHosts, allowOrigins, publicMethods, profile: profileIn(profile), ...rest };
}

const asJson = ({ baseUrl, controlToken, inspectorUrl, secretKey }) =>
  JSON.stringify({ base_url: baseUrl, control_token: controlToken, control_url: `${baseUrl}/sandbox`, inspector_url: inspectorUrl, secret_key: secretKey });

const asText = ({ baseUrl, controlToken, inspectorUrl, secretKey }) => `\
The sandbox is running: the whole service on this machine. No real money moves.

  The service          ${baseUrl}/v1
  The secret key       ${secretKey}    (a test key: for your server, never for a page)
  The control API      ${baseUrl}/sandbox
  The control token    ${controlToken}
  The inspector        ${inspectorUrl}    (opens it once)

It was ready after ${Math.round(performance.now())} ms. It keeps nothing after it stops. Ctrl-C stops it.`;
