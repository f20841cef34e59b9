// Makes the hosted checkout page better, and decides nothing: the service renders every state, and its forms pay.
//
// A form is sent by `fetch`, and the parts of the reply's `main` take the place of those on the page: waiting needs no reload. If no
// reply comes, the same form is sent again; its version lets it change nothing twice. What is typed is hinted at here and judged by the
// service. Nothing here knows a country, an operator or a language: they stand in the page's data attributes.

// Seconds: how long one request may take, and for how long a form is repeated before the page is only read.
const TIMEOUT = 30;
const REPEATED_FOR = 120;
const UNSENT_READS = 10;
// Milliseconds: the first pause after a lost reply, and the longest.
const PAUSES = [1_000, 20_000];

const main = () => document.querySelector("main[data-page]");
const part = (name) => main().querySelector(`[data-part="${name}"]`);
const policy = globalThis.trustedTypes?.createPolicy("guichet-page", { createHTML: (text) => text });

let address = location.pathname + location.search; // of what is shown
let busy = false; // a form is under way
// A customer who comes back, reloads, or finds the payment paid in another tab stays; one who has just paid is led to the shop.
let mayLeave = !["reload", "back_forward"].includes(performance.getEntriesByType("navigation")[0]?.type);
let reading = false;
let wanted; // the address of a link that was clicked
let typed = {}; // the last phone, its operator, and the operator of its prefix: another attempt begins with them
const drawn = new Map(); // the parts as the service sent them
let readsNext; // timers
let leavesNext;

window.guichetRuns = true; // a waiting page without this loads itself again
const secret = new URLSearchParams(location.hash.slice(1)).get("client_secret");
if (secret) {
  // A link of the old form: the service keeps the secret in a cookie, and the history gets the address without it.
  const query = new URLSearchParams(location.search);
  query.set("client_secret", secret);
  location.replace(`${location.pathname}?${query}`);
} else {
  for (const part of main().querySelectorAll("[data-part]")) drawn.set(part.dataset.part, part.outerHTML);
  followIssuer();
  enhance();
  follow();
}

/** Sends a form until a reply comes. A second click has no effect. */
async function send(form, button) {
  if (busy) return;
  busy = true;
  mayLeave = true;
  const body = new URLSearchParams(new FormData(form));
  if (button?.name) body.append(button.name, button.value);
  const to = form.getAttribute("action"); // a button's name hides the property
  const begun = performance.now();
  const isRepeated = () => performance.now() - begun < REPEATED_FOR * 1_000;
  say({ cancel: "canceling", abandon: "abandoning" }[form.dataset.form] ?? "sending");
  let reply = await ask(to, { method: "POST", body });
  for (let pause = PAUSES[0]; !reply; pause = Math.min(2 * pause, PAUSES[1])) {
    say("uncertain");
    await news(pause);
    reply = await (isRepeated() ? ask(to, { method: "POST", body }) : ask(address));
  }
  busy = false;
  if (button?.dataset.then === "phone") typed = {};
  const isUnsent = !isRepeated() && reply.status === 200 && reply.page.querySelector(`input[name=version][value="${body.get("version")}"]`);
  if (reply.redirected) address = reply.address; // the page of a refused form has the form's own
  show(reply, { hasActed: true, next: button?.dataset.then });
  if (isUnsent) {
    say("unsent", { isOver: true });
    main().dataset.reads = UNSENT_READS; // it may still arrive
    follow();
  }
  if (wanted) read();
}

/** Reads the page again. There is one read at a time, and none in a hidden tab or while a form is under way. */
async function read() {
  if (busy || reading || (document.hidden && !wanted)) return;
  reading = true;
  const clicked = wanted;
  const reply = await ask(clicked ?? address);
  reading = false;
  if (busy) return;
  if (wanted !== clicked) return read();
  wanted = undefined;
  if (!reply) return clicked ? location.assign(clicked) : follow();
  address = reply.address;
  show(reply, { hasActed: Boolean(clicked) });
}

/** A page of this payment's service: its document and headers. Nothing, if none came: a lost reply, a proxy's page, a captive portal. */
async function ask(from, options) {
  const aborts = new AbortController();
  const timer = setTimeout(() => aborts.abort(), TIMEOUT * 1_000);
  try {
    const reply = await fetch(from, { ...options, cache: "no-store", signal: aborts.signal });
    const text = await reply.text();
    if (reply.status >= 500 || reply.status === 429) return undefined;
    const page = new DOMParser().parseFromString(policy?.createHTML(text) ?? text, "text/html");
    const { pathname, search } = new URL(reply.url);
    const { status, headers, redirected } = reply;
    return page.querySelector("main[data-page]") && { page, status, headers, redirected, address: pathname + search };
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Waits, at most so long, until there may be news, and then for a visible tab. */
async function news(pause) {
  await new Promise((done) => {
    setTimeout(done, pause);
    addEventListener("online", done, { once: true });
  });
  while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

/** Shows a page. `hasActed`: the customer asked for it. `next`: the id of the field that they fill in next. */
function show({ page, status, headers }, { hasActed, next }) {
  const [shown, fresh] = [main(), page.querySelector("main[data-page]")];
  if (!fresh.dataset.payment) return showTrouble(fresh, hasActed);
  const isOther = ["page", "payment"].some((name) => fresh.dataset[name] !== shown.dataset[name]);
  if (isOther) return location.replace(address);
  const [before, after] = [shown, fresh].map(({ dataset }) => Number(dataset.revision));
  const [beforeAt, afterAt] = [shown, fresh].map(({ dataset }) => Number(dataset.asOf));
  const isOutdated = after < before || (!hasActed && after === before && afterAt < beforeAt);
  if (isOutdated) {
    readsNext = setTimeout(read, PAUSES[0]);
    return;
  }
  if (!hasActed && after !== before && part("pay").querySelector("input")) mayLeave = false;
  const isSame = after === before && page.documentElement.lang === document.documentElement.lang;
  const focused = document.activeElement;
  shown.dataset.revision = fresh.dataset.revision;
  shown.dataset.asOf = fresh.dataset.asOf;
  const isUnsent = !hasActed && after === before && part("status").dataset.status === "unsent";
  shown.dataset.reads = isUnsent ? UNSENT_READS : (fresh.dataset.reads ?? "");
  shown.toggleAttribute("data-receipt", "receipt" in fresh.dataset);
  for (const newer of fresh.querySelectorAll("[data-part]")) {
    const [name, html] = [newer.dataset.part, newer.outerHTML];
    // What a customer types stays under their fingers: a read of the same revision leaves the forms alone.
    const stays = !hasActed && isSame && [part(name), newer].every((of) => of.querySelector("input:not([type=hidden])"));
    if (stays || drawn.get(name) === html || (isUnsent && name === "status")) continue;
    replace(part(name), newer, after !== before);
    drawn.set(name, html);
  }
  shown.classList.remove("busy");
  if (!isSame) translate(page);
  document.title = page.title;
  for (const input of isSame ? [] : main().querySelectorAll("input[data-hint]")) check(input);
  followIssuer(headers.get("guichet-issuer"));
  enhance();
  announce();
  refocus(focused, status === 422 ? main().querySelector("[aria-invalid]") : document.getElementById(next ?? ""), hasActed);
  follow();
}

/** Puts a part in the place of an older one. What was typed stays, but for what is typed once. */
function replace(older, newer, isNew) {
  const part = document.importNode(newer, true);
  for (const script of part.querySelectorAll("script")) script.remove();
  const phone = older.querySelector("[data-dial]");
  if (phone) typed = { phone: phone.value, guessed: phone.dataset.guessed, operator: operatorOf(phone) };
  for (const to of part.querySelectorAll("[data-dial]")) {
    to.value = to.value || (typed.phone ?? "");
    to.dataset.guessed = typed.guessed ?? "";
    for (const radio of to.form.operator ?? []) if (radio.value === typed.operator && !radio.disabled) radio.checked = true;
  }
  for (const from of older.querySelectorAll("input[id]")) {
    const to = part.querySelector(`[id="${CSS.escape(from.id)}"]`);
    if (!to) continue;
    if (from.type === "radio") to.checked ||= from.name === "method" && from.checked && !to.disabled;
    else if (!(isNew && "once" in from.dataset)) to.value = to.value || from.value;
  }
  older.replaceWith(part);
}

const operatorOf = ({ form }) => form.querySelector("[name=operator]:checked")?.value;

/** Shows a page that is of no payment: a request that failed, or a cookie that is over. What is shown of the payment stays. */
function showTrouble(fresh, hasActed) {
  const status = fresh.querySelector("#status");
  if (hasActed && status.dataset.status !== "trouble") return location.replace(address);
  main().dataset.reads = "";
  if (!hasActed) return undefined;
  draw(document.importNode(status, true), false);
}

/** Shows the texts around `main` in the page's language. */
function translate(page) {
  document.documentElement.lang = page.documentElement.lang;
  for (const css of ["header", "template"]) {
    const [old, fresh] = [document, page].map((of) => [...of.querySelectorAll(css)]);
    old.forEach((element, at) => fresh[at] && element.replaceWith(document.importNode(fresh[at], true)));
  }
}

/** Shows a state between a form and its reply, or that the form did not arrive. */
function say(name, { isOver = false } = {}) {
  if (part("status").dataset.status === name) return;
  draw(document.querySelector(`template[data-says="${name}"]`).content.cloneNode(true), !isOver);
}

function draw(status, isBusy) {
  part("status").replaceWith(status);
  drawn.delete("status");
  main().classList.toggle("busy", isBusy);
  document.title = part("status").querySelector("h1, h2").textContent;
  announce();
  part("status").focus();
}

let announced = part("status").innerText;

/** Lets a screen reader read what has changed. */
function announce() {
  const text = part("status").innerText;
  if (text !== announced) document.getElementById("news").textContent = text;
  announced = text;
}

/** Moves the focus to what is to be filled in, otherwise to where it was, otherwise to the status. */
function refocus(focused, next, hasActed) {
  const wasLost = !focused.isConnected || (hasActed && focused === document.body);
  const same = focused.id && document.getElementById(focused.id);
  if (next) next.focus();
  else if (wasLost) (same || part("status")).focus();
}

/** The address of the issuer is that of the header, if there is one, and https, or of this very service. */
function followIssuer(issuer) {
  const link = main().querySelector("[data-issuer]");
  if (!link) return;
  link.href = issuer ?? link.href;
  if (link.protocol !== "https:" && link.origin !== location.origin) link.remove();
}

/** Reads again when the page says so, and leaves for the shop when it says so. */
function follow() {
  clearTimeout(readsNext);
  clearTimeout(leavesNext);
  const { reads } = main().dataset;
  if (reads) readsNext = setTimeout(read, Number(reads) * 1_000);
  const shop = main().querySelector("[data-leaves]");
  if (shop && mayLeave) leavesNext = setTimeout(() => location.replace(shop.href), Number(shop.dataset.leaves) * 1_000);
  for (const of of main().querySelectorAll("[data-stay], [data-leaving]")) of.hidden = !mayLeave;
}

/** Prepares the parts that have come. */
function enhance() {
  for (const scripted of main().querySelectorAll("[data-scripted]")) scripted.hidden = false;
  for (const input of main().querySelectorAll("[data-dial]")) guess(input);
  price();
}

/** Names the price of the method that is chosen. */
function price() {
  const chosen = main().querySelector("[name=method]:checked");
  if (!chosen) return;
  const amount = document.getElementById("amount");
  amount.textContent = chosen.dataset.amount;
  amount.dataset.width = chosen.dataset.width;
  document.getElementById("fee").textContent = chosen.dataset.fee;
}

/** Checks the operator of the number's prefix. The customer's own choice stays until the guess changes: numbers can be ported. */
function guess(phone) {
  const digits = phone.value.replace(/\D/g, "");
  const number = digits.startsWith(phone.dataset.dial) ? digits.slice(phone.dataset.dial.length) : digits;
  const operators = [...phone.form.querySelectorAll("[data-prefixes]")];
  const begins = ({ dataset }) => dataset.prefixes.split(",").some((prefix) => number.startsWith(prefix));
  const found = number.length > phone.dataset.national ? undefined : operators.find(begins);
  const code = found?.value ?? "";
  const offered = phone.form.querySelector(`[name=operator][value="${found?.disabled ? "" : code}"]`);
  if (code !== (phone.dataset.guessed ?? "")) offered.checked = true;
  phone.dataset.guessed = code;
  if (found?.disabled && offered.checked) hint(phone, phone.dataset.closed);
}

function hint(input, text) {
  document.getElementById(`${input.id}-wrong`).textContent = text;
  if (text) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/** Hints at a number that has too few or too many digits. Another field may have taken its place since. */
function check(input) {
  if (!input.isConnected) return;
  const [fewest, most] = (input.dataset.digits ?? "0-99").split("-").map(Number);
  const digits = input.value.match(/\p{Nd}/gu)?.length ?? 0;
  if (input.value && (digits < fewest || digits > most)) hint(input, input.dataset.hint);
}

document.addEventListener("submit", (event) => {
  if (!event.target.dataset.form) return;
  event.preventDefault();
  send(event.target, event.submitter ?? event.target.querySelector("[name=action]"));
});
document.addEventListener("input", ({ target, isComposing }) => {
  if (target.name === "method") return price();
  if (!target.dataset.hint) return;
  hint(target, "");
  if (target.dataset.dial) guess(target);
  // Groups digits only while the caret is at the end: it must not jump during a correction.
  const isAtEnd = target.selectionStart === target.value.length;
  if ("fours" in target.dataset && isAtEnd && !isComposing) target.value = inFours(target.value);
});
// A hint moves what is below it: not between a press and its release.
document.addEventListener("change", ({ target }) => target.dataset.hint && setTimeout(check, 400, target));
document.addEventListener("click", (event) => {
  const on = (css) => event.target.closest?.(css);
  const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
  const link = on("a[data-swap]");
  if (link && isPlain) {
    event.preventDefault();
    wanted = link.pathname + link.search;
    read();
  }
  // The back button then leads to the shop's page before this one.
  const leaves = on("a[data-leave]");
  if (leaves && isPlain) {
    event.preventDefault();
    location.replace(leaves.href);
  }
  if (on("[data-stay], [data-print]")) {
    mayLeave = false;
    follow();
  }
  if (on("[data-print]")) print();
  for (const [id, value] of new URLSearchParams(on("[data-fill]")?.dataset.fill)) {
    const input = document.getElementById(id);
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
});
document.addEventListener("visibilitychange", read);
addEventListener("pageshow", ({ persisted }) => persisted && read());
// A browser may keep this page with its fields for the back button.
addEventListener("pagehide", () => {
  for (const input of main().querySelectorAll("input[data-hint]")) input.value = "";
});

function inFours(text) {
  const digits = text.replace(/\D/g, "");
  return /^[\d -]*$/.test(text) ? digits.replace(/(\d{4})(?=\d)/g, "$1 ") : text;
}
