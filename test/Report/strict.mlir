// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gathers and exchanges that no annotation asks for are errors; sums are not.

// RUN: tp-opt %s --tp-strict --verify-diagnostics -o /dev/null

spmd.mesh @mesh <["x"=4]>

func.func @main(
    %w: tensor<16x8xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
    %v: tensor<16x8xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  // Nobody but its author wrote this.
  %0 = spmd.all_gather %w [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> : tensor<16x8xf32> -> tensor<16x8xf32>
  // A constraint asks for this.
  %1 = spmd.all_gather %w [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = gathered, user = "tp.tanh", axes = <{"x"}>>], requested = true>} : tensor<16x8xf32> -> tensor<16x8xf32>
  // expected-error @+3 {{[TP0410] all_gather {x} of 'w', 384 B sent by every device, is not requested by an annotation; write an spmd.constraint that requests it, or a sharding that avoids it}}
  // expected-note @+2 {{the collective is needed because of this: outer dimension: tp.tanh needs the whole of a dimension that is cut along {x}}}
  // expected-note @+1 {{annotate 'w' as [{}, {}]}}
  %2 = spmd.all_gather %w [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = gathered, user = "tp.tanh", axes = <{"x"}>>]>} : tensor<16x8xf32> -> tensor<16x8xf32>
  // expected-error @+3 {{[TP0410] all_to_all {x} of 'w', 96 B sent by every device, is not requested by an annotation; write an spmd.constraint that requests it, or a sharding that avoids it}}
  // expected-note @+2 {{the collective is needed because of this: mismatch: tp.tanh needs the same blocks, but on other devices}}
  // expected-note @+1 {{shard 'w' as [{}, {"x"}] from the start}}
  %3 = spmd.all_to_all %w ["x": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "tp.tanh">]>} : tensor<16x8xf32> -> tensor<16x8xf32>
  %4 = spmd.to_partial %v {"x"} in <@mesh, [{}, {}]> out <@mesh, [{}, {}], unreduced={"x"}> : tensor<16x8xf32> -> tensor<16x8xf32>
  %5 = spmd.all_reduce %4 {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.tanh", axes = <{"x"}>>]>} : tensor<16x8xf32> -> tensor<16x8xf32>
  return
}
