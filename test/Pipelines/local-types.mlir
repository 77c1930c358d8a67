// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Types are compared with their mesh before a pass computes with them.

// RUN: tp-opt %s --tp-shard --split-input-file --verify-diagnostics

spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"z"}], global=[4]>>
// expected-error @below {{[TP0202] 'tensor<2xf32, #spmd.local<@mesh, [{"z"}], global=[4]>>': mesh @mesh has no axis "z"}}
func.func @f(%x: !x) -> !x {
  return %x : !x
}

// -----

// expected-error @below {{[TP0201] the module has no mesh "mesh"}}
func.func @f(%x: tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>) {
  return
}

// -----

spmd.mesh @mesh <["x"=2]>
// expected-error @below {{[TP0704] 'tensor<3xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>': expects one device's part to have sizes [2]}}
func.func @f(%x: tensor<3xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>) {
  return
}

// -----

spmd.mesh @mesh <["x"=2]>
// expected-error @below {{[TP0412] expects the whole program, not the program of one device: 'tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>' is one device's part of a tensor}}
func.func @f(%x: tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>) {
  return
}

// -----

spmd.mesh @mesh <["x"=2]>
// expected-error @below {{[TP0213] expects tensors of static sizes, with floats or integers of at most 64 bits as elements, got 'tensor<4xindex>'}}
func.func @f(%x: tensor<4xindex>) -> tensor<4xindex> {
  return %x : tensor<4xindex>
}
