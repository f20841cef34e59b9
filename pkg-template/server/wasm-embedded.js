import * as text from "./core/inline.js";
import { unpacked } from "./core/inside.js";

export default () => new WebAssembly.Module(unpacked(text));
