#!/usr/bin/env bash
# installed_package.sh BUILD EXAMPLES: see CMakeLists.txt.
set -euo pipefail
build=$1
examples=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
export XDG_DATA_HOME=$work/data XDG_CACHE_HOME=$work/cache ATTUNE_LOCK_FOLDER=$work
# Installed programs must work without the build.
unset ATTUNE_PLUGIN_PATH ATTUNE_EVALUATOR ATTUNE_TUNER

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Installs as a user with private files by default.
(umask 077 && cmake --install "$build" --prefix "$prefix" > "$work/install.log")
closed=$(find "$prefix" \( -type d ! -perm -755 -o -type f ! -perm -444 \))
[ -z "$closed" ] || fail "not every user may read $closed"

echo "== find_package"
cmake -S "$examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix" > "$work/configure.log"
cmake --build "$work/examples" -j2 > "$work/build.log" || { cat "$work/build.log"; exit 1; }
for example in gemm_in_c convolution; do
  "$work/examples/$example" || fail "$example ended with status $?"
done
"$work/examples/tune_gemm" 96 8 64 "$work/tuned.db" | tee "$work/tuned.txt"
grep -q ' us$' "$work/tuned.txt" || fail "tune_gemm measured nothing"
"$work/examples/varying_shapes" "$work/varying.db" | tee "$work/varying.txt"
grep -q '^attune_tunings_total 3$' "$work/varying.txt" || fail "varying_shapes tuned not 3 shapes"

"$work/examples/profile_commands" 'echo OP:slow,TIME:0.75,WS:64' 'echo OP:quick,TIME:0.5,WS:128' \
  | tee "$work/profiled.txt"
grep -qx 'fastest: quick, 0.5 ms, 128 bytes' "$work/profiled.txt" || fail "profile_commands found no result"

if [ -e "$work/examples/capture_launch" ]; then
  if "$work/examples/capture_launch" "$work/captured" > "$work/captured.txt"; then
    [ -s "$work/captured/scale/scale.json" ] || fail "capture_launch stored no kernel file"
    grep -q "^attune tune --kernel $work/captured/scale/scale.json$" "$work/captured.txt" ||
      fail "capture_launch said $(cat "$work/captured.txt")"
    cat "$work/captured.txt"
  else
    status=$?
    [ $status = 2 ] || fail "capture_launch ended with status $status"
    echo "capture_launch: without an OpenCL device"
  fi
fi

mkdir "$work/kernels"
status=0
"$work/examples/tune_and_choose" "$work/kernels" "$work/kernels.db" > "$work/chosen.txt" || status=$?
if [ $status = 0 ]; then
  cat "$work/chosen.txt"
  grep -q '^n=1000: default, BLOCK=1,VECTOR=1, scale<1000 x 1>, -cl-std=CL1.2, .* measured: no$' "$work/chosen.txt" ||
    fail "before anything is tuned the default does not serve"
  grep -q '^n=65536: exact, .* measured: yes$' "$work/chosen.txt" || fail "what was tuned does not serve its size"
  ! grep -q 'BLOCK=64' "$work/chosen.txt" || fail "a config is served that the program's constraint refuses"
  grep -q '^n=50000: nearest, .* measured: no$' "$work/chosen.txt" || fail "what was tuned does not serve a near size"
  "$work/examples/tune_and_choose" "$work/kernels" "$work/kernels.db" "opencl:99" 2> "$work/absent.txt" &&
    fail "a device that is not there was opened"
  grep -q "opencl:99" "$work/absent.txt" || fail "tune_and_choose said $(cat "$work/absent.txt")"
else
  [ $status = 2 ] || fail "tune_and_choose ended with status $status"
  echo "tune_and_choose: without an OpenCL device"
fi

echo "== pkg-config"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cc ${CFLAGS:-} -std=c11 -Wall -Wextra -Werror "$examples/gemm_in_c.c" $(pkg-config --cflags --libs attune) \
  -Wl,-rpath,"$prefix/lib" -o "$work/gemm_in_c"
"$work/gemm_in_c" || fail "the program of pkg-config ended with status $?"

echo "== symbols"
# Nothing but the C interface may be seen, or two copies of a library would mix in one program.
foreign=$(nm -D --defined-only "$prefix/lib/libattune.so" | awk '{print $3}' |
          grep -v -e '^attune_' -e '^ATTUNE_' || true)
[ -z "$foreign" ] || fail "libattune.so shows $foreign"
"$prefix/bin/attune" solvers > "$work/solvers.txt"
grep -q onednn "$work/solvers.txt" || ! [ -e "$prefix/lib/attune/attune_onednn.so" ] ||
  fail "the installed program does not find its plug-in"
echo "all good"
