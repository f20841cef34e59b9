import { creator } from "./client.js";
import { inside } from "./inside.js";

export { GuichetError } from "./error.js";
export const createGuichet = creator(inside);
