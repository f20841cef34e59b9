import { call } from "./inside.js";

call(document.querySelector("#shown"));
