import { creator } from "./client.js";
import { imported, unpacked } from "./inside.js";

export { GuichetError } from "./error.js";
export const createGuichet = /* @__PURE__ */ creator(async () => unpacked(await imported(() => import("./core/inline.js"))));
