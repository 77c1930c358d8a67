// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T7: FSDP forward and backward.
// Weights are smaller than activations; the gradient sum is scattered at once.
//
// EXPECT: AG{d} V=8192, RS{d} V=8192

spmd.mesh @mesh <["d"=4]>

func.func @main(%x: tensor<16x64x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}, {}]>},
                %dy: tensor<16x64x32xf32> {tp.name = "dy", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}, {}]>},
                %w1: tensor<32x128xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>},
                %w2: tensor<128x32xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{}, {"d"}]>})
    -> (tensor<16x64x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}, {}]>}, tensor<16x64x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}, {}]>}, tensor<32x128xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>}, tensor<128x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"d"}]>}) {
  %h = tp.einsum "bsi,io->bso" %x, %w1 : (tensor<16x64x32xf32>, tensor<32x128xf32>) -> tensor<16x64x128xf32>
  %g = tp.tanh %h : tensor<16x64x128xf32>
  %y = tp.einsum "bso,oi->bsi" %g, %w2 : (tensor<16x64x128xf32>, tensor<128x32xf32>) -> tensor<16x64x32xf32>
  %dg = tp.einsum "bsi,oi->bso" %dy, %w2 : (tensor<16x64x32xf32>, tensor<128x32xf32>) -> tensor<16x64x128xf32>
  %one = tp.constant dense<1.0> : tensor<16x64x128xf32>
  %gg = tp.mul %g, %g : tensor<16x64x128xf32>
  %slope = tp.sub %one, %gg : tensor<16x64x128xf32>
  %dh = tp.mul %dg, %slope : tensor<16x64x128xf32>
  %dw2 = tp.einsum "bso,bsi->oi" %g, %dy : (tensor<16x64x128xf32>, tensor<16x64x32xf32>) -> tensor<128x32xf32>
  %dw1 = tp.einsum "bsi,bso->io" %x, %dh : (tensor<16x64x32xf32>, tensor<16x64x128xf32>) -> tensor<32x128xf32>
  %dx = tp.einsum "bso,io->bsi" %dh, %w1 : (tensor<16x64x128xf32>, tensor<32x128xf32>) -> tensor<16x64x32xf32>
  return %y, %dx, %dw1, %dw2 : tensor<16x64x32xf32>, tensor<16x64x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>
}
