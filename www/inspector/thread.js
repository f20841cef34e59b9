// One purchase as one thread: the money in one column, what was reported to its shop in the next.
import { code, el, pill } from "./api.js";
import { handset } from "./tools.js";
import { amount, date, time, word } from "./words.js";

/** The newest entries that are drawn at once: more would make each redrawing slow. */
const MOST = 400;
/** The entries that change no money. */
const STILL = new Set(["created", "handset", "page_opened"]);
let drawsAll = false;

export function thread(shown, act) {
  const { purchase, fields, entries } = shown;
  const { status, reported, duplicates, differs } = purchase;
  const rows = joined(entries);
  const hidden = drawsAll ? 0 : Math.max(0, rows.length - MOST);
  const all = () => {
    drawsAll = true;
    act();
  };
  return [
    el("a", { href: `/inspector${location.search}`, class: "back", "data-list": true }, `← ${word("purchases")}`),
    el("div", { class: "top" },
      el("div", { class: "facts" },
        el("h1", { id: "title" }, purchase.merchant_reference),
        el("p", { class: "amount" }, amount(purchase)),
        el("p", { class: "soft" }, [purchase.customer, purchase.email, purchase.phone].filter(Boolean).join(" · ")),
        el("dl", { class: "now", "data-differs": differs },
          el("div", {}, el("dt", {}, word("money")), el("dd", {}, pill(status), twice(duplicates))),
          el("div", {}, el("dt", {}, word("reported")), el("dd", {}, reported ? pill(reported.status) : word("nothing_reported"), twice(reported?.duplicates))),
        ),
        differs ? el("p", { class: "differs" }, `≠ ${word("differs")}`) : "",
      ),
      shown.handset ? handset(shown, act) : "",
    ),
    el("details", { id: "fields" }, el("summary", {}, word("fields", { n: fields.length })),
      el("dl", { class: "fields" }, fields.map(({ field, value, source }) => el("div", {},
        el("dt", {}, code(field), el("small", {}, word(source))), el("dd", {}, value))))),
    hidden ? el("button", { type: "button", id: "all", onclick: all }, word("earlier", { n: hidden })) : "",
    el("table", {},
      el("caption", {}, word("thread")),
      el("thead", {}, el("tr", {}, ["time", "money", "reported"].map((name) => el("th", { scope: "col" }, word(name))))),
      el("tbody", {}, drawn(rows).slice(hidden))),
  ];
}

/** How many duplicate payments there are, if any. */
export const twice = (n) => (n ? el("b", { class: "bad" }, ` ${word("paid_twice", { n })}`) : "");

/** The entries, with each run of equal requests as one: a page reads every few seconds. */
function joined(entries) {
  const key = ({ kind, by, operation, http_status, fault, reported }) => kind === "request" && operation.startsWith("read_") && [by, operation, http_status, fault, reported?.status, reported?.duplicates].join();
  return entries.reduce((rows, entry) => {
    const last = rows.at(-1);
    if (last && key(entry) && key(last) === key(entry)) last.times += 1;
    else rows.push({ ...entry, times: 1 });
    return rows;
  }, []);
}

/** The rows of the table. Each knows the status then, and what the shop knew. */
function drawn(rows) {
  let [status, duplicates, known, day] = ["requires_action", 0, undefined, ""];
  return rows.map((row) => {
    if (row.status) status = row.status;
    if (row.kind === "duplicate") duplicates += 1;
    const isShops = row.by === "shop";
    if (isShops && row.reported) known = row.reported;
    const differs = known ? known.status !== status || known.duplicates !== duplicates : status !== "requires_action";
    const today = date(row.at);
    const at = el("th", { scope: "row" }, el("time", {}, today === day ? "" : el("span", { class: "day" }, today), time(row.at)));
    day = today;
    const shop = isShops ? request(row) : row.by || STILL.has(row.kind) || !differs ? "" : [el("span", { class: "bad" }, `≠ ${known ? word("still") : word("nothing_reported")} `), known ? pill(known.status, "bad") : ""];
    return el("tr", { "data-kind": row.kind, "data-by": row.by, "data-differs": differs && (isShops || !row.by) && !STILL.has(row.kind) },
      at, el("td", {}, isShops ? "" : row.by ? request(row) : money(row)), el("td", {}, shop));
  });
}

function request({ by, operation, http_status, fault, reported, times }) {
  return [
    by === "customer" ? el("span", { class: "who" }, word("customer")) : "",
    code(operation), ` → ${http_status ?? word("no_response")} `,
    reported ? pill(reported.status) : "",
    twice(reported?.duplicates),
    fault ? el("b", { class: "fault" }, ` ${word("fault")} `, code(fault)) : "",
    times > 1 ? el("span", { class: "soft" }, ` × ${times}`) : "",
  ];
}

function money({ kind, status, attempt, reason, method, decision }) {
  if (kind === "created") return [word("created"), " ", pill(status)];
  if (kind === "page_opened") return [el("span", { class: "who" }, word("customer")), word("page_opened")];
  if (kind === "handset") return [el("span", { class: "who" }, word("phone")), word("decided", { n: attempt }), " ", code(decision)];
  if (kind === "duplicate") return el("b", { class: "bad" }, word("duplicate", { n: attempt }));
  if (kind === "late_approval") return [el("b", {}, word("late_approval", { n: attempt })), " ", pill(status)];
  if (method) {
    const paidBy = [method.phone ?? `•••• ${method.last4}`, method.operator].filter(Boolean).join(", ");
    return [word("attempt", { n: attempt }), ` ${paidBy} `, pill(status)];
  }
  const text = reason ? (attempt ? word("declined", { n: attempt }) : word("because")) : attempt ? word("paid", { n: attempt }) : "";
  return [text, reason ? [" ", code(reason)] : "", " ", pill(status)].flat();
}
