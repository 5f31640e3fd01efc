#!/usr/bin/env bash
# Installs what is missing, builds, and tunes the convolutions of ResNet-50 on this machine's CPU.
#
#   ./quickstart.sh               everything; a second run reuses what the first one left
#   ./quickstart.sh --deps-only   installs the packages and stops
#
# Leaves attune.db and report.html in build/quickstart/. Debian 12 and Ubuntu 24.04; needs root or
# sudo only if a package is missing. Settings, all optional:
#   ATTUNE_QUICKSTART_BATCH        images per batch (default 1)
#   ATTUNE_QUICKSTART_PER_PROBLEM  time for each of the problems (default 2s)
set -euo pipefail
cd "$(dirname "$0")"

. tools/packages.sh

case "${1:-}" in
  "") ;;
  --deps-only)
    install_packages "${build_packages[@]}" "${tuned_libraries[@]}"
    exit 0
    ;;
  *)
    echo "quickstart.sh: '$1' is not known; only --deps-only is." >&2
    exit 2
    ;;
esac

batch="${ATTUNE_QUICKSTART_BATCH:-1}"
per_problem="${ATTUNE_QUICKSTART_PER_PROBLEM:-2s}"
folder=build/quickstart
tag="resnet50-n$batch"
attune=build/core/bin/attune

install_packages "${build_packages[@]}" "${tuned_libraries[@]}"

step "Building (build/core)"
cmake --preset core
cmake --build --preset core --target attune

mkdir -p "$folder"
run_attune() { "$attune" --db "$folder/attune.db" "$@"; }

step "What this machine has"
run_attune devices

step "Reading the convolutions of ResNet-50 with a batch of $batch"
run_attune import tests/data/driver/resnet50.txt --tag "$tag" --batch-size "$batch"

step "Tuning them on the CPU"
status=0
run_attune tune --tag "$tag" --per-problem "$per_problem" || status=$?
if [ "$status" -ne 0 ] && [ "$status" -ne 3 ]; then exit "$status"; fi

step "Writing the report"
run_attune report --tag "$tag" -o "$folder/report.html"
cat <<TXT

Database  $folder/attune.db
Report    $folder/report.html   (open it in a browser)
Next      $attune --db $folder/attune.db best --tag $tag
          $attune --help
TXT
exit "$status"
