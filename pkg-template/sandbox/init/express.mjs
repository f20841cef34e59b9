// Starts the payment service and the shop. Ctrl-C stops both.
import { start } from "./guichet-sandbox/init/start.js";

start(() => ({ serve: [process.execPath, "server.mjs"] }));
