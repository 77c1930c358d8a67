# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What test/run, tools/demo and examples share: from a bare machine to built tools and
# models. They source it in the root of the repository, with `logs` set to the
# folder for the output of the parts.

jobs=${TPOPT_JOBS:-$(nproc)}
# What is large and does not depend on the build is kept between checkouts.
cache=$HOME/.cache/tp-opt
# Python with what makes models and reads text; only these packages.
python=$cache/python/bin/python

packages=(
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  cmake ninja-build ccache git python3 python3-venv libgtest-dev libgmock-dev
  libabsl-dev libdnnl-dev libmimalloc-dev libopenmpi-dev openmpi-bin
  nlohmann-json3-dev)

# part NAME COMMAND...: runs a part of the job, with its output in a log. One
# that fails prints the end of it.
part() {
  local name=$1 log=$logs/$1.log start=$SECONDS status
  shift
  [[ -t 1 ]] && printf '%-10s ...\r' "$name"
  "$@" >"$log" 2>&1
  status=$?
  if ((status == 0)); then
    printf '%-10s ok      %4d s\n' "$name" $((SECONDS - start))
  else
    printf '%-10s FAILED  %4d s, the end of %s:\n' "$name" \
      $((SECONDS - start)) "$log"
    tail -n 100 "$log"
  fi
  return $status
}

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == \
      "install ok installed" ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  echo "installing: ${missing[*]}"
  local root=()
  ((EUID == 0)) || root=(sudo)
  "${root[@]}" apt-get update &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "${missing[@]}"
}

# build PRESET "TARGET..." [CMAKE ARGUMENTS...]
build() {
  local preset=$1 targets
  read -ra targets <<<"$2"
  shift 2
  cmake --preset "$preset" "$@" &&
    cmake --build --preset "$preset" -j "$jobs" --target "${targets[@]}"
}

# make_environment FOLDER REQUIREMENTS: a Python with only these packages. Two
# checkouts may want to make it at once.
make_environment() {
  local folder=$1 wanted=$2
  mkdir -p "$cache"
  (
    flock 9
    cmp -s "$wanted" "$folder/made-from.txt" && exit
    python3 -m venv --clear "$folder" &&
      "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
        --requirement "$wanted" &&
      cp "$wanted" "$folder/made-from.txt"
  ) 9>"$folder.lock"
}

make_python() {
  make_environment "$cache/python" test/Models/requirements.txt
}

# What exports programs, and the peer that shards them, too.
make_jax_python() {
  make_environment "$cache/jax" test/Models/requirements-jax.txt
}

# Photographs, and what plots: for examples/tensor-parallel-mlp.
make_photos_python() {
  make_environment "$cache/photos" examples/tensor-parallel-mlp/requirements.txt
}

# NVIDIA's assembler, where no toolkit is installed.
make_cuda() {
  { command -v ptxas || [[ -x /usr/local/cuda/bin/ptxas ]]; } && return
  make_environment "$cache/cuda" test/Lower/Cuda/requirements.txt
}

# make_models NAME...: puts models that are not there yet into the cache.
make_models() {
  local name
  make_python || return
  for name in "$@"; do
    "$python" "test/Models/make_$name.py" || return
  done
}
