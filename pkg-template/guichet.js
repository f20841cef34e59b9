import { creator } from "./client.js";
import embedded from "./core/inline.js";

export { GuichetError } from "./error.js";
export const createGuichet = /* @__PURE__ */ creator(embedded);
