// In workerd, which compiles no wasm at run time.
import module from "./core/guichet_server_bg.wasm";

export default () => module;
