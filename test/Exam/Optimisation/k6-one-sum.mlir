// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K6: two row-parallel products are added.
// Sums commute.
//
// EXPECT: AR{tp} V=2048

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%a: tensor<4x16x64xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
                %b: tensor<4x16x64xf32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
                %u: tensor<64x64xf32> {tp.name = "u", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>},
                %v: tensor<64x64xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}) {
  %0 = tp.einsum "bsi,io->bso" %a, %u : (tensor<4x16x64xf32>, tensor<64x64xf32>) -> tensor<4x16x64xf32>
  %1 = tp.einsum "bsi,io->bso" %b, %v : (tensor<4x16x64xf32>, tensor<64x64xf32>) -> tensor<4x16x64xf32>
  %2 = tp.add %0, %1 : tensor<4x16x64xf32>
  return %2 : tensor<4x16x64xf32>
}
