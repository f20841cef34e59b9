// What the inspector does: the clock, faults, operators, a reset, and the customer's phone. Beside each button stand the command and the
// call that it is.
import { call, commandAt, el, merchant, pill } from "./api.js";
import { copiedTest } from "./copied-test.js";
import { amount, date, time, word } from "./words.js";

const OPERATIONS = ["create_payment_intent", "read_payment_intent", "list_payment_intents", "attach_payment_method", "confirm_payment_intent", "answer_payment_intent", "cancel_payment_intent", "create_session"];
const KINDS = ["lost_response", "drop", "status", "malformed", "truncate"];
const STATUSES = ["delayed", "closed", "operational"];

/** A button, with the command and the call that it is. `read` returns the call: its command, method, path and fields. */
function button(id, text, read, done, attributes = {}) {
  const how = el("p", { class: "how", id: `${id}-how` });
  const explain = () => {
    const { command, method, path, fields } = read();
    const named = merchant ? `?merchant=${merchant}` : "";
    const body = method === "POST" ? ` ${JSON.stringify({ ...fields, merchant })}` : named;
    how.replaceChildren(el("code", {}, commandAt(command)), el("code", {}, `${method} /sandbox/${path}${body}`));
  };
  explain();
  const act = async () => {
    const { method, path, fields } = read();
    await done(() => call(method, path, fields));
  };
  const pressed = el("button", { type: "button", id, "aria-describedby": how.id, onclick: act, ...attributes }, text);
  return { pressed, how, explain };
}

/** What is due, and when, for a sentence. */
export const dueWords = ({ what, at }) => ({ what: word(what === "late_approval" ? "late_approval_due" : what), at: `${date(at)} ${time(at)}` });

/** The clock, faults, operators and the reset. `state` has the time, what is due, the operators and the waiting faults. */
export function tools(state, act) {
  const { now, operators, faults } = state;
  const next = state.due.toSorted((one, other) => one.at - other.at)[0];
  const clock = (id, text, seconds) => button(id, text, () => ({ command: `clock advance ${seconds}`, method: "POST", path: "clock", fields: { advance_seconds: seconds } }), act);
  const due = next && clock("due", word("clock_due", dueWords(next)), Math.max(0, next.at - now));
  const hour = clock("hour", word("clock_hour"), 3600);

  const pick = (id, options, change) => el("select", { id, onchange: () => change() }, options.map((one) => el("option", {}, one)));
  const labelled = (text, field) => el("p", { class: "field" }, el("label", { for: field.id }, text), field);
  const operation = pick("operation", OPERATIONS, () => add.explain());
  const kind = pick("kind", KINDS, () => add.explain());
  const add = button("add", word("fault_add"), () => ({ command: `faults set ${operation.value} ${kind.value}`, method: "POST", path: "faults", fields: { operation: operation.value, kind: kind.value } }), act);
  const clear = button("clear", word("fault_clear"), () => ({ command: "faults clear", method: "DELETE", path: "faults" }), act);
  const operator = pick("operator", operators.map(({ code }) => code), () => set.explain());
  const status = pick("operator-status", STATUSES, () => set.explain());
  const set = button("set", word("operator_set"), () => ({ command: `operators ${operator.value} ${status.value}`, method: "POST", path: "operators", fields: { code: operator.value, status: status.value } }), act);

  const reset = button("reset-yes", word("reset_yes"), () => ({ command: "reset", method: "POST", path: "reset", fields: {} }), act, { class: "danger" });
  const question = el("div", { hidden: true }, el("p", {}, word("reset_asked")), reset.pressed, el("button", { type: "button", id: "reset-no", onclick: () => ask(false) }, word("reset_no")), reset.how);
  const ask = (isOpen) => {
    question.hidden = !isOpen;
    document.getElementById(isOpen ? "reset-no" : "reset").focus();
  };
  const part = (id, ...children) => el("details", { id }, el("summary", {}, word(id)), children);
  return [
    el("h2", {}, word("doing")),
    part("clock", el("p", {}, `${word("clock_now")} ${date(now)} ${time(now)}`), due ? [due.pressed, due.how] : el("p", { class: "soft" }, word("clock_none")), hour.pressed, hour.how),
    part("faults", el("ul", {}, faults.map((fault) => el("li", {}, el("code", {}, `${fault.operation} ${fault.kind}`), ` × ${fault.count}`))), labelled(word("operation"), operation), labelled(word("kind"), kind), add.pressed, add.how, clear.pressed, clear.how),
    part("operators", el("ul", {}, operators.map(({ name, status }) => el("li", {}, `${name} `, pill(status, status === "operational" ? status : "bad")))), labelled(word("operator"), operator), labelled(word("operator_status"), status), set.pressed, set.how),
    part("reset-part", el("button", { type: "button", id: "reset", onclick: () => ask(true) }, word("reset")), question),
  ].flat();
}

/** The customer's phone, as its operator draws it. */
export function handset({ purchase, handset: shown }, operators, act) {
  const decide = (decision) => {
    const { merchant_reference: payment } = purchase;
    const fields = { payment, decision, attempt: shown.attempt };
    const command = `handset ${/^[\w.-]+$/.test(payment) ? payment : `'${payment.replaceAll("'", "'\\''")}'`} ${decision} --attempt ${shown.attempt}`;
    return button(`handset-${decision}`, word(decision), () => ({ command, method: "POST", path: "handset", fields }), act);
  };
  const decisions = (shown.open ? ["approve", "refuse", "ignore", "approve_late"] : ["approve"]).map(decide);
  return el("section", { class: "handset", "aria-labelledby": "handset-title" },
    el("div", { class: "phone", "data-operator": shown.operator },
      el("h2", { id: "handset-title" }, operators.find(({ code }) => code === shown.operator)?.name ?? word("operator")),
      el("p", { class: "soft" }, shown.phone),
      el("p", {}, word(shown.open ? "handset_asks" : "handset_late", { payee: shown.payee })),
      el("p", { class: "amount" }, amount(shown)),
      el("p", { class: "field" }, el("label", { for: "pin" }, word("pin")), el("input", { id: "pin", inputmode: "numeric", maxlength: 6, autocomplete: "off", "aria-describedby": "pin-help" })),
      el("p", { class: "help", id: "pin-help" }, word("pin_help")),
      decisions.map(({ pressed }) => pressed)),
    el("details", { id: "handset-how" }, el("summary", {}, word("commands")), decisions.map(({ how }) => how)));
}

/** The button that copies the thread as a test, with all of its entries. */
export function copy({ purchase, earlier, ...shown }, limit, say) {
  const code = el("pre", { id: "copied", tabindex: 0, hidden: true, "aria-label": word("copy") });
  const write = async () => {
    const whole = earlier ? await call("GET", "thread", { payment: purchase.id, limit }) : { purchase, ...shown };
    code.textContent = copiedTest(whole);
    code.hidden = false;
    const isCopied = await navigator.clipboard?.writeText(code.textContent).then(() => true, () => false);
    say(word(isCopied ? "copied" : "copy_select"));
  };
  return [el("button", { type: "button", id: "copy", onclick: write }, word("copy")), code];
}
