// The inspector: the list of purchases, live, and one purchase as one thread. It only uses the control API.
import { begin, call, code, commandAt, el, pill } from "./api.js";
import { inWords, shopsWords, thread, twice } from "./thread.js";
import { copy, tools } from "./tools.js";
import { ago, amount, date, language, setLanguage, time, word } from "./words.js";

const $ = (id) => document.getElementById(id);
/** How long typing has to pause before a search, and how long a lost connection is left alone. */
const [TYPING_MS, RETRY_MS] = [200, 2_000];
/** How long the page waits between two readings: a test may change much at once. */
const PAUSE_MS = 100;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** The longest time until a due change for which the page waits. */
const LONGEST_TIMER = 24 * 60 * 60;

/** The most entries of a thread that the control API reads. Without a limit it reads the newest: more would make each drawing slow. */
const ALL = 2_000;

const state = { now: 0, purchases: [], refused: [], due: [], operators: [], faults: [], next: null, shown: undefined, limit: undefined };
let drawn = {};
let timer;

/** The payment in the address; undefined for the list alone. */
function named() {
  const [, , payment] = location.pathname.split("/");
  return payment ? decodeURIComponent(payment) : undefined;
}

/** Reads everything that is shown, and draws what has changed. One reading at a time. */
let reading;
let isStale = false;
function refresh() {
  isStale = true;
  reading ??= (async () => {
    while (isStale) {
      isStale = false;
      await read().then(() => trouble(), trouble);
      if (isStale) await pause(PAUSE_MS);
    }
    reading = undefined;
  })();
  return reading;
}

async function read() {
  const payment = named();
  const search = $("searched").value.trim();
  const [list, all, waiting, shown] = await Promise.all([
    call("GET", "purchases", { search }),
    search && call("GET", "purchases"),
    call("GET", "faults"),
    payment && call("GET", "thread", { payment, limit: state.limit }).catch((error) => {
      if (error.status !== 404) throw error;
      return null;
    }),
  ]);
  const older = state.search === $("searched").value && state.pages > 1 ? state.purchases.filter(({ id }) => !list.purchases.some((one) => one.id === id)) : [];
  const isMore = older.length > 0;
  Object.assign(state, {
    now: list.now, behind: Date.now() / 1000 - list.now, refused: list.refused, hasAny: (all || list).purchases.length > 0, operators: list.operators, purchases: [...list.purchases, ...older], faults: waiting.faults, shown, search: $("searched").value,
    next: isMore ? state.next : list.next_cursor, pages: isMore ? state.pages : 1,
  });
  if (payment !== named()) return;
  // What is due does not depend on the search.
  state.due = [...state.purchases, ...(all ? all.purchases : []), shown?.purchase].map((one) => one?.due).filter(Boolean);
  draw();
  const due = state.due.map(({ at }) => at - list.now).filter((seconds) => seconds >= 0 && seconds < LONGEST_TIMER);
  clearTimeout(timer);
  if (due.length) timer = setTimeout(refresh, Math.min(...due) * 1000 + 1000);
}

/** What went wrong, or nothing. */
function trouble(error) {
  const isLoggedOut = error?.status === 401;
  $("problem").hidden = !error;
  $("problem").replaceChildren(...(error ? [isLoggedOut ? word("logged_out") : `${word("trouble")} ${error.message}`, ...(isLoggedOut ? [" ", el("code", {}, commandAt("inspector"))] : [])] : []));
  if (isLoggedOut) for (const id of ["side", "thread"]) $(id).hidden = true;
}

function draw() {
  $("side").hidden = false;
  document.body.dataset.view = named() ? "thread" : "list";
  $("none").hidden = state.purchases.length > 0;
  $("none").textContent = state.hasAny ? word("no_match", { search: state.search }) : word("none");
  $("refused").hidden = state.refused.length === 0;
  $("older").hidden = !state.next;
  const id = state.shown?.purchase.id;
  replace("list", [state.purchases, id], () => state.purchases.map((purchase) => entry(purchase, purchase.id === id)));
  replace("refused", [state.refused, date(state.now)], () => [el("h2", {}, word("refused")), el("ul", {}, state.refused.map(refused))]);
  replace("tools", [state.faults, state.operators, state.due, date(state.now), Math.floor(state.now / 60)], () => tools(state, act));
  $("thread").hidden = !named();
  const missing = () => [el("a", { href: `/inspector${location.search}`, class: "back", "data-list": true }, `← ${word("purchases")}`), el("h1", { id: "title" }, word("not_found"))];
  replace("thread", [named(), state.shown], () => (state.shown ? [...thread(state.shown, state.operators, act, more), ...copy(state.shown, ALL, say)] : missing()));
  const title = state.shown?.purchase.merchant_reference;
  document.title = title ? `${title} · guichet` : word("title");
}

function more() {
  state.limit = ALL;
  return refresh();
}

/** Draws a part again if what it shows has changed. What was focused, opened or chosen there stays so. */
function replace(id, shows, make) {
  const key = JSON.stringify([shows, language()]);
  if (drawn[id] === key) return;
  drawn[id] = key;
  const part = $(id);
  const [focused, isInside] = [document.activeElement?.id, part.contains(document.activeElement)];
  const open = [...part.querySelectorAll("details[open]")].map((one) => one.id);
  const typed = [...part.querySelectorAll("select, input")].map((one) => [one.id, one.value]);
  part.replaceChildren(...make().flat().filter(Boolean));
  for (const one of open) $(one)?.setAttribute("open", "");
  for (const [one, value] of typed) if ($(one)) $(one).value = value;
  for (const select of part.querySelectorAll("select")) select.dispatchEvent(new Event("change"));
  if (isInside && focused) ($(focused) ?? part).focus();
}

function redraw() {
  drawn = {};
  draw();
}

/** When something was: with the day if it was another one. */
const when = (at) => (date(at) === date(state.now) ? time(at) : `${date(at)} ${time(at)}`);

/** A call that was refused. */
const refused = ({ at, operation, status, error, reference }) =>
  el("li", {}, el("span", { class: "soft" }, when(at)), " ", code(operation), ` → ${status ?? word("no_response")} `, el("span", { class: "bad" }, code(error)), reference ? el("span", {}, ` · ${reference}`) : "");

function entry({ id, merchant_reference: reference, customer, status, reported, differs, created_at, duplicates, ...purchase }, isShown) {
  return el("li", {}, el("a", { href: `/inspector/${encodeURIComponent(id)}${location.search}`, id: `to-${id}`, "aria-current": isShown && "true", "data-differs": differs },
    el("b", {}, reference), el("span", { class: "sum" }, amount(purchase)),
    el("span", { class: "soft" }, customer), el("span", { class: "soft" }, [purchase.operator, when(created_at)].filter(Boolean).join(" · ")),
    el("span", {}, pill(status), el("span", { class: "means" }, ` ${inWords({ ...purchase, status })}${status === "processing" ? ` · ${shopsWords(status)}` : ""}`), twice(duplicates)),
    differs ? el("span", { class: "bad" }, `≠ ${word("shop_knows")} `, reported ? pill(reported.status, "bad") : word("nothing_reported")) : ""));
}

/** Does something by the control API, and reads again. */
async function act(work) {
  try {
    await work();
    say(word("done"));
  } catch (error) {
    return trouble(error);
  }
  await refresh();
}

function say(text) {
  $("announced").textContent = text;
}

/** Goes to an address of the inspector without loading the page again. */
async function go(href) {
  history.pushState(null, "", href);
  state.shown = state.limit = undefined;
  await refresh();
  (named() ? $("thread") : document.querySelector("#list a"))?.focus();
}

async function watch() {
  for (let after; ; ) {
    try {
      const { changes } = await call("GET", "changes", { after });
      if (changes !== after) refresh();
      after = changes;
    } catch (error) {
      if (error.status === 401) return trouble(error);
      trouble(error);
      after = undefined;
      await pause(RETRY_MS);
    }
    if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}

function translate() {
  document.documentElement.lang = language();
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
  for (const one of document.querySelectorAll("[data-language]")) one.setAttribute("aria-pressed", one.dataset.language === language());
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/inspector']");
  const isPlain = link && !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
  if (isPlain) {
    event.preventDefault();
    go(link.getAttribute("href"));
  }
  const chosen = event.target.closest("[data-language]");
  if (chosen) {
    setLanguage(chosen.dataset.language);
    translate();
    if (!$("side").hidden) redraw();
  }
});
addEventListener("popstate", refresh);
let typing;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(refresh, TYPING_MS);
});
$("search").addEventListener("submit", (event) => event.preventDefault());
$("older").addEventListener("click", async () => {
  const { purchases, next_cursor } = await call("GET", "purchases", { search: state.search.trim(), starting_after: state.next });
  state.purchases = [...state.purchases, ...purchases];
  Object.assign(state, { next: next_cursor, pages: state.pages + 1 });
  draw();
});

setInterval(() => {
  for (const one of document.querySelectorAll("[data-since]")) one.textContent = ago(Date.now() / 1000 - state.behind - one.dataset.since);
}, 1000);

translate();
await begin().catch(trouble);
watch();
