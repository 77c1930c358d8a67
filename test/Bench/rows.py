#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times row programs on one CPU thread; prints a table, and never fails on a time.

    test/Bench/rows.py build/release/bin [RUNS]

For each program, the shortest of RUNS (50) runs, and what that makes in bytes
read and written a second.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

F32 = "tensor<512x4096xf32>"
BF16 = "tensor<512x4096xbf16>"
# name: megabytes that cannot but be moved, arguments, results, body
PROGRAMS = {
    "swiglu": (25.2, f"%x: {F32}, %y: {F32}", [F32], f"""
      %s = tp.silu %x : {F32}
      %0 = tp.mul %s, %y : {F32}"""),
    "softmax": (16.8, f"%x: {F32}", [F32], f"""
      %0 = tp.softmax %x dim = 1 : {F32}"""),
    "rms_norm": (16.8, f"%x: {F32}, %g: tensor<4096xf32>", [F32], f"""
      %0 = tp.rms_norm %x, %g epsilon = 1.0e-5 : ({F32}, tensor<4096xf32>) -> {F32}"""),
    "residual + rms_norm": (33.6, f"%x: {F32}, %y: {F32}, %g: tensor<4096xf32>", [F32, F32], f"""
      %1 = tp.add %x, %y : {F32}
      %0 = tp.rms_norm %1, %g epsilon = 1.0e-5 : ({F32}, tensor<4096xf32>) -> {F32}"""),
    "swiglu bf16": (12.6, f"%x: {BF16}, %y: {BF16}", [BF16], f"""
      %s = tp.silu %x : {BF16}
      %0 = tp.mul %s, %y : {BF16}"""),
    "embedding": (16.8, "%t: tensor<8192x4096xf32>, %i: tensor<512xi32>", [F32], f"""
      %0 = tp.embedding %t, %i : (tensor<8192x4096xf32>, tensor<512xi32>) -> {F32}"""),
    "rotary tables": (1.0, "%x: tensor<2048x64xf32>", ["tensor<2048x64xf32>"], """
      %k = tp.constant dense<1000.0> : tensor<2048x64xf32>
      %1 = tp.mul %x, %k : tensor<2048x64xf32>
      %0 = tp.cos %1 : tensor<2048x64xf32>"""),
}


def write(name):
    _, arguments, results, body = PROGRAMS[name]
    values = ", ".join(f"%{i}" for i in range(len(results)))
    types = ", ".join(results)
    return (f"func.func @main({arguments}) -> ({types}) {{{body}\n"
            f"  return {values} : {types}\n}}\n")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    tools = pathlib.Path(sys.argv[1])
    runs = sys.argv[2] if len(sys.argv) == 3 else "50"
    for name, (megabytes, *_) in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "program.mlir"
            artifact = pathlib.Path(folder) / "program.tpx"
            source.write_text(write(name))
            subprocess.run(
                [tools / "tp-opt", source, "--tp-compile=target=cpu mesh=x=1",
                 f"--tp-artifact={artifact}", "-o", "/dev/null"], check=True)
            text = subprocess.run(
                [tools / "tp-run", artifact, f"--bench={runs}"], check=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                universal_newlines=True).stdout
        milliseconds = float(re.search(r"min ([\d.]+) us", text).group(1)) / 1e3
        print(f"{name:20} {milliseconds:7.3f} ms "
              f"{megabytes / milliseconds:7.1f} GB/s")


if __name__ == "__main__":
    main()
