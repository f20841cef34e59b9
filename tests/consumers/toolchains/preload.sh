# Builds the two preloads of docs/loading.md by Vite: in the head of a page, and by `?url`.
set -e
# As in a Vite project: the page is in the folder of `node_modules`.
cp pages/beside/main.js call.js
node block.js docs/loading.md javascript '?url' > head.js
build() {
  awk -v link="$2" '/<pre/ { print link } { print }' pages/beside/index.html > index.html
  node "$MODULES/vite/bin/vite.js" build --base ./ --outDir "$OUT/vite-preload-$1"
}
echo 'import "./call.js";' > main.js
link=$(node block.js docs/loading.md html node_modules/)
build link "$link"
cat > main.js <<'END'
import { head } from "./head.js";
document.head.insertAdjacentHTML("beforeend", head);
await import("./call.js");
END
build url ""
