// RUN: tp-opt %s --verify-roundtrip | FileCheck %s

// A function with the usual annotations prints as it was read.
// CHECK-LABEL: func.func @mlp
// CHECK: tp.einsum "bi,io->bo"

spmd.mesh @mesh <["data"=2, "model"=4]>
spmd.mesh @pod <["node"=2, "gpu"=8], device_ids=[15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0]> {links = [#spmd.link<us=5.0, gbps=50.0>, #spmd.link<us=2.0, gbps=370.0>]}
func.func @mlp(%x: tensor<8x512xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
               %w1: tensor<512x2048xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model", ?}p1]>},
               %w2: tensor<2048x512xf32> {tp.name = "w2", tp.source = #tp.source<"w2", stored=[512, 2048], start=[0, 0], size=[512, 2048], view=[512, 2048], permutation=[1, 0]>}, %q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>, %p: tensor<i32>) -> (tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}], unreduced=max{"model":(1)2}>}) {
  %0 = tp.einsum "bi,io->bo" %x, %w1 : (tensor<8x512xf32>, tensor<512x2048xf32>) -> tensor<8x2048xf32>
  %1 = tp.gelu tanh %0 : tensor<8x2048xf32>
  %2 = spmd.constraint %1 <@mesh, [{?}, {"model"}]> : tensor<8x2048xf32>
  %3 = tp.einsum "bo,oi->bi" %2, %w2 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (tensor<8x2048xf32>, tensor<2048x512xf32>) -> tensor<8x512xf32>
  %o = tp.attention %q, %k, %k offset(%p : tensor<i32>) {causal, scale = 0.125 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  %c = tp.constant dense<1.0> : tensor<8x512xf32>
  return %3 : tensor<8x512xf32>
}
