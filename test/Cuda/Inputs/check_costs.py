# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tools/gpu-check reads of a program's steps: by hand for single ones, and for
packed layers against what a layer computes by its sizes.

    check_costs.py goldens.json"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/gpu-check"))
import programs  # noqa: E402

STEPS = """
    %0 = step.alloc at 0 : memref<8x64xbf16>
    step.rows [8, 64] reads(%1, %2 : memref<8x64xbf16>, memref<8x64xf32, strided<[0, 1]>>) writes(%0 : memref<8x64xbf16>) {
      %3 = step.load %1 : memref<8x64xbf16>
    step.rows [2, 16] reads(%1 : memref<500x16xf32>) writes(%0 : memref<2x16xbf16>) {
    step.matmul %4, %5 into %6 then [#step<post add>] with(%7 : memref<3x8x32xf32>) constant_b : memref<3x8x64xbf16, strided<[512, 64, 1]>>, memref<3x64x32xbf16, strided<[0, 32, 1]>> into memref<3x8x32xf32>
    step.attention %8, %9, %9 into %10 {causal, scale = 0.5 : f64} : memref<1x7x2x3x16xbf16>, memref<1x7x2x16xbf16>, memref<1x7x2x16xbf16> into memref<1x7x2x3x16xbf16>
    %11 = step.bundle %x, %y rows 8 : memref<8x4xf32>, memref<8x2xf32> as memref<8x6xf32>
    step.together reads(%1 : memref<8x64xbf16>) writes(%0, %2 : memref<8x64xbf16>, memref<500x16xf32>) {
    ^bb0(%a: memref<8x64xbf16>, %b: memref<8x64xbf16>, %c: memref<500x16xf32>):
      step.rows [8, 64] reads(%a : memref<8x64xbf16>) writes(%b : memref<8x64xbf16>) {
        %3 = step.load %1 : memref<8x64xbf16>
      }
      step.rows [2, 16] writes(%c : memref<500x16xf32>) {
    step.copy %1 to %0 : memref<8x64xbf16>
"""
WANTED = [
    # Two blocks of bf16, and a row of f32 that all rows share.
    ("rows", "rows [8, 64]", 2 * 8 * 64 * 2 + 64 * 4, 0),
    # A lookup reads as many rows as it gives.
    ("rows", "rows [2, 16]", 2 * 16 * 4 + 2 * 16 * 2, 0),
    # One matrix for all three, and the residual.
    ("matmul", "matmul 8x64x32", 3 * 8 * 64 * 2 + 64 * 32 * 2 + 2 * 3 * 8 * 32 * 4,
     2 * 3 * 8 * 64 * 32),
    # Row i sees i + 1 keys, 28 of 7 rows: twice as many operations for scores and values.
    ("attention", "attention [1, 7, 2, 3, 16]", (2 * 7 * 96 + 2 * 7 * 32) * 2,
     2 * 2 * 28 * 6 * 16),
    # Two row programs as one kernel, of which one writes some of a cache.
    ("rows", "rows [8, 64] and rows [2, 16]", 2 * 8 * 64 * 2 + 2 * 16 * 4, 0),
    ("copy", "copy", 0, 0)]


def main(goldens):
    got = programs.read_costs(STEPS)
    if got != WANTED:
        sys.exit(f"error: {got}\nis not {WANTED}")
    for name, fields in json.loads(pathlib.Path(goldens).read_text())["layers"].items():
        case = programs.Case(**fields["case"])
        moved, operations = case.get_layer_cost()
        layers, config = case.config["num_hidden_layers"], case.config
        head = 2 * case.batch * config["hidden_size"] * config["vocab_size"]
        done = sum(cost[3] for cost in fields["costs"])
        if done != layers * operations + head:
            sys.exit(f"error: {name}: {done} operations, not {layers} x {operations} + {head}")
        # Steps read what others wrote.
        if sum(cost[2] for cost in fields["costs"]) < layers * moved:
            sys.exit(f"error: {name}: steps move less than the layer's {moved} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
