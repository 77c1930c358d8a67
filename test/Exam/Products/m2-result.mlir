// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M2: a result axis says nothing about the contracting dimension.
//
// EXPECT: none
// PROPAGATED: x [a?,?]; w [?,b?]
// MESHES: a=3,b=2; a=5,b=1

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<12x20xf32> {tp.name = "x"},
                %w: tensor<20x28xf32> {tp.name = "w"})
    -> (tensor<12x28xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {"b"}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<12x20xf32>, tensor<20x28xf32>) -> tensor<12x28xf32>
  return %y : tensor<12x28xf32>
}
