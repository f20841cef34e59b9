import { creator } from "./client.js";
import { embedded } from "./embedded.js";

export { GuichetError } from "./error.js";
export const createGuichet = /* @__PURE__ */ creator(embedded);
