// RUN: tp-opt %s --tp-shard=stop-after=partition | FileCheck %s

// What a constraint leaves open may be anything: nothing is gathered for it, in a loop
// least of all. What it closes is exactly so.
spmd.mesh @mesh <["data"=2, "model"=2]>
// CHECK-LABEL: func.func @open
// CHECK-NOT: spmd.reshard
// CHECK: tp.for
// CHECK-NOT: spmd.reshard
// CHECK: return
func.func @open(%x: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>})
    -> (tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>}) {
  %0 = tp.for 9 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x6xf32>):
    %a = spmd.constraint %h <@mesh, [{?}, {"model"}]> : tensor<8x6xf32>
    %b = tp.exp %a : tensor<8x6xf32>
    %c = spmd.constraint %b <@mesh, [{"data", ?}, {?}]> : tensor<8x6xf32>
    tp.yield %c : tensor<8x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// CHECK-LABEL: func.func @closed
// CHECK: %[[X:.+]] = spmd.reshard %arg0 <@mesh, [{"data"}, {}]>
// CHECK: tp.exp %[[X]] {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}]>]}
func.func @closed(%x: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>})
    -> (tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %a = spmd.constraint %x <@mesh, [{?}, {}]> : tensor<8x6xf32>
  %b = tp.exp %a : tensor<8x6xf32>
  return %b : tensor<8x6xf32>
}
