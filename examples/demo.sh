#!/usr/bin/env bash
# The main job on a real, trained draft: verify, launch command, card, release. Run it with: make demo
# It works in .demo/, which git ignores, on a copy of this zoo. A second run finds everything published and changes nothing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
demo=$root/.demo
name=tiny-ft

mkdir -p "$demo/zoo/examples/tiny"
for part in recipes templates examples/tiny/base examples/tiny/target examples/tiny/tiny-ft; do
  rm -rf "${demo:?}/zoo/$part"
  cp -R "$root/$part" "$demo/zoo/$part"
done
# Evidence belongs to a version; the rest of release/ is what the release itself writes.
(cd "$root" && find release -path '*/evidence/*.json') | while read -r file; do
  mkdir -p "$demo/zoo/$(dirname "$file")"
  cp "$root/$file" "$demo/zoo/$file"
done
echo 'publish_to = "dir:../published"' > "$demo/zoo/zoo.toml"
cd "$demo/zoo"

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
step() { printf '\n%s== %s%s\n$ %s\n\n' "$bold" "$1" "$plain" "${*:2}"; "${@:2}"; }

step "1. verify: every byte of the draft, and every number of its recipe"      zoo verify $name --deep
step "2. launch: the command that serves it"                                   zoo launch $name --draft ./examples/tiny/tiny-ft
step "3. card: the model card, from recipe and evidence"                       zoo card $name
step "4. release: stage, verify, render, seal, publish, read back"             zoo release $name --push
step "5. as a stranger: the published folder against the recipe"               zoo verify $name --deep --checkpoint "$demo/published/$name/1.0.0"

cat <<TXT

What this proved
  verify   all 25 tensors are there with the right names, shapes and dtype; no NaN, nothing all zero;
           recipe = config.json = header = training manifest
  launch   one pure function writes this command, the card's, and the smoke test's
  card     every number is measured (with its evidence) or says that the author reported it
  release  the published bytes were read back and equal the manifest; the version can never change; the draft reaches
           its training number and no neighbour of its config is better (recorded by zoo replay, bound to these bytes)
Served    not here: the card shows the recorded smoke test of an engine; zoo smoke repeats it on your own GPU

Where to look
  $demo/published/$name/1.0.0/README.md      the published card
  $demo/published/$name/1.0.0/manifest.json  every file with its sha256
  $demo/zoo/release/$name/                          what the zoo keeps: card, manifest, log; never weights
TXT
