// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Without tp-partition a value may lie otherwise than the result that it is.

// RUN: tp-opt %s --tp-localize --verify-diagnostics

spmd.mesh @mesh <["x"=2]>
func.func @f(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0411] result #0 is computed as 'tensor<4xf32, #spmd.local<@mesh, [{}], global=[4]>>', but returned as 'tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>': run tp-partition first}}
  return %x : tensor<4xf32>
}
