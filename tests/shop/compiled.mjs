// In place of workerd: a file of wasm is imported as a module, and nothing compiles wasm at run time.
// node --conditions=workerd --import ./compiled.mjs run.mjs
import { register } from "node:module";

const { Module } = WebAssembly;
globalThis.imported = Module;
WebAssembly.Module = new Proxy(Module, {
  construct() {
    throw new Error("workerd compiles no wasm at run time");
  },
});

const hooks = `export async function load(url, context, next) {
  if (!url.endsWith(".wasm")) return next(url, context);
  const source = 'import { readFileSync } from "node:fs"; export default new imported(readFileSync(new URL("' + url + '")));';
  return { format: "module", shortCircuit: true, source };
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
