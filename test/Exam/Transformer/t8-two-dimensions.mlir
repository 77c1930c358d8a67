// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T8: weights and activations cut both ways.
// Every tensor lies on all 8 devices and is gathered over one axis only.
//
// EXPECT: AG{y} V=8192, AG{x} V=16384, RS{y} V=8192
// WIRE: 20480
// MESHES: x=1,y=1; x=2,y=1; x=3,y=1; x=2,y=2; x=3,y=2; x=2,y=3; x=2,y=4

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<16x32x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {"y"}]>},
                %w1: tensor<64x256xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>},
                %w2: tensor<256x64xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<16x32x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {"y"}]>}) {
  %h = tp.einsum "bsi,io->bso" %x, %w1 : (tensor<16x32x64xf32>, tensor<64x256xf32>) -> tensor<16x32x256xf32>
  %g = tp.gelu %h : tensor<16x32x256xf32>
  %y = tp.einsum "bso,oi->bsi" %g, %w2 : (tensor<16x32x256xf32>, tensor<256x64xf32>) -> tensor<16x32x64xf32>
  return %y : tensor<16x32x64xf32>
}
