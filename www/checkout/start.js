// Replaces the page's HTML, which needs no script, by the page that checkout.js draws: once everything is loaded and the payment was
// read, so that the forms work until then, and go on working where something is blocked.

// What checkout.js imports, loaded in parallel. A test compares them.
const MODULES = [
  "checkout.js", "fields.js", "view.js", "package/hosted.js", "package/hosted-words.js", "package/arguments.js", "package/calls.js",
  "package/core/guichet_hosted.js", "package/load.js", "package/page.js", "package/error.js", "package/words.js",
];
const WASM = "package/core/guichet_hosted_bg.wasm";
// How long the server takes it that the script runs, in seconds, and how often this is renewed.
const RUNS = 60;
const RENEWED_MS = 20_000;

const address = (file) => new URL(file, import.meta.url).href;
const secret = new URLSearchParams(location.hash.slice(1)).get("client_secret");

if (secret) {
  // A link of the old form. The server keeps the secret in a cookie, and the history gets the address without it.
  const query = new URLSearchParams(location.search);
  query.set("client_secret", secret);
  location.replace(`${location.pathname}?${query}`);
} else if (document.getElementById("payment")) {
  await drawOver();
}

async function drawOver() {
  const plain = [...document.body.children];
  const typed = () => plain.flatMap((part) => [...part.querySelectorAll("input:not([type=hidden], [type=radio])")]).filter(({ value }) => value);
  let isSent = false;
  addEventListener("submit", (event) => {
    isSent ||= plain.some((part) => part.contains(event.target));
  });

  for (const file of MODULES) preload({ rel: "modulepreload", href: address(file) });
  preload({ rel: "preload", href: address(WASM), as: "fetch", type: "application/wasm", crossOrigin: "anonymous" });
  const text = await (await fetch(address("page.html"))).text();
  const drawn = document.createElement("div");
  drawn.hidden = true;
  drawn.append(...new DOMParser().parseFromString(text, "text/html").body.children);
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
    sayThatItRuns();
    setInterval(sayThatItRuns, RENEWED_MS);
  }).observe(status, { attributeFilter: ["data-status"] });
  await import("./checkout.js");
}

function preload(link) {
  document.head.append(Object.assign(document.createElement("link"), link));
}

/** Without this cookie the server sends a page that waits by reloading itself. */
function sayThatItRuns() {
  document.cookie = `guichet_script=1; Path=${location.pathname}; Max-Age=${RUNS}; SameSite=Lax`;
}
