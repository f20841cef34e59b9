// A shop's page in React, under StrictMode, which mounts every component twice during development.
import { createElement, StrictMode, useEffect, useState, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { createGuichet } from "guichet";

const service = new URLSearchParams(location.hash.slice(1)).get("service");
const guichet = createGuichet({ baseUrl: service, merchant: "/guichet" });
window.mounted = 0;
window.statuses = [];

function Account() {
  const state = useSyncExternalStore(guichet.session.subscribe, () => guichet.session.state);
  const button = (id, onClick) => createElement("button", { id, onClick }, id);
  return createElement("section", null,
    createElement("p", { id: "session" }, state),
    button("sign-in", () => guichet.session.renew()),
    button("sign-out", () => guichet.session.revoke()),
    button("pay", () => guichet.checkout({ order: { id: "17" } })));
}

function Returned() {
  const [shown, show] = useState();
  useEffect(() => {
    window.mounted++;
    const gone = new AbortController();
    const look = async () => {
      const back = await guichet.returned();
      if (!back) return show("no return");
      const { state } = await guichet.waitForOutcome(back, { signal: gone.signal, onStatus: (status) => statuses.push(status) });
      show(`${back.match} ${state}`);
    };
    look().catch((error) => gone.signal.aborted || show(String(error)));
    return () => gone.abort();
  }, []);
  return createElement("p", { id: "outcome" }, shown);
}

const page = createElement(StrictMode, null, createElement(Account), createElement(Returned));
createRoot(document.querySelector("#shown")).render(page);
