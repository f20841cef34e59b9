// The same client, with its wasm in a file beside it, which the first call loads: fewer bytes, for a bundler that carries such files.
export * from "./guichet.js";
