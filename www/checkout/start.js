// Replaces the page's HTML, which needs no script, by the page that checkout.js draws: once everything is loaded and the payment was
// read, so that the forms work until then, and go on working where something is blocked.

const plain = [...document.body.children];
const typed = () => plain.flatMap((part) => [...part.querySelectorAll("input:not([type=hidden], [type=radio])")]).filter(({ value }) => value);
let isSent = false;
addEventListener("submit", (event) => {
  isSent ||= plain.some((part) => part.contains(event.target));
});

const text = await (await fetch(new URL("./index.html", import.meta.url))).text();
const page = new DOMParser().parseFromString(text, "text/html");
// What checkout.js imports is loaded in parallel.
document.head.append(...page.querySelectorAll("link[rel$=preload]"));
const drawn = document.createElement("div");
drawn.hidden = true;
drawn.append(...page.body.children);
// First in the document: its elements are found by their ids.
document.body.prepend(drawn);
const status = document.getElementById("status");
new MutationObserver((_, observer) => {
  const { status: name } = status.dataset;
  if (name === "loading") return;
  observer.disconnect();
  // What failed to load may be blocked for good. What was typed of a card is not typed twice.
  const kept = typed();
  if (isSent || ["trouble", "link_wrong"].includes(name) || kept.some(({ name }) => name !== "phone")) return drawn.remove();
  const focused = document.activeElement;
  drawn.replaceWith(...drawn.childNodes);
  plain.forEach((part) => part.remove());
  const phone = document.getElementById("phone");
  for (const { value } of kept) {
    phone.value = value;
    phone.dispatchEvent(new Event("input", { bubbles: true }));
  }
  if (kept.includes(focused)) phone.focus();
}).observe(status, { attributeFilter: ["data-status"] });
await import("./checkout.js");
