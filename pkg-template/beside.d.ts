// The same client, with its wasm in a file of its own beside it: fewer bytes, for a bundler that carries such files.
export * from "./guichet.js";
