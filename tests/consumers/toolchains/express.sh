# Copies the example server on Express into a folder, with what it needs.
set -e
mkdir -p "$1"
cp -r "$ROOT/examples/express/server.mjs" "$ROOT/examples/page" "$TARGET/npm-express/node_modules" "$1"
cp -r node_modules/guichet node_modules/guichet-server "$1/node_modules"
