import { GuichetError } from "./error.js";

/** The wasm that a module of `core/` carries as text: deflated, in base64. */
export async function unpacked({ default: text }) {
  if (typeof DecompressionStream === "undefined") {
    throw new GuichetError("unsupported", "This browser cannot unpack the wasm inside (it has no DecompressionStream): use guichet/beside, or the option wasm.");
  }
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}
