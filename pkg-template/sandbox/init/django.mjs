// Starts the payment service and the shop, and settles payments every few seconds. Ctrl-C stops all.
import { start } from "./guichet-sandbox/init/start.js";

const python = "venv/bin/python";
start(
  // Without its reloader: that would be a second process, which outlives the first.
  ({ host }) => ({ serve: [python, "shop.py", "runserver", "--noreload", host], settle: [python, "shop.py", "settle"] }),
  { needs: "Run: python3 -m venv venv && venv/bin/pip install -r requirements.txt" },
);
