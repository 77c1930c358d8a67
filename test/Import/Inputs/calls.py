# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a program of functions each of which calls the next one.

    calls.py chain|unused|doubled|elements

`chain` is 50,000 functions that call one another once, as is `unused`, whose result
nobody uses, and `elements`, which are of elements and called where a product is taken;
`doubled` are 40 that do so twice."""

import sys

NUM_FUNCTIONS, CALLS = {"chain": (50000, ["%x"]), "unused": (50000, ["%x"]),
                        "elements": (50000, ["%x"]),
                        "doubled": (40, ["%x", "%0"])}[sys.argv[1]]
TYPE = "tensor<f32>" if sys.argv[1] == "elements" else "tensor<4xf32>"


def write(header, body):
    lines = [f"  %{i} = {line}" for i, line in enumerate(body)]
    lines.append(f"  return %{len(body) - 1} : {TYPE}")
    print(f"func.func {header}(%x: {TYPE}) -> {TYPE} {{", *lines, "}", sep="\n")


if sys.argv[1] == "elements":
    print("""\
func.func @main(%x: tensor<4xf32>, %init: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%x, %init) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %product = stablehlo.multiply %a, %b : tensor<f32>
    %same = func.call @f0(%product) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %same : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}""")
for i in range(NUM_FUNCTIONS):
    header = "@main" if i == 0 and sys.argv[1] != "elements" else f"private @f{i}"
    body = [f"call @f{i + 1}({value}) : ({TYPE}) -> {TYPE}" for value in CALLS]
    if sys.argv[1] == "unused" and i == 0:
        body.append(f"stablehlo.negate %x : {TYPE}")
    write(header, body)
write(f"private @f{NUM_FUNCTIONS}", [f"stablehlo.optimization_barrier %x : {TYPE}"
                                    if sys.argv[1] == "elements" else
                                    f"stablehlo.add %x, %x : {TYPE}"])
