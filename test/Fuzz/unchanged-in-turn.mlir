// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A loop carries %y unchanged, and thus %x, which takes its place. That is known only when the
// loops before are known to carry theirs unchanged.
//
// RUN: tp-fuzz --compiled %s
// RUN: tp-opt %s --tp-compile=verify=off | FileCheck %s
// CHECK:      step.program @main
// CHECK-NEXT: ^bb0(%[[A:.*]]: memref<4xi32>, %[[R:.*]]: memref<4xi32>):
// CHECK-NEXT: step.copy %[[A]] to %[[R]]

spmd.mesh @mesh <[]>
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %0:2 = tp.for 3(%a, %a) {
  ^bb0(%i: tensor<i32>, %x: tensor<4xi32>, %y: tensor<4xi32>):
    tp.yield %y, %a : tensor<4xi32>, tensor<4xi32>
  } : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  %1 = tp.constant dense<0> : tensor<i32>
  %2:2 = tp.while(%1, %a) cond {
  ^bb0(%n: tensor<i32>, %x: tensor<4xi32>):
    %5 = tp.constant dense<0> : tensor<i32>
    %6 = tp.compare lt %n, %5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %6 : tensor<i1>
  } do {
  ^bb0(%n: tensor<i32>, %x: tensor<4xi32>):
    tp.yield %n, %x : tensor<i32>, tensor<4xi32>
  } : (tensor<i32>, tensor<4xi32>) -> (tensor<i32>, tensor<4xi32>)
  %3:2 = tp.for 3(%0#0, %0#0) {
  ^bb0(%i: tensor<i32>, %x: tensor<4xi32>, %y: tensor<4xi32>):
    tp.yield %y, %2#1 : tensor<4xi32>, tensor<4xi32>
  } : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %3#0 : tensor<4xi32>
}
