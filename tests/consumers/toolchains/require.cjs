// A CommonJS module loads every entry of the package.
const assert = require("node:assert/strict");

for (const [entry, name] of [
  ["guichet", "createGuichet"],
  ["guichet/beside", "createGuichet"],
  ["guichet/hosted", "openHostedCheckout"],
  ["guichet/react", "useCheckout"],
  ["guichet/testing", "openTestPage"],
  ["guichet/words", "describe"],
  ["guichet/hosted-words", "hostedWords"],
]) {
  assert.equal(typeof require(entry)[name], "function", entry);
}
