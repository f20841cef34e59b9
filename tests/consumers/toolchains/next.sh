# Builds examples/next by one of Next's bundlers, below the `node_modules` of Next: it refuses to read packages through links to other
# folders. The copy also has a page with guichet/beside. tests/pages/next.rs starts it.
set -e
folder=$TARGET/npm-next/$1
# Without the bundler's cache: it takes a package of the same version for the same package.
rm -rf "$folder"
mkdir -p "$folder/node_modules"
cd "$ROOT/examples/next"
cp -r app package.json tsconfig.json next.config.ts instrumentation.ts "$folder"
cp -r "$ROOT/tests/pages/next" "$folder/app/beside"
cd "$OLDPWD/node_modules"
cp -r guichet guichet-server "$folder/node_modules"
cd "$TARGET/npm-express/node_modules"
cp -r libsql @libsql @neon-rs detect-libc "$folder/node_modules"
cd "$folder"
"$TARGET/npm-next/node_modules/.bin/next" build "--$1"
