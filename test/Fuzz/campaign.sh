#!/bin/bash
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs all fuzzers for longer than a test may take, and prints for each how many
# programs were right, which were refused with which code, and what failed.
#
#   test/Fuzz/campaign.sh OUT
#
# OUT gets a log and a folder of failures for each. From the environment: BUILD
# (build/release), JAX and TORCH (Pythons with these), SEED (1), JOBS (the cores),
# and how many of each: PROGRAMS (20000), COMPILED (5000), SPELLINGS (2000), FILES
# (20000), JAX_PROGRAMS (2000), GRADIENTS (2000), TORCH_PROGRAMS (500); 0 leaves
# one out.
#
# Exit 1 if anything fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${1:?where to write: campaign.sh OUT}
build=${BUILD:-build/release}
jax=${JAX:-$HOME/.cache/tp-opt/jax/bin/python}
torch=${TORCH:-$HOME/.cache/tp-opt/torch-export/bin/python}
seed=${SEED:-1}
jobs=${JOBS:-$(nproc)}
failed=0
mkdir -p "$out" || exit 1

# fuzz NAME COUNT COMMAND...
fuzz() {
  local name=$1 count=$2
  shift 2
  [ "$count" = 0 ] && return
  echo "== $name"
  nice -n 15 "$@" --seed="$seed" --count="$count" --jobs="$jobs" \
    --out="$out/$name" >"$out/$name.log" 2>&1 || failed=1
  # Without the table of ops.
  grep -v '^  [a-z]*\.[a-z_0-9]*  *[0-9]*  *[0-9]*$' "$out/$name.log"
}

fuzz programs "${PROGRAMS:-20000}" "$build/test/Fuzz/tp-fuzz" --reduce
fuzz compiled "${COMPILED:-5000}" "$build/test/Fuzz/tp-fuzz" --compiled --reduce
fuzz spellings "${SPELLINGS:-2000}" "$build/test/Fuzz/tp-fuzz" --spellings
fuzz files "${FILES:-20000}" "$build/test/Fuzz/tp-fuzz-readers"
fuzz jax "${JAX_PROGRAMS:-2000}" "$jax" test/Fuzz/jax/jax_fuzz.py \
  --tools="$build/bin"
fuzz gradients "${GRADIENTS:-2000}" "$jax" test/Fuzz/jax/gradients.py \
  --tools="$build/bin"
fuzz torch "${TORCH_PROGRAMS:-500}" "$torch" test/Fuzz/torch/torch_fuzz.py \
  --tools="$build/bin"
exit $failed
