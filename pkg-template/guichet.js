import { creator } from "./client.js";
import core from "./core/guichet_core.js";
import { imported, unpacked } from "./inside.js";

export { GuichetError } from "./error.js";
export const createGuichet = creator(core, async () => unpacked(await imported(() => import("./core/inline.js"))));
