// `guichet/beside` where the bundler may write everything into one file, which would then have the embedded wasm, too: without it.
import { creator } from "./client.js";

export { GuichetError } from "./error.js";
export const createGuichet = /* @__PURE__ */ creator(() => new URL("./core/guichet_core_bg.wasm", import.meta.url));
