import { createHmac } from "node:crypto";

/** The length of a nonce. */
const LENGTH = 22;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Returns the function from a `merchant_reference` to its return nonce, by which the customer's page recognizes the return from the
 * payment that it started. The nonce follows from the reference, so that a repeated create has the same body. If your secret keys
 * rotate, derive it from a separate secret.
 */
export function returnNonces(secretKey) {
  const key = mac(secretKey, "guichet return key");
  return (reference) => base62(mac(key, reference)).slice(0, LENGTH);
}

const mac = (key, text) => createHmac("sha256", key).update(text).digest();

/** 32 bytes as a number of 43 digits. */
function base62(bytes) {
  let rest = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  while (text.length < 43) {
    text = DIGITS[Number(rest % 62n)] + text;
    rest /= 62n;
  }
  return text;
}
