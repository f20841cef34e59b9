// Starts the payment service and the shop. Ctrl-C stops both.
import { start } from "./guichet-sandbox/init/start.js";

const next = "node_modules/next/dist/bin/next";
start(({ hostname, port }) => ({ serve: [process.execPath, next, "dev", "-H", hostname, "-p", port] }), { url: "http://localhost:3000" });
