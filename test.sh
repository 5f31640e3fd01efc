#!/usr/bin/env bash
# Installs what the tests need, builds the dev preset and runs every test.
#
#   ./test.sh               all tests but those that need a GPU or hours
#   ./test.sh PATTERN       only tests whose name matches (ctest -R)
set -euo pipefail
cd "$(dirname "$0")"

. tools/packages.sh

install_packages "${build_packages[@]}" "${tuned_libraries[@]}" "${test_packages[@]}"

step "Layers and limits"
python3 tools/check_layers.py

step "Building (build/dev)"
cmake --preset dev
cmake --build --preset dev

step "Testing"
if [ "$#" -gt 0 ]; then exec ctest --preset dev -R "$1"; fi
# Tests that time candidates, or have threads that wait for each other, want the machine for themselves;
# those that only compute and compile share it, first, and then those that wait most of the time.
failed=0
ctest --preset dev-side-by-side || failed=1
ctest --preset dev-waiting || failed=1
ctest --preset dev-alone || failed=1
exit "$failed"
