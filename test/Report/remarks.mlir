// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A remark for every collective that sends: its bytes, why, what would help.

// RUN: tp-opt %s --tp-remark-collectives --remarks-filter=tp-comm --verify-diagnostics -o /dev/null
// Without a filter nothing is said.
// RUN: tp-opt %s --tp-remark-collectives -o /dev/null 2>&1 | not grep "remark: "

spmd.mesh @mesh <["x"=2, "y"=4]>

func.func @main(
    %w: tensor<16x8xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
    %a: tensor<8x16xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<16x8xf32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  // expected-remark @below {{[Missed] all_gather {x} of w | Category:tp-comm | Function=main | Reason="outer dimension: tp.tanh needs the whole of a dimension that is cut along {x}", Suggestion="annotate 'w' as [{}, {}]: this saves the gather in every call, but takes the memory of the whole tensor", bytes=512, times=1, wire_bytes=256}}
  %0 = spmd.all_gather %w [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = gathered, user = "tp.tanh", axes = <{"x"}>>]>} : tensor<16x8xf32> -> tensor<16x8xf32>
  // Free: no remark.
  %1 = spmd.all_slice %0 [{"y"}, {}] in <@mesh, [{}, {}]> out <@mesh, [{"y"}, {}]> : tensor<16x8xf32> -> tensor<16x8xf32>
  %2 = tp.einsum "bi,io->bo" %a, %b {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"y"}>]} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32> loc("sum")
  // expected-remark @below {{a reduce_scatter sends half the bytes}}
  %3 = spmd.all_reduce %2 {"y"} in <@mesh, [{}, {}], unreduced={"y"}> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.tanh", axes = <{"y"}>>]>} : tensor<8x8xf32> -> tensor<8x8xf32>
  // Nothing is cheaper than this.
  // expected-remark @below {{[Analysis] reduce_scatter {y} of sum | Category:tp-comm | Function=main | Reason="inner dimension: a dimension cut along {y} was contracted, and tp.tanh needs the sum", bytes=256, times=1, wire_bytes=192}}
  %4 = spmd.reduce_scatter %2 [{"y"}, {}] in <@mesh, [{}, {}], unreduced={"y"}> out <@mesh, [{"y"}, {}]> {tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.tanh", axes = <{"y"}>>]>} : tensor<8x8xf32> -> tensor<8x8xf32>
  %5 = tp.tanh %4 {spmd.shardings = [#spmd.sharding<@mesh, [{"y"}, {}]>]} : tensor<8x8xf32> loc("act")
  // expected-remark @below {{[Missed] all_to_all {y} of act | Category:tp-comm | Function=main | Reason="mismatch: tp.tanh needs the same blocks, but on other devices", Suggestion="shard 'act' as [{}, {"y"}] from the start, or use it as [{"y"}, {}]"}}
  %6 = spmd.all_to_all %5 ["y": 0 -> 1] in <@mesh, [{"y"}, {}]> out <@mesh, [{}, {"y"}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "tp.tanh">]>} : tensor<8x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{write the axes in the same order on both sides: 'w' is produced as [{"x"}, {}] and needed as [{"y":(1)2}, {}]}}
  %7 = spmd.collective_permute %w in <@mesh, [{"x"}, {}]> out <@mesh, [{"y":(1)2}, {}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "tp.tanh">]>} : tensor<16x8xf32> -> tensor<16x8xf32>
  %8 = tp.tanh %6 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {"y"}]>]} : tensor<8x8xf32> loc("last")
  // The annotated result asks for it.
  // expected-remark @below {{[Analysis] all_gather {y} of last | Category:tp-comm | Function=main | AskedFor=true, Reason="outer dimension: func.return needs the whole of a dimension that is cut along {y}", bytes=256, times=1, wire_bytes=192}}
  %9 = spmd.all_gather %8 [{}, {"y"}] in <@mesh, [{}, {"y"}]> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = gathered, user = "func.return", axes = <{"y"}>>], requested = true>} : tensor<8x8xf32> -> tensor<8x8xf32>
  return %9 : tensor<8x8xf32>
}
