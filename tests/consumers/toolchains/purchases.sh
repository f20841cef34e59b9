# Copies the tests of tests/pages/testing/, that of docs/testing.md, and those that the inspector writes into a folder, for a runner.
set -e
mkdir "$1"
sed "s#from \"vitest\"#from \"$2\"#" "$ROOT/tests/pages/testing/purchase.test.js" > "$1/purchase.test.js"
node block.js docs/testing.md mjs 'from "vitest"' > "$1/readme.test.js"
sed -i "s#from \"vitest\"#from \"$2\"#" "$1/readme.test.js"
node copied.mjs "$1" "$2"
