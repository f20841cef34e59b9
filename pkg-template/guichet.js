import { creator } from "./client.js";
import { unpacked } from "./inside.js";

export { GuichetError } from "./error.js";
export const createGuichet = creator(
  () => import("./core/guichet_core.js"),
  async () => unpacked(await import("./core/inline.js")),
);
