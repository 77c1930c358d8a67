# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a program of functions each of which calls the next one.

    calls.py chain|unused|doubled

`chain` is 50,000 functions that call one another once, as is `unused`, whose result
nobody uses, and `doubled` 40 that do so twice."""

import sys

NUM_FUNCTIONS, CALLS = {"chain": (50000, ["%x"]), "unused": (50000, ["%x"]),
                        "doubled": (40, ["%x", "%0"])}[sys.argv[1]]
TYPE = "tensor<4xf32>"


def write(header, body):
    lines = [f"  %{i} = {line}" for i, line in enumerate(body)]
    lines.append(f"  return %{len(body) - 1} : {TYPE}")
    print(f"func.func {header}(%x: {TYPE}) -> {TYPE} {{", *lines, "}", sep="\n")


for i in range(NUM_FUNCTIONS):
    header = f"private @f{i}" if i else "@main"
    body = [f"call @f{i + 1}({value}) : ({TYPE}) -> {TYPE}" for value in CALLS]
    if sys.argv[1] == "unused" and i == 0:
        body.append(f"stablehlo.negate %x : {TYPE}")
    write(header, body)
write(f"private @f{NUM_FUNCTIONS}", [f"stablehlo.add %x, %x : {TYPE}"])
