# Builds each page of a folder by a bundler's defaults: sh bundle.sh <bundler> <folder of pages> <where to>
set -e
for page in "$2"/*; do
  entry=${page##*/}
  out=$3/$1-$entry
  mkdir -p "$out"

  # The page itself, for bundlers that begin with a script.
  html() {
    sed "s/type=\"module\"/$1/" "$page/index.html" > "$out/index.html"
  }
  esbuild_with() {
    html "$1"
    shift
    esbuild "$page/main.js" --bundle --minify "--outdir=$out" --log-level=error "$@"
    copy_wasm
  }
  # Copies the wasm to where guichet/beside loads it, as the README says: esbuild and Rollup do not handle new URL("…", import.meta.url).
  copy_wasm() {
    if [ "$entry" = beside ]; then
      mkdir -p "$out/core"
      cp node_modules/guichet/core/guichet_core_bg.wasm "$out/core"
    fi
  }

  case $1 in
  plain)
    # No bundler: the package's files beside the page, imported by their addresses.
    html 'type="module"'
    cp -r node_modules/guichet "$out"
    sed -E 's#"guichet"#"guichet/guichet"#; s#"guichet/([^"]+)"#"./guichet/\1.js"#' "$page/main.js" > "$out/main.js"
    ;;
  # The older versions have names of their own.
  vite*) node "$MODULES/$(echo "$1" | tr _ -)/bin/vite.js" build "$page" --base ./ --outDir "$out" ;;
  webpack)
    html defer
    webpack-cli build --mode production --entry "./$page/main.js" --output-path "$out"
    ;;
  esbuild) esbuild_with 'type="module"' --format=esm ;;
  esbuild-splitting) esbuild_with 'type="module"' --format=esm --splitting ;;
  # As a script that is no module.
  esbuild-iife) esbuild_with defer --format=iife ;;
  rollup)
    html 'type="module"'
    rollup "$page/main.js" --plugin node-resolve --format es --dir "$out"
    copy_wasm
    ;;
  parcel)
    # Its cache would be beside the nearest `.git`. To write it, it reads all folders of the project, and fails if another check deletes one.
    parcel build "$page/index.html" --public-url ./ --no-cache --cache-dir .parcel-cache --dist-dir "$out"
    ;;
  esac

  # The page once more with the preload of docs/loading.md, if it has a file of wasm. The bench measures it.
  wasm=$(cd "$out" && find . -name '*.wasm' | head -n 1)
  if [ -n "$wasm" ]; then
    link="<link rel=\"preload\" as=\"fetch\" crossorigin href=\"$wasm\">"
    sed "s#</head>#$link</head>#" "$out/index.html" > "$out/preloaded.html"
  fi
done
