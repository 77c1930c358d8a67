// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// L2: the common prefix of all branches.
//
// PROPAGATED: r [a?]

spmd.mesh @mesh <["a"=2, "b"=2, "c"=2]>

func.func @main(%p: tensor<i1> {tp.name = "p"},
                %x: tensor<16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a", "b"}]>},
                %z: tensor<16xf32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{"a", "c"}]>})
    -> (tensor<16xf32>) {
  %r = tp.case %p {
    tp.yield %x : tensor<16xf32>
  }, {
    tp.yield %z : tensor<16xf32>
  } : (tensor<i1>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
