import { creator } from "./client.js";

export { GuichetError } from "./error.js";
// Written so that bundlers see the file and put it beside what they make.
export const createGuichet = creator(() => new URL("./core/guichet_core_bg.wasm", import.meta.url));
