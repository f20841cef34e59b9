import { creator } from "./client.js";

export { GuichetError } from "./error.js";
export const createGuichet = creator(
  () => import("./core/guichet_core.js"),
  // Written so that bundlers see the file and put it beside what they make.
  async () => new URL("./core/guichet_core_bg.wasm", import.meta.url),
);
