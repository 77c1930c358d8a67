// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The page is whole, has every part, and no name becomes markup.

// RUN: tp-opt %s --tp-report="%t.html machine=cpu table=false" -o /dev/null
// RUN: FileCheck %s --input-file=%t.html
// Of a program that is sharded here, what its plan costs and how it is proved.
// RUN: tp-opt %S/../Tools/mistakes/Inputs/mlp.mlir --tp-shard=machine=h100 --tp-report=%t.plan.html -o /dev/null
// RUN: FileCheck %s --input-file=%t.plan.html --check-prefix=PLAN
// PLAN: verified: field, by computing this program and the whole program
// PLAN: predicted: {{.*}} us per call, if devices wait for each collective
// PLAN: planned 1 reshard, proved optimal
// RUN: not grep -E "https?:|src=|<script" %t.html

// CHECK:      <!doctype html>
// CHECK:      <h2>@main</h2>
// CHECK:      @main: 1 all_reduce; 384 B sent
// CHECK:      verified: off, nothing was proved
// CHECK:      predicted: {{.*}} per call
// CHECK:      <h3>Communication</h3>
// CHECK:      <h3>Memory per device</h3>
// CHECK:      <h3>Layers</h3>
// CHECK:      layers.7
// CHECK:      <h3>Every collective, in program order</h3>
// CHECK:      layers.7.&lt;out&gt;
// CHECK:      op &lt;b&gt; needs
// CHECK:      <h3>Arguments</h3>
// CHECK:      input (no role given)
// CHECK:      f32[4,16]
// CHECK-SAME: <code>[{}, {&quot;model&quot;}]</code>
// CHECK-SAME: <summary>4 parts</summary>
// CHECK:      </html>

spmd.mesh @mesh <["model"=4]>

func.func @main(
    %a: tensor<4x16xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
    %w: tensor<16x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %0 = tp.einsum "bi,io->bo" %a, %w {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"model"}>]}
      : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> loc("layers.7.<out>")
  %1 = spmd.all_reduce %0 {"model"} in <@mesh, [{}, {}], unreduced={"model"}> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = contracted, user = "op <b>", axes = <{"model"}>>]>} : tensor<4x16xf32> -> tensor<4x16xf32>
  return
}
