// What is added to an error for its developer. `explained` of calls.js imports this file when there is such an error.

export function explain(error, options) {
  if (error.kind === "signed_out") addCookies(error, options);
  else addSuggestion(error);
}

/** A merchant's server of another origin knows no customer without a cookie. */
function addCookies(error, { merchant, merchantCredentials }) {
  if (!/^https?:/i.test(merchant)) return; // a path of this origin
  const { origin } = new URL(merchant);
  if (origin === globalThis.location?.origin) return;
  const sentence = merchantCredentials === "include"
    ? ` Its cookie is not sent if ${origin} is another site than this page's: browsers block that.`
    : ` No cookie was sent to ${origin}, since it is another origin: pass \`merchantCredentials: "include"\`. Between sites browsers block cookies.`;
  if (!error.message.endsWith(sentence)) error.message += sentence; // calls may share the error
}

/** Names the option or field that was probably meant, in the place of all. */
function addSuggestion(error) {
  const [, unknown, name, names] = /^(Unknown .+ `(.+)`\.) The .+s are: (.+)\.$/.exec(error.message) ?? [];
  const meant = names && nearest(name, names.split(", "));
  if (meant) error.message = error.fields[0].message = `${unknown} Did you mean \`${meant}\`?`;
}

/** The known name that a mistyped one was meant to be. Case and underscores do not count; otherwise one letter in three may differ. */
function nearest(name, known) {
  const near = known.map((known) => [distance(letters(name), letters(known)), known]).filter(([distance, known]) => distance <= known.length / 3);
  return near.sort(([one], [other]) => one - other)[0]?.[1];
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
