#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Four times as large a program takes about four times as long.

    scaling.py FOLDER

Compared are processor times of one run each after the other, the better of two.
By the square it would be 16 times.
"""

import pathlib
import resource
import subprocess
import sys

MESH = 'spmd.mesh @mesh <["x"=2]>\n'
TYPE = "tensor<4x4xf32>"


def arguments(n):
    names = ", ".join(f"%a{i}: {TYPE}" for i in range(n))
    adds = "\n".join(f"  %r{i} = tp.add {f'%r{i - 1}' if i else '%a0'}, %a{i} : {TYPE}" for i in range(n))
    return f"{MESH}func.func @main({names}) -> {TYPE} {{\n{adds}\n  return %r{n - 1} : {TYPE}\n}}\n"


def results(n):
    types = ", ".join([TYPE] * n)
    exps = "\n".join(f"  %r{i} = tp.exp %a : {TYPE}" for i in range(n))
    names = ", ".join(f"%r{i}" for i in range(n))
    return f"{MESH}func.func @main(%a: {TYPE}) -> ({types}) {{\n{exps}\n  return {names} : {types}\n}}\n"


def operations(n):
    pair = """  %t{0} = tp.tanh %r{0} : {2}
  %r{1} = tp.einsum "bi,io->bo" %t{0}, %w : ({2}, {2}) -> {2}
"""
    pairs = "".join(pair.format(i, i + 1, TYPE) for i in range(n // 2))
    return f"{MESH}func.func @main(%r0: {TYPE}, %w: {TYPE}) -> {TYPE} {{\n{pairs}  return %r{n // 2} : {TYPE}\n}}\n"


def functions(n):
    one = "func.func @f{0}(%a: {1}) -> {1} {{\n  %r = tp.exp %a : {1}\n  return %r : {1}\n}}\n"
    return MESH + "".join(one.format(i, TYPE) for i in range(n))


def measure(folder, program, options):
    (folder / "program.mlir").write_text(program)
    times = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["tp-opt", str(folder / "program.mlir"), *options, "-o", "/dev/null"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime)
    return min(times)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    artifact = ["--tp-compile", f"--tp-artifact={folder}/program.tpx"]
    cases = [(arguments, 1000, artifact), (arguments, 2500, ["--tp-compile"]), (results, 2500, ["--tp-compile"]),
             (operations, 2500, ["--tp-compile"]), (functions, 2500, ["--tp-shard"])]
    slow = 0
    for program, size, options in cases:
        small, large = (measure(folder, program(n), options) for n in (size, 4 * size))
        print(f"{4 * size} {program.__name__} take {large / small:.1f} times as long as {size}: {small:.2f} s, {large:.2f} s")
        slow += large > 6.5 * small
    print(f"{slow} take too long")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
