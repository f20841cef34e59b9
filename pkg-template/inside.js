/** The wasm that `core/inline.js` carries as text. */
export async function inside() {
  const { default: text } = await import("./core/inline.js");
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
