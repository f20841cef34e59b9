/** Decodes the wasm that a module of `core/` holds as text: a character for each byte, after a mark if the byte is 90 or more. */
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
 * Imports a module. Firefox does not repeat an import that has failed: the address with another fragment, which no server
 * sees, is imported instead. Only the text of the error holds the address.
 */
export async function imported(load) {
  try {
    return await load();
  } catch (e) {
    const [address] = /https?:\S+/.exec(e.message) ?? [];
    if (!address) throw e;
    return import(/* webpackIgnore: true */ /* @vite-ignore */ `${address}#${Date.now()}`);
  }
}
