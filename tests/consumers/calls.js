// The page's two forms, by its address.
import { call as callBeside } from "./beside.js";
import { call as callInside } from "./inside.js";

export const call = (shown) => (location.search === "?beside" ? callBeside(shown) : callInside(shown));
