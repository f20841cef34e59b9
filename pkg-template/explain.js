// What is added to an error for its developer. `explained` of calls.js imports this file when there is such an error.

/** Adds what it can to an error. Without `options` the error has been thrown already, so the console says it. */
export function explain(error, options) {
  if (error.kind === "signed_out") return addCookies(error, options);
  const { param, code } = error.fields[0];
  const sentence = code === "parameter_unknown" ? suggestion(error) : error.kind === "input" && SENTENCES[param];
  if (!sentence) return;
  if (!options) return console.error(`guichet: ${sentence}`);
  error.fields[0].message = sentence;
  setMessage(error, sentence);
}

// Of the options and arguments that calls refuse without a sentence, which would cost every page bytes.
const SENTENCES = {
  budgetMs: "`budgetMs` must be a number of milliseconds above 0.",
  checkoutOrigins: '`checkoutOrigins` must be a list of origins: ["https://pay.example.com"].',
  merchantHeaders: "`merchantHeaders` must be a function that returns headers, and no promise of them.",
  mode: '`mode` must be "redirect", "popup" or "top".',
  publicReads: '`publicReads` must be "session", "anonymous" or, with the address of your routes in `merchant`, "merchant".',
  redirectOrigins: '`redirectOrigins` must be a list of origins: ["https://shop.example.com"].',
  signal: "`signal` must be an AbortSignal: pass `controller.signal`, not the controller.",
  timeoutMs: "`timeoutMs` must be a number of milliseconds above 0.",
  reference: "`waitForOutcome` needs a payment. Pass what `returned()` gave, or `{ payment_ref }`, `{ id }`.",
};

/** Changes the message, also in the stack: Chromium's console and Node.js print that. */
function setMessage(error, message) {
  const { stack, message: before } = error;
  error.message = message;
  if (stack) error.stack = stack.replace(before, () => message);
}

/** A merchant's server of another origin knows no customer without a cookie. */
function addCookies(error, { merchant, merchantCredentials }) {
  if (!/^https?:/i.test(merchant)) return; // a path of this origin
  const { origin } = new URL(merchant);
  if (origin === globalThis.location?.origin) return;
  const sentence = merchantCredentials === "include"
    ? ` If ${origin} and this page are of different sites, the browser has sent no cookie: serve both under one site.`
    : ` No cookie was sent to ${origin}, because it is another origin than this page's. Pass \`merchantCredentials: "include"\`. If it is of another site, too, browsers send no cookie nevertheless.`;
  if (!error.message.endsWith(sentence)) setMessage(error, error.message + sentence); // calls may share the error
}

/** Names the option or field that was probably meant, in the place of all. */
function suggestion(error) {
  const [, unknown, name, names] = /^(Unknown .+ `(.+)`\.) The .+s are: (.+)\.$/.exec(error.message) ?? [];
  const meant = names && nearest(name, names.split(", "));
  return meant && `${unknown} Did you mean \`${meant}\`?`;
}

/** The known name that a mistyped one was meant to be. Case and underscores do not count; otherwise one letter in three may differ. */
function nearest(name, known) {
  const near = known.map((known) => [distance(letters(name), letters(known)), known]).filter(([distance, known]) => distance <= known.length / 3);
  return near.sort(([one, name], [other, next]) => one - other || (name < next ? -1 : 1))[0]?.[1];
}

const letters = (name) => name.replace(/_/g, "").toLowerCase().slice(0, 64);

/** How many letters differ: Levenshtein's distance. */
function distance(one, other) {
  let row = [...other, ""].map((_, at) => at);
  for (const letter of one) {
    const next = [row[0] + 1];
    for (let at = 0; at < other.length; at++) next.push(Math.min(row[at] + (letter !== other[at]), row[at + 1] + 1, next[at] + 1));
    row = next;
  }
  return row[other.length];
}
