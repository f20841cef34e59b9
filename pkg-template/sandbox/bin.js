#!/usr/bin/env node
import { run } from "./command.js";

await run(process.argv.slice(2));
