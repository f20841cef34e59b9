// The form fields: reads, checks, marks and clears what the customer types.
//
// Values are only in the fields themselves, which are cleared when the page is left. The checks here only
// find obvious mistakes; the payment service decides whether a number can pay.

const inputs = [...document.querySelectorAll("input[data-param]")];
const digits = (text) => text.replace(/[\s().+-]/g, "");

// What the numbers of each operator begin with, from the service's own table: "mtn_cm:650,651 orange_cm:655".
const prefixes = document.querySelector('meta[name="prefixes"]').content.split(" ").map((of) => of.split(":"));
const operators = () => [...document.querySelectorAll("[name=operator]")];
let guessed;

// Whether a text looks like a value of each field.
const looksRight = {
  phone: (text) => /^\d{8,15}$/.test(digits(text)),
  number: (text) => /^\d{12,19}$/.test(digits(text)),
  exp_month: (text) => /^(0?[1-9]|1[0-2])$/.test(text.trim()),
  exp_year: (text) => /^(\d{2}|\d{4})$/.test(text.trim()),
  cvc: (text) => /^\d{3,4}$/.test(text.trim()),
  otp: (text) => /^\d{4,10}$/.test(digits(text)),
};

/** Shows the fields of one type of payment method; hides and clears the others. */
export function showFields(type) {
  for (const group of document.querySelectorAll("[data-for]")) {
    group.hidden = group.dataset.for !== type;
    if (group.hidden) wipe(group);
  }
}

/** Reads the payment method. If a field is invalid: null, with the invalid fields marked and the first one focused. */
export function readMethod(type, sentences) {
  const group = document.querySelector(`[data-for="${type}"]`);
  const typed = read(inputs.filter((input) => group.contains(input)), sentences);
  if (!typed) return null;
  // The service's default country for fees is Cameroon; so is the default for a phone without a country code.
  if (type === "mobile_money") {
    guessOperator();
    if (isClosed()) {
      mark(input("phone"), sentenceFor(input("phone"), sentences));
      input("phone").focus();
      return null;
    }
    const radio = operators().find(({ checked }) => checked);
    // A number of another country has none of these operators.
    const operator = national(typed.phone).length === 9 ? radio?.value : undefined;
    return { type, phone: typed.phone, country_code: "CM", ...(operator && { operator }) };
  }
  const year = Number(typed.exp_year);
  return {
    type,
    card: {
      number: digits(typed.number),
      exp_month: Number(typed.exp_month),
      exp_year: year < 100 ? 2000 + year : year,
      cvc: typed.cvc,
    },
  };
}

/** Reads the one-time code. If it is invalid: null, with the field marked and focused. */
export function readCode(sentences) {
  const typed = read([input("otp")], sentences);
  return typed && digits(typed.otp);
}

/** Marks the fields that the service's error names. */
export function markFrom(error, sentences) {
  const named = error?.code === "test_card_required" ? ["number"]
    : (error?.fields ?? []).map((field) => String(field.param).split(".").pop());
  const wrong = inputs.filter((input) => named.includes(input.dataset.param));
  // The text above the form already says which cards may be used.
  for (const input of wrong) mark(input, error.code === "test_card_required" ? "" : sentenceFor(input, sentences));
}

/** Asks for another number. */
export function askForPhone() {
  input("phone").value = "";
  guessOperator();
  input("phone").focus();
}

// The number without Cameroon's country code.
function national(phone) {
  return digits(phone).replace(/^(00)?237/, "");
}

/** Checks the operator of the number's prefix. The customer's own choice stays until the guess changes: numbers can be ported. */
function guessOperator() {
  const number = national(input("phone").value);
  const guess = number.length > 9 ? undefined : prefixes.find(([, of]) => of?.split(",").some((prefix) => number.startsWith(prefix)))?.[0];
  if (guess === guessed) return;
  guessed = guess;
  for (const radio of operators()) radio.checked = radio.value === guess && !radio.disabled;
}

// Whether the number's operator takes no payments, and the customer has chosen no other.
function isClosed() {
  return !operators().some(({ checked }) => checked) && operators().some(({ value, disabled }) => disabled && value === guessed);
}

/** Translates the texts of the marked fields. */
export function translateMarks(sentences) {
  for (const input of inputs) {
    const wrong = document.getElementById(`${input.id}-wrong`);
    if (wrong.textContent) wrong.textContent = sentenceFor(input, sentences);
  }
}

/** Fills in a test number, as if it had been typed. */
export function fillIn(kind, number) {
  const set = (param, value) => {
    input(param).value = value;
  };
  unmark();
  if (kind !== "card") {
    set(kind, number);
    return guessOperator();
  }
  set("number", inFours(number));
  set("exp_month", "12");
  set("exp_year", "34");
  set("cvc", "123");
}

/** Clears all fields, or those inside one element. */
export function wipe(within = document) {
  for (const input of inputs) if (within.contains(input)) input.value = "";
  guessOperator();
  unmark(within);
}

/** Clears security codes and one-time codes: after a decline they must be typed again, the number need not. */
export function wipeCodes() {
  input("cvc").value = "";
  input("otp").value = "";
}

function input(param) {
  return inputs.find(({ dataset }) => dataset.param === param);
}

function read(asked, sentences) {
  const wrong = asked.filter(({ dataset, value }) => !looksRight[dataset.param](value));
  unmark();
  for (const input of wrong) mark(input, sentenceFor(input, sentences));
  if (wrong.length) {
    wrong[0].focus();
    return null;
  }
  return Object.fromEntries(asked.map(({ dataset, value }) => [dataset.param, value.trim()]));
}

function inFours(text) {
  return digits(text).slice(0, 19).replace(/(\d{4})(?=\d)/g, "$1 ");
}

function sentenceFor(input, sentences) {
  const { param } = input.dataset;
  if (param === "phone" && isClosed()) return sentences.phone_closed;
  return sentences[`${param === "number" ? "card_number" : param}_wrong`];
}

function mark(input, sentence) {
  input.setAttribute("aria-invalid", "true");
  document.getElementById(`${input.id}-wrong`).textContent = sentence;
}

function unmark(within = document) {
  for (const input of inputs) {
    if (!within.contains(input)) continue;
    input.removeAttribute("aria-invalid");
    document.getElementById(`${input.id}-wrong`).textContent = "";
  }
}

for (const input of inputs) {
  input.addEventListener("input", () => {
    input.removeAttribute("aria-invalid");
    document.getElementById(`${input.id}-wrong`).textContent = "";
    if (input.dataset.param === "phone") guessOperator();
    // Groups digits only while the caret is at the end: it must not jump during a correction.
    if (input.dataset.param === "number" && input.selectionStart === input.value.length) {
      input.value = inFours(input.value);
    }
  });
}
// A browser may cache this page with its fields for the back button.
addEventListener("pagehide", () => wipe());
