// `guichet-sandbox check`: tests a shop from outside, and names the rules that it breaks. The rules and their reports are in the wasm.
import { listenOn } from "./check.js";
import { CheckArguments, checkHelp } from "./core/guichet_sandbox.js";
import { Machine } from "./machine.js";
import { load } from "./service.js";
import { address, CommandError, parse, print, profileIn } from "./terminal.js";

const [NOT_RUN, USAGE] = [3, 4];

/** Checks a shop. Its arguments are those of `guichet check`. */
export async function check(args) {
  load();
  const { help, listen, profile, json, ...given } = read(args);
  if (help) return print(`${HELP}\n\n${checkHelp()}`);
  const checkArguments = readArguments(given);
  const service = await listenOn({ ...usage(() => address(listen)), profile: usage(() => profileIn(profile)) }).catch(({ message }) => {
    throw new CommandError(NOT_RUN, message);
  });
  const shopCheck = service.wasm.check(checkArguments, new Machine());
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop(NOT_RUN, "The check was stopped."));
  print(service.wasm.instructions(json));
  if (!json) print(shopCheck.waiting());
  try {
    await shopCheck.shopIsReady();
  } catch (why) {
    return stop(NOT_RUN, why);
  }
  for (let line; (line = shopCheck.progress()) !== undefined; ) {
    if (!json && process.stderr.isTTY) process.stderr.write(`${line}\n`);
    const report = await shopCheck.next();
    if (!json) print(report);
  }
  // Connections of the shop may be open: it is not waited for.
  print(json ? shopCheck.json() : shopCheck.summary(), () => process.exit(shopCheck.exitCode));
}

function readArguments(given) {
  try {
    return CheckArguments.read(JSON.stringify(given));
  } catch (why) {
    throw new CommandError(USAGE, `${why}. --help lists the options.`);
  }
}

/** Ends the command before the check has ended. */
function stop(exitCode, why) {
  process.stderr.write(`guichet-sandbox: ${why}\n`, () => process.exit(exitCode));
}

const HELP = `\
Test a shop's payments from outside, and name the rules that it breaks

Usage: guichet-sandbox check [OPTIONS] <--order <JSON>|--order-pattern <JSON>> <URL>

  <URL>                       The shop's address. A path is that of the three routes; default: /guichet

      --order <JSON>          An order of the customer that is not paid yet, as the page sends it. May be repeated
      --order-pattern <JSON>  Orders of the customer that are all new, with a number from 1 in place of %d: {"id":"N-%d"}
      --login <REQUEST>       The request that signs the customer in; the second one, another customer
      --guests                The shop also sells to customers without a login
      --page-origin <ORIGIN>  The origin of the shop's page, if it is another one than the shop's address: https://shop.example
      --page <PATH>           The page that a customer opens first; it sets the cookies [default: /]
      --csrf <COOKIE=HEADER>  The cookie of the CSRF token and the header that carries it: csrftoken=X-CSRFToken
      --orders <CMD>          A command that prints what the shop did with an order; see below
      --restart <CMD>         A command that restarts the shop
      --settle <CMD>          A command that settles payments once, as cron runs it; without it the shop has a timer
      --reprice <CMD>         A command that changes the price of what the customer orders
      --log <FILE>            A file to which the shop writes its log; no secret may be in it. May be repeated
      --limit <SECONDS>       The seconds in which a payment must be settled, and a command of yours must end [default: 60]
      --timeout <SECONDS>     The seconds in which the shop must answer a request [default: 60]
      --wait <SECONDS>        How many seconds to wait for the shop at the start [default: 300]
      --only <RULE>           Check only this rule, or this group of rules. May be repeated
      --profile <FILE>        The profile of your payment company (service.json): the check's service then reads, finds and
                              cancels payments as it says
      --listen <ADDRESS>      The address of the service that the shop calls; port 0 takes a free port [default: 127.0.0.1:4243]
      --json                  Print two lines of JSON: the service's address and key, and the report
  -h, --help                  Print this help`;

const TEXT = { type: "string" };
const TEXTS = { type: "string", multiple: true };
const FLAG = { type: "boolean", default: false };
const OPTIONS = {
  order: TEXTS,
  "order-pattern": TEXT,
  login: TEXTS,
  guests: FLAG,
  "page-origin": TEXT,
  page: TEXT,
  csrf: TEXT,
  orders: TEXT,
  restart: TEXT,
  settle: TEXT,
  reprice: TEXT,
  log: TEXTS,
  limit: TEXT,
  timeout: TEXT,
  wait: TEXT,
  only: TEXTS,
  profile: TEXT,
  listen: { type: "string", default: "127.0.0.1:4243" },
  json: FLAG,
  help: { type: "boolean", short: "h" },
};

function read(args) {
  const { values, positionals } = usage(() => parse(args, OPTIONS, "guichet check", {}, true));
  const [shop, extra] = positionals;
  if (extra !== undefined) throw new CommandError(USAGE, `unexpected argument '${extra}'. --help lists the options.`);
  if (shop === undefined && !values.help) {
    throw new CommandError(USAGE, "Missing argument <URL>: the shop's address, for example http://127.0.0.1:8000. --help lists the options.");
  }
  return { ...values, shop };
}

/** Invalid arguments have another exit code here: 2 says that some rules were not checked. */
function usage(read) {
  try {
    return read();
  } catch (e) {
    if (e instanceof CommandError) e.exitCode = USAGE;
    throw e;
  }
}
