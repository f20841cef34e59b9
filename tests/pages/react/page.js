// Shows the view that `data-view` names, or hydrates the page if it holds what a server has rendered: then only when a test calls
// `hydrate()`, if another root shows the view of `data-before` first.
import { createElement } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { Page, requests } from "./views.js";

window.requests = requests;
window.warnings = [];
for (const level of ["error", "warn"]) {
  const log = console[level];
  console[level] = (...words) => (warnings.push(words.map(String).join(" ")), log(...words));
}
const root = document.querySelector("#root");
const { view, before } = document.documentElement.dataset;
const page = createElement(Page, { view });
window.hydrate = () => hydrateRoot(root, page, { onRecoverableError: (error) => warnings.push(String(error)) });
if (before) createRoot(document.querySelector("#before")).render(createElement(Page, { view: before }));
else if (root.hasChildNodes()) hydrate();
else createRoot(root).render(page);
