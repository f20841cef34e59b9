import { imported, unpacked } from "./inside.js";

/** The wasm that the package holds as text. */
export const embedded = async () => unpacked(await imported(() => import("./core/inline.js")));
