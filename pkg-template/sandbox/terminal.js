// What the commands share: their arguments, their errors and stdout.
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { parseArgs } from "node:util";

/** Writes to stdout. If nothing can read it, no one would learn the address: the command ends. */
export function print(text, written) {
  if (process.stdout.listenerCount("error", cannotPrint) === 0) process.stdout.on("error", cannotPrint);
  process.stdout.write(`${text}\n`, (e) => e || written?.());
}

function cannotPrint({ code }) {
  console.error(`guichet-sandbox: stdout cannot be written (${code}): its reader has gone, or its disk is full. The command has stopped.`);
  process.exit(1);
}

/** Invalid arguments (2), or what this machine cannot do (1). */
export class CommandError extends Error {
  constructor(exitCode, message) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Reads arguments. `ofTheBinary` are options that only the binary's command has, with what they are for. */
export function parse(args, options, command, ofTheBinary, allowPositionals = false) {
  try {
    return parseArgs({ args, options, allowPositionals });
  } catch (e) {
    const [, name] = /^Unknown option '--([^']+)'/.exec(e.message) ?? [];
    const needed = ofTheBinary[name];
    throw new CommandError(2, needed ? `--${name}: for ${needed}, use the binary: ${command} --${name} …` : `${e.message.split(". ")[0]}. --help lists the options.`);
  }
}

/** Reads the profile in the file of `--profile`, if that is given. */
export function profileIn(file) {
  if (file === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (e) {
    throw new CommandError(2, `invalid value '${file}' for '--profile <FILE>': ${e.message}`);
  }
}

/** Reads an IP address with a port, the value of an option. */
export function address(text, option = "listen") {
  const [, v6, v4, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  const port = Number(digits);
  if (isIP(v6 ?? v4) === (v6 ? 6 : 4) && port < 65_536) return { host: v6 ?? v4, port };
  const [, given] = /^(?:.*:)?(\d+)$/.exec(text) ?? [];
  throw new CommandError(2, `invalid value '${text}' for '--${option} <ADDRESS>': the option takes an address with a port, for example 127.0.0.1:${given < 65_536 ? given : 4243}`);
}
