// What the customer types: read, checked for what is plainly missing, marked, wiped.
//
// It is kept nowhere but in the fields themselves, and these are wiped when the page goes away.
// Whether a number is good for paying is for the payment service to say.

const inputs = [...document.querySelectorAll("input[data-param]")];
const digits = (text) => text.replace(/[\s().+-]/g, "");

// For each field: does what was typed look like one?
const looksRight = {
  phone: (text) => /^\d{8,15}$/.test(digits(text)),
  number: (text) => /^\d{12,19}$/.test(digits(text)),
  exp_month: (text) => /^(0?[1-9]|1[0-2])$/.test(text.trim()),
  exp_year: (text) => /^(\d{2}|\d{4})$/.test(text.trim()),
  cvc: (text) => /^\d{3,4}$/.test(text.trim()),
  otp: (text) => /^\d{4,10}$/.test(digits(text)),
};

/** Shows the fields of one kind of payment method; the others are hidden and wiped. */
export function showFields(type) {
  for (const group of document.querySelectorAll("[data-for]")) {
    group.hidden = group.dataset.for !== type;
    if (group.hidden) wipe(group);
  }
}

/** The payment method as typed, or null, with the fields to mend marked and the first one focused. */
export function readMethod(type, sentences) {
  const group = document.querySelector(`[data-for="${type}"]`);
  const typed = read(inputs.filter((input) => group.contains(input)), sentences);
  if (!typed) return null;
  // The service asks fees for Cameroon where nobody says otherwise; the same goes for a number without its prefix.
  if (type === "mobile_money") return { type, phone: typed.phone, country_code: "CM" };
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

/** The one-time code as typed, or null, with its field marked and focused. */
export function readCode(sentences) {
  const typed = read([input("otp")], sentences);
  return typed && digits(typed.otp);
}

/** Marks the fields that an error of the service names. */
export function markFrom(error, sentences) {
  const named = error?.code === "test_card_required" ? ["number"]
    : (error?.fields ?? []).map((field) => String(field.param).split(".").pop());
  const wrong = inputs.filter((input) => named.includes(input.dataset.param));
  // Which cards may be used is said above the form; beside the field it would be said twice.
  for (const input of wrong) mark(input, error.code === "test_card_required" ? "" : sentenceFor(input, sentences));
}

/** Says what is wrong with the marked fields in another language. */
export function translateMarks(sentences) {
  for (const input of inputs) {
    const wrong = document.getElementById(`${input.id}-wrong`);
    if (wrong.textContent) wrong.textContent = sentenceFor(input, sentences);
  }
}

/** Puts a test number into the form, as if it had been typed. */
export function fillIn(kind, number) {
  const set = (param, value) => {
    input(param).value = value;
  };
  unmark();
  if (kind !== "card") return set(kind, number);
  set("number", inFours(number));
  set("exp_month", "12");
  set("exp_year", "34");
  set("cvc", "123");
}

/** Forgets what was typed, everywhere or inside one element. */
export function wipe(within = document) {
  for (const input of inputs) if (within.contains(input)) input.value = "";
  unmark(within);
}

/** After a decline the number may stand; a security code, or a one-time code, is typed anew each time. */
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
    // Grouped only while typing at the end: the caret must not jump in the middle of a correction.
    if (input.dataset.param === "number" && input.selectionStart === input.value.length) {
      input.value = inFours(input.value);
    }
  });
}
// A browser may keep a page it leaves, fields and all, for the back button.
addEventListener("pagehide", () => wipe());
