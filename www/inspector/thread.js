// One purchase as one thread: the money in one column, what was reported to its shop in the next.
import { code, el, pill } from "./api.js";
import { dueWords, handset } from "./tools.js";
import { ago, amount, date, time, word } from "./words.js";

/** One purchase. `operators` are those of the merchant, and `more` shows the earlier entries. */
export function thread(shown, operators, act, more) {
  const { purchase, fields, entries, earlier } = shown;
  const { reported, duplicates, differs, due } = purchase;
  return [
    el("a", { href: `/inspector${location.search}`, class: "back", "data-list": true }, `← ${word("purchases")}`),
    el("div", { class: "top" },
      el("div", { class: "facts" },
        el("h1", { id: "title" }, purchase.merchant_reference),
        el("p", { class: "amount" }, amount(purchase)),
        el("p", { class: "soft" }, [purchase.customer, purchase.email, purchase.phone].filter(Boolean).join(" · ")),
        el("dl", { class: "now", "data-differs": differs },
          el("div", {}, el("dt", {}, word("money")), el("dd", {}, pill(purchase.status), means(inWords(purchase)), twice(duplicates))),
          el("div", {}, el("dt", {}, word("reported")), el("dd", {}, reported ? [pill(reported.status), means(shopsWords(reported.status))] : word("nothing_reported"), twice(reported?.duplicates))),
        ),
        lastAsked(shown),
        due ? el("p", { class: "soft" }, word("next_due", dueWords(due))) : "",
        differs ? el("p", { class: "differs" }, `≠ ${word("differs")}`) : "",
      ),
      shown.handset ? handset(shown, operators, act) : "",
    ),
    el("details", { id: "fields" }, el("summary", {}, word("fields", { n: fields.length })),
      el("dl", { class: "fields" }, fields.map(({ field, value, source }) => el("div", {},
        el("dt", {}, code(field), source === "decision" ? el("small", {}, word(source)) : ""), el("dd", {}, value))))),
    earlier ? el("button", { type: "button", id: "earlier", onclick: more }, word("earlier", { n: earlier })) : "",
    el("table", {},
      el("caption", {}, word("thread")),
      el("thead", {}, el("tr", {}, ["time", "money", "reported"].map((name) => el("th", { scope: "col" }, word(name))))),
      el("tbody", {}, rows(entries))),
  ];
}

/** How many duplicate payments there are, if any. */
export const twice = (n) => (n ? el("b", { class: "bad" }, ` ${word("paid_twice", { n })}`) : "");

/** What the status of a purchase means for the money. */
export function inWords({ status, attempts, declined }) {
  if (status === "requires_action") return declined ? word("was_declined", { reason: declined }) : word(attempts ? "waits" : "never_tried");
  return word({ processing: "being_decided", succeeded: "taken" }[status] ?? "not_taken");
}

/** What a status means for the shop that has read it. */
export const shopsWords = (status) => word({ processing: "do_not_ship", succeeded: "is_paid", paid: "is_paid" }[status] ?? "not_paid");

const means = (text) => el("span", { class: "means" }, ` ${text}`);

/** When the shop last asked, and whether the money has changed since. */
function lastAsked({ now, entries }) {
  const index = entries.findLastIndex(({ by }) => by === "shop");
  if (index < 0) return "";
  const { kind, operation, at, last_at: last = at } = entries[index];
  const hasChanged = entries.slice(index).some((entry) => ["status", "late_approval", "duplicate"].includes(entry.kind));
  const name = kind === "delivery" ? "told" : operation === "create_payment_intent" ? "never_asked" : hasChanged ? "asked_before" : "asked_ago";
  const [before, after] = word(name, { at: time(last), ago: "\n" }).split("\n");
  return el("p", { class: hasChanged ? "" : "soft", id: "asked" }, before, after && [el("span", { "data-since": last }, ago(now - last)), after]);
}

/** The rows of the table. One is red if the shop did not know then what had become of the money, and does not know it now. */
function rows(entries) {
  let day = "";
  return entries.map((entry) => {
    const { at, kind, by, differs, settled, knows } = entry;
    const today = date(at);
    const when = el("time", {}, today === day ? "" : el("span", { class: "day" }, today), time(at));
    day = today;
    const isShops = by === "shop";
    const tone = settled ? "soft" : "bad";
    const behind = differs ? [el("span", { class: tone }, `≠ ${word(knows ? "still" : "nothing_reported")} `), knows ? pill(knows, tone) : ""] : "";
    const row = (...cells) => el("tr", { "data-kind": kind, "data-by": by, "data-differs": differs && !settled }, el("th", { scope: "row" }, when), cells);
    // What the customer did is neither money nor a report.
    if (by === "customer" || kind === "page_opened") return row(el("td", { colspan: 2, class: "beside" }, by ? request(entry) : money(entry)));
    return row(el("td", {}, isShops ? "" : money(entry)), el("td", {}, isShops ? request(entry) : behind));
  });
}

/** A request, or a delivery to the shop's application. */
function request({ kind, by, operation, attempt, status, http_status, error, fault, reported, times, last_at }) {
  const isDelivery = kind === "delivery";
  return [
    by === "customer" ? el("span", { class: "who" }, word("customer")) : "",
    code(operation), isDelivery ? ` (${word("delivery", { n: attempt })}) ` : "", error ? pill(status) : "", " → ",
    error ? el("span", { class: "bad", lang: "en" }, error) : `${http_status ?? word("no_response")} `,
    reported ? pill(reported.status) : "",
    by === "shop" && reported?.status === "processing" ? means(word("do_not_ship")) : "",
    twice(reported?.duplicates),
    fault ? el("b", { class: "fault" }, ` ${word("fault")} `, code(fault)) : "",
    times > 1 ? el("span", { class: "soft" }, ` × ${times}, ${word("until", { at: time(last_at) })}`) : "",
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
