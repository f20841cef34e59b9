import { creator } from "./client.js";

export { GuichetError } from "./error.js";
// In this form bundlers find the file and copy it beside their output.
export const createGuichet = /* @__PURE__ */ creator(() => new URL("./core/guichet_core_bg.wasm", import.meta.url), true);
