// Shows the view that `data-view` names, or hydrates the page if it holds what a server has rendered.
import { createApp, createSSRApp } from "vue";
import { createPage, requests } from "./views.js";

window.requests = requests;
window.warnings = [];
for (const level of ["error", "warn"]) {
  const log = console[level];
  console[level] = (...words) => (warnings.push(words.map(String).join(" ")), log(...words));
}
const root = document.querySelector("#root");
createPage(document.documentElement.dataset.view, root.hasChildNodes() ? createSSRApp : createApp).mount(root);
