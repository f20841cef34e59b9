/** The wasm that a module of `core/` carries as text: a character for each byte, with a mark before those of 90 and more. */
export function unpacked({ default: text }) {
  const bytes = new Uint8Array(text.length);
  let length = 0;
  let above = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 32) above = 90; // " "
    else if (code === 35) above = 180; // "#"
    else {
      bytes[length++] = (code === 126 ? 92 : code) - 36 + above; // "~" stands for "\\", and "$" for 0
      above = 0;
    }
  }
  return bytes.subarray(0, length);
}

/**
 * What `ask` imports. Firefox holds to an import that has failed, and so does the page's next try: under an address with
 * another fragment, which no server sees, it is asked for anew. The engines say the address in the error alone.
 */
export async function imported(ask) {
  try {
    return await ask();
  } catch (e) {
    const [address] = /https?:\S+/.exec(e.message) ?? [];
    if (!address) throw e;
    return import(/* webpackIgnore: true */ /* @vite-ignore */ `${address}#${Date.now()}`);
  }
}
