#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times ranks that share cores, as threads and under MPI; prints a table, and never
fails on a time.

    test/Bench/crowd.py build/release/bin [ROUNDS] [OTHER_BIN..]

The program is four layers of an MLP with an all-reduce each. Its work is what one rank
takes for all of it; n ranks on the cores of this machine should take no more than 1.3
times their share of that, and 60 microseconds for each collective. Builds and rank
counts take turns in each of ROUNDS (5); of each run of 300 the median counts, and of the
rounds their median and least.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

LAYERS, BATCH, HIDDEN, FFN = 4, 4, 256, 1024
RANKS = (1, 2, 4, 8)
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]


def write_program():
    def cut(name, shape, first, second):
        axes = ", ".join('{"model"}' if cut else "{}" for cut in (first, second))
        return (f'%{name}: tensor<{shape}xf32> {{tp.name = "{name}", '
                f'spmd.sharding = #spmd.sharding<@mesh, [{axes}]>}}')
    x, h = f"{BATCH}x{HIDDEN}", f"{BATCH}x{FFN}"
    up, down = f"{HIDDEN}x{FFN}", f"{FFN}x{HIDDEN}"
    arguments, body, value = [cut("x", x, False, False)], [], "%x"
    for i in range(LAYERS):
        arguments += [cut(f"u{i}", up, False, True), cut(f"d{i}", down, True, False)]
        body.append(f'''
  %h{i} = tp.einsum "bi,io->bo" {value}, %u{i} : (tensor<{x}xf32>, tensor<{up}xf32>) -> tensor<{h}xf32>
  %a{i} = tp.relu %h{i} : tensor<{h}xf32>
  %y{i} = tp.einsum "bo,oi->bi" %a{i}, %d{i} : (tensor<{h}xf32>, tensor<{down}xf32>) -> tensor<{x}xf32>
  %r{i} = tp.add %y{i}, {value} : tensor<{x}xf32>''')
        value = f"%r{i}"
    return (f'spmd.mesh @mesh <["model"=2]>\nfunc.func @main({", ".join(arguments)}) '
            f'-> (tensor<{x}xf32> {{spmd.sharding = #spmd.sharding<@mesh, [{{}}, {{}}]>}}) '
            f'{{{"".join(body)}\n  return {value} : tensor<{x}xf32>\n}}\n')


def run(tools, artifact, ranks, transport):
    command = [f"{tools}/tp-run", artifact, "--bench=300", "--threads=1"]
    if transport == "mpi":
        command = MPIRUN + [str(ranks)] + command
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"median ([\d.]+) us", out)[1])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    builds = [sys.argv[1]] + sys.argv[3:]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    cores = len(os.sched_getaffinity(0))
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "program.mlir"
        source.write_text(write_program())
        for ranks in RANKS:
            subprocess.run([f"{builds[0]}/tp-opt", source, f"--tp-compile=mesh=model={ranks}",
                            f"--tp-artifact={folder}/{ranks}.tpx", "-o", "/dev/null"], check=True)
        for _ in range(rounds):
            for ranks in RANKS:
                for transport in ("threads", "mpi"):
                    for build in builds:
                        times.setdefault((transport, ranks, build), []).append(
                            run(build, f"{folder}/{ranks}.tpx", ranks, transport))
    print(f"{cores} cores, {LAYERS} collectives; microseconds: median (least) of {rounds} rounds")
    print(f"{'transport':10} {'ranks':>5} {'allowed':>9}  " +
          "  ".join(f"{build[-24:]:>24}" for build in builds))
    for transport in ("threads", "mpi"):
        for ranks in RANKS:
            work = statistics.median(times["threads", 1, builds[0]])
            allowed = 1.3 * work / min(cores, ranks) + 60 * LAYERS * (ranks > 1)
            row = [times[transport, ranks, build] for build in builds]
            print(f"{transport:10} {ranks:5} {allowed:9.1f}  " + "  ".join(
                f"{statistics.median(these):14.1f} ({min(these):7.1f})" for these in row))


if __name__ == "__main__":
    main()
