# Sourced by quickstart.sh and test.sh: the packages that attune needs, and installing those that
# are missing. Debian 12 and Ubuntu 24.04 differ in the names of few.

# Names are tried from left to right where several are given with '|'.
build_packages=(
  build-essential cmake ninja-build pkg-config
  libfmt-dev nlohmann-json3-dev libcli11-dev libxxhash-dev "libexpected-dev|libtl-expected-dev"
  libsoci-dev libsqlite3-dev libssl-dev libbz2-dev zlib1g-dev
  libpq-dev libmariadb-dev libnats-dev
)
# What attune tunes. None is required; `attune devices` names what is missing.
tuned_libraries=(
  "libdnnl-dev|libonednn-dev" libeigen3-dev libxsmm-dev
  libopenblas0-pthread "libblis4-pthread|libblis4"
  ocl-icd-opencl-dev opencl-headers pocl-opencl-icd libclblast-dev
)
# hipcc (41 MB) compiles kernels for AMD GPUs, which needs none. The servers are started by tests, with data of their own.
test_packages=(
  libgtest-dev libgmock-dev python3 python3-numpy python3-scipy python3-pytest python3-hypothesis python3-venv
  hipcc postgresql "postgresql-plpython3-15|postgresql-plpython3-16" gunicorn octave r-base-core
  mariadb-server-core mariadb-client-core nats-server xlsx2csv
  libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0
  clang "libclang-rt-14-dev|libclang-rt-18-dev" "libomp-14-dev|libomp-18-dev"
)

step() { printf '\n== %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "Packages are missing and neither root nor sudo is at hand. As root, run: $*" >&2
    return 1
  fi
}

is_installed() {
  dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}

# The first of the alternatives "a|b|c" that apt can install; empty if there is none.
available_name() {
  local name
  for name in ${1//|/ }; do
    if apt-cache show "$name" >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done
}

# Every alternative of "a|b|c" that is missing everywhere, one for each line.
missing_packages() {
  local alternatives name found
  for alternatives in "$@"; do
    found=
    for name in ${alternatives//|/ }; do
      if is_installed "$name"; then found=1; fi
    done
    if [ -z "$found" ]; then echo "$alternatives"; fi
  done
}

# Installs what is missing of the arguments, each "name" or "name|other name".
install_packages() {
  local missing alternatives name names=()
  if ! command -v apt-get >/dev/null; then
    echo "This is no Debian or Ubuntu; install what README.md lists by hand. Going on." >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then return 0; fi
  step "Installing ${missing[*]}"
  as_root apt-get update -q
  for alternatives in "${missing[@]}"; do
    name="$(available_name "$alternatives")"
    if [ -n "$name" ]; then
      names+=("$name")
    else
      echo "No package $alternatives here; going on without it." >&2
    fi
  done
  if [ "${#names[@]}" -eq 0 ]; then return 0; fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    "${names[@]}"
}
