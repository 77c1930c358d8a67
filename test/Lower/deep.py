#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a program of DEPTH loops, each in the one before."""

import sys

depth = int(sys.argv[1])
print("func.func @main(%h0: tensor<4xf32>) -> tensor<4xf32> {")
for i in range(depth):
    print(f"%r{i} = tp.for 1 (%h{i}) {{\n^bb0(%i{i}: tensor<i32>, %h{i + 1}: tensor<4xf32>):")
print(f"%r{depth} = tp.add %h{depth}, %h{depth} : tensor<4xf32>")
for i in reversed(range(depth)):
    print(f"tp.yield %r{i + 1} : tensor<4xf32>\n}} : (tensor<4xf32>) -> tensor<4xf32>")
print("return %r0 : tensor<4xf32>\n}")
