// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T5: an MLP forward and backward, tensor and data parallel.
// The Megatron count: no column-parallel gradient is summed too early.
//
// EXPECT: AR{tp} V=8192, AR{dp} V=8192

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<4x32x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>},
                %dy: tensor<4x32x64xf32> {tp.name = "dy", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>},
                %w1: tensor<64x256xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %w2: tensor<256x64xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x32x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}, tensor<4x32x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}, tensor<64x256xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>}, tensor<256x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>}) {
  %h = tp.einsum "bsi,io->bso" %x, %w1 : (tensor<4x32x64xf32>, tensor<64x256xf32>) -> tensor<4x32x256xf32>
  %g = tp.tanh %h : tensor<4x32x256xf32>
  %y = tp.einsum "bso,oi->bsi" %g, %w2 : (tensor<4x32x256xf32>, tensor<256x64xf32>) -> tensor<4x32x64xf32>
  %dg = tp.einsum "bsi,oi->bso" %dy, %w2 : (tensor<4x32x64xf32>, tensor<256x64xf32>) -> tensor<4x32x256xf32>
  %one = tp.constant dense<1.0> : tensor<4x32x256xf32>
  %gg = tp.mul %g, %g : tensor<4x32x256xf32>
  %slope = tp.sub %one, %gg : tensor<4x32x256xf32>
  %dh = tp.mul %dg, %slope : tensor<4x32x256xf32>
  %dw2 = tp.einsum "bso,bsi->oi" %g, %dy : (tensor<4x32x256xf32>, tensor<4x32x64xf32>) -> tensor<256x64xf32>
  %dw1 = tp.einsum "bsi,bso->io" %x, %dh : (tensor<4x32x64xf32>, tensor<4x32x256xf32>) -> tensor<64x256xf32>
  %dx = tp.einsum "bso,io->bsi" %dh, %w1 : (tensor<4x32x256xf32>, tensor<64x256xf32>) -> tensor<4x32x64xf32>
  return %y, %dx, %dw1, %dw2 : tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<64x256xf32>, tensor<256x64xf32>
}
