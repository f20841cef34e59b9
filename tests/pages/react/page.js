// Shows the view that `data-view` names, or hydrates the page if it holds what a server has rendered.
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
const page = createElement(Page, { view: document.documentElement.dataset.view });
if (root.hasChildNodes()) hydrateRoot(root, page, { onRecoverableError: (error) => warnings.push(String(error)) });
else createRoot(root).render(page);
