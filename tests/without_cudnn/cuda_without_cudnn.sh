#!/usr/bin/env bash
# cuda_without_cudnn.sh SOURCES ATTUNE: see CMakeLists.txt.
set -euo pipefail
sources=$1
attune=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# In front of every other folder, so that it hides cuDNN's headers where they are installed.
mkdir "$work/hidden"
echo '#error "cudnn.h is used without cuDNN."' > "$work/hidden/cudnn.h"
cmake -S "$sources" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DATTUNE_USE_CUDNN=OFF \
  -DATTUNE_BUILD_TESTS=OFF -DATTUNE_BUILD_BENCH=OFF -DCMAKE_CXX_FLAGS="-O0 -I$work/hidden" \
  > "$work/configure.log"
grep -q 'No headers of cuDNN' "$work/configure.log" || fail "nothing is said of cuDNN's headers"
cmake --build "$work/build" --target attune_plugin_cuda > "$work/build.log" ||
  { tail -40 "$work/build.log"; fail "the plug-in cannot be built"; }

ATTUNE_PLUGIN_PATH=$work/build/lib/attune "$attune" devices > "$work/devices.txt"
grep -q "^cudnn .*headers .*were missing when attune was built" "$work/devices.txt" ||
  { cat "$work/devices.txt"; fail "attune devices does not say what was missing"; }
grep -q "^cublaslt " "$work/devices.txt" || fail "cuBLASLt is gone, too"
