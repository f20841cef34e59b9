import wasm from "./core/inline.js";

export default () => new WebAssembly.Module(wasm());
