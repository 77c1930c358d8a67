# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes layers and their backward pass: many_layers.py LAYERS. Each layer's activation, which
the backward pass reads, is eight times as large as its weight."""

import sys

X, W = "tensor<256x16xf32>", "tensor<16x16xf32>"
layers = range(int(sys.argv[1]))
print('spmd.mesh @mesh <["data"=2]>', "#cut = #spmd.sharding<@mesh, [{\"data\"}, {}]>", sep="\n")
weights = "".join(f', %w{i}: {W} {{spmd.sharding = #cut, tp.role = "parameter"}}' for i in layers)
print(f"func.func @main(%h0: {X} {{spmd.sharding = #cut}}{weights}) -> ({X} {{spmd.sharding = #cut}}) {{")
for i in layers:
    print(f'  %p{i} = tp.einsum "bi,io->bo" %h{i}, %w{i} : ({X}, {W}) -> {X}')
    print(f"  %h{i + 1} = tp.tanh %p{i} : {X}")
last = f"%h{len(layers)}"
for i in reversed(layers):
    print(f"  %m{i} = tp.mul {last}, %h{i} : {X}")
    print(f'  %d{i} = tp.einsum "bo,io->bi" %m{i}, %w{i} : ({X}, {W}) -> {X}')
    last = f"%d{i}"
print(f"  return {last} : {X}\n}}")
