// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// N2: an inner dimension of 15 over 2.
// The padded column and row are zero; nothing is dropped.
//
// EXPECT: AR{x} V=60
// MESHES: x=1; x=3; x=5; x=8

spmd.mesh @mesh <["x"=2]>

func.func @main(%a: tensor<6x15xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<15x10xf32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6x10xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %e = tp.exp %a : tensor<6x15xf32>
  %y = tp.einsum "ik,kj->ij" %e, %b : (tensor<6x15xf32>, tensor<15x10xf32>) -> tensor<6x10xf32>
  return %y : tensor<6x10xf32>
}
