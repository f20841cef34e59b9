import { creator } from "./client.js";

export { GuichetError } from "./error.js";
// In this form bundlers find the file and copy it beside their output.
const file = () => new URL("./core/guichet_core_bg.wasm", import.meta.url);
/** In place of a missing file. */
const embedded = async () => (await import("./core/inline.js")).default();
export const createGuichet = /* @__PURE__ */ creator(file, embedded);
