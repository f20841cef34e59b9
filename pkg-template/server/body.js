/** The most bytes of an order. */
export const LARGEST_BODY = 64 * 1024;

/** The text of a body; `undefined` if it has more bytes than the limit, and is not read to its end. */
export async function textOf({ body }, limit) {
  const decoder = new TextDecoder();
  let [length, text] = [0, ""];
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > limit) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
