// The packages are in the folder above.
module.exports = { watchFolders: [require("node:path").dirname(__dirname)] };
