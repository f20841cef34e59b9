import { creator } from "./client.js";
import core from "./core/guichet_core.js";
import { unpacked } from "./inside.js";

export { GuichetError } from "./error.js";
export const createGuichet = creator(core, async () => unpacked(await import("./core/inline.js")));
