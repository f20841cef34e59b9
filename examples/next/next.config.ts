export default { serverExternalPackages: ["node-sqlite3-wasm"] };
