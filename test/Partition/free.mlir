// Nobody has annotated anything: with free arguments and axes, the batch is
// sharded, and nothing is sent.
// RUN: tp-opt %s --tp-partition="free-arguments all-axes" | FileCheck %s

spmd.mesh @mesh <["x"=4]>

// CHECK: func.func @mlp(%{{.*}}: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}
// CHECK-SAME: -> (tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
// CHECK-NOT: spmd.reshard
func.func @mlp(%x: tensor<8x16xf32>, %up: tensor<16x32xf32>, %down: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %h = tp.einsum "bi,ij->bj" %x, %up : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %a = tp.relu %h : tensor<8x32xf32>
  %y = tp.einsum "bj,jo->bo" %a, %down : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// What is written down stays.
// CHECK: func.func @kept(%{{.*}}: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}
func.func @kept(%x: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8x16xf32> {
  %y = tp.relu %x : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// A result that overwrites a free argument says what that one is.
// CHECK: func.func @donated(%{{.*}}: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>, tp.donated = 0 : i64}
// CHECK-SAME: -> (tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
// CHECK-NOT: spmd.reshard
func.func @donated(%x: tensor<8x16xf32> {tp.donated = 0 : i64}) -> (tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %y = tp.relu %x : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
