// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Inputs are called what the text calls them.

// RUN: tp-opt %s --tp-name-inputs | FileCheck %s
// RUN: tp-opt %s --emit-bytecode -o %t.mlirbc
// RUN: tp-opt %t.mlirbc --tp-name-inputs | FileCheck %s
// RUN: tp-opt %s --tp-compile --tp-artifact=%t.tpx -o %t.mlir
// RUN: tp-run %t.tpx --entry=f --input up=1,2 --print 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: tp-run %s --entry=f --input up=1,2 --backend=interpreter --print 2>&1 | FileCheck %s --check-prefix=VALUES

spmd.mesh @mesh <["x"=1]>

// One that has a name, one that has none, one that a printer has made up, and one that
// another entry has, too.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %arg0: tensor<2xf32> {spmd.sharding = {{[^%]*}}, tp.name = "up"}
// CHECK-SAME: %arg1: tensor<2xf32> {tp.name = "given"}
// CHECK-SAME: %arg2: tensor<2xf32>, %arg3: tensor<2xf32>)
// VALUES: note: random values for
func.func @f(%up: tensor<2xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>},
             %b: tensor<2xf32> {tp.name = "given"},
             %arg2: tensor<2xf32>, %both: tensor<2xf32>) -> tensor<2xf32> {
  return %up : tensor<2xf32>
}

// CHECK-LABEL: func.func @g(
// CHECK-SAME: %arg0: tensor<2xf32>)
func.func @g(%both: tensor<2xf32>) -> tensor<2xf32> {
  return %both : tensor<2xf32>
}

// Of a function that nobody calls from outside nothing is an input.
// CHECK-LABEL: func.func private @h(
// CHECK-SAME: %arg0: tensor<2xf32>)
func.func private @h(%inner: tensor<2xf32>) -> tensor<2xf32> {
  return %inner : tensor<2xf32>
}
