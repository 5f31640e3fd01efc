#!/usr/bin/env bash
# Installs what the tests need, builds the dev preset and runs the tests.
#
#   ./test.sh               tests of less than half a minute each, without benches
#   ./test.sh --all         all but those that need a GPU or hours, as continuous integration does
#   ./test.sh PATTERN       only tests whose name matches (ctest -R)
set -euo pipefail
cd "$(dirname "$0")"

. tools/packages.sh

left_out="gpu|long|slow"
benches=OFF
if [ "$#" -gt 0 ]; then benches=ON; fi
if [ "${1:-}" = --all ]; then
  left_out="gpu|long"
  shift
fi

install_packages "${build_packages[@]}" "${tuned_libraries[@]}" "${test_packages[@]}"

step "Layers and limits"
python3 tools/check_layers.py
python3 tools/source_size.py

options=(-DATTUNE_BUILD_BENCH=$benches)
if [ "$benches" = ON ]; then
  # From PyPI; without it, its race with attune is skipped.
  step "Kernel Tuner (build/kernel-tuner)"
  python=build/kernel-tuner/bin/python
  if [ -x $python ] || python3 -m venv build/kernel-tuner; then
    $python -m pip install --quiet kernel_tuner==1.5.0 pyopencl &&
      options+=(-DATTUNE_KERNEL_TUNER_PYTHON="$PWD/$python") || echo "Kernel Tuner is not available."
  fi
fi

step "Building (build/dev)"
cmake --preset dev "${options[@]}"
cmake --build --preset dev

step "Testing"
if [ "$#" -gt 0 ]; then exec ctest --preset dev -R "$1"; fi
run_tests() { ctest --test-dir build/dev --output-on-failure --no-tests=error "$@"; }
# Tests that time candidates, or have threads that wait for each other, want the machine for themselves;
# those that only compute and compile share it, first, and then those that wait most of the time.
failed=0
run_tests -L compute -LE "$left_out" -j 2 || failed=1
run_tests -L waits -LE "$left_out" -j 4 || failed=1
run_tests -LE "$left_out|compute|waits" || failed=1
exit "$failed"
