// The form fields: reads, checks, marks and clears what the customer types.
//
// Values are only in the fields themselves, which are cleared when the page is left. The package reads what is typed:
// separators, digits of other scripts, prefixes. The checks here only find obvious mistakes in that; the payment service
// decides whether a number can pay.

const inputs = [...document.querySelectorAll("input[data-param]")];
let normalize = (fields) => fields; // that of the open checkout

// What the numbers of each operator begin with, from the service's own table: "mtn_cm:650,651 orange_cm:655".
const prefixes = document.querySelector('meta[name="prefixes"]').content.split(" ").map((of) => of.split(":"));
const operators = () => [...document.querySelectorAll("[name=operator]")];
let guessed;

// What a value of each field looks like.
const looksRight = {
  phone: /^\d{7,15}$/,
  number: /^\d{12,19}$/,
  exp_month: /^(0?[1-9]|1[0-2])$/,
  exp_year: /^2\d{3}$/,
  cvc: /^\d{3,4}$/,
  otp: /^\d{4,10}$/,
};

/** Takes `normalize` of the open checkout. */
export function readBy(reading) {
  normalize = reading;
}

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
  const values = read(inputs.filter((input) => group.contains(input)), sentences);
  if (!values) return null;
  if (type === "mobile_money") {
    guessOperator();
    if (isClosed()) {
      mark(input("phone"), sentenceFor(input("phone"), sentences));
      input("phone").focus();
      return null;
    }
    const radio = operators().find(({ checked }) => checked);
    // A number of another country has none of these operators.
    const operator = national(values.phone).length === 9 ? radio?.value : undefined;
    return { type, phone: values.phone, ...(operator && { operator }) };
  }
  return { type, card: values };
}

/** Reads the one-time code. If it is invalid: undefined, with the field marked and focused. */
export function readCode(sentences) {
  return read([input("otp")], sentences)?.otp;
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
  return phone.replace(/^237/, "");
}

/** Checks the operator of the number's prefix. The customer's own choice stays until the guess changes: numbers can be ported. */
function guessOperator() {
  const number = national(normalized([input("phone")]).phone);
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

// What is typed into these fields, as the package reads it. The service's default country for fees is Cameroon; so is the default for
// a phone without a country code.
function normalized(fields) {
  return normalize({ country_code: "CM", ...Object.fromEntries(fields.map(({ dataset, value }) => [dataset.param, value])) });
}

function read(asked, sentences) {
  const values = normalized(asked);
  const wrong = asked.filter(({ dataset }) => !looksRight[dataset.param].test(values[dataset.param]));
  unmark();
  for (const input of wrong) mark(input, sentenceFor(input, sentences));
  if (wrong.length) {
    wrong[0].focus();
    return null;
  }
  return values;
}

function inFours(text) {
  return normalize({ number: text }).number.replace(/(\d{4})(?=\d)/g, "$1 ");
}

// A month that was typed or pasted with its year.
function takeYear() {
  const [month, year] = [input("exp_month"), input("exp_year")];
  const both = /^(\d\d)(\d\d|\d{4})$/.exec(normalized([month]).exp_month);
  if (both && !year.value) [, month.value, year.value] = both;
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
input("exp_month").addEventListener("change", takeYear);
// A browser may cache this page with its fields for the back button.
addEventListener("pagehide", () => wipe());
