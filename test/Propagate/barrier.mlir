// A barrier lets shardings through in the direction that it allows, as Shardy's
// does. The older form names the direction that it stops: it means what it did,
// and a warning says what to write.
//
// RUN: tp-opt %s --tp-propagate 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING < %t

spmd.mesh @mesh <["x"=2]>

// From the operand on, and not from the result back.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", ?}]>})
func.func @forward(%a: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = spmd.barrier %a allowed_direction = forward : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @no_way_back(
// CHECK-SAME: %arg0: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}]>}
func.func @no_way_back(%a: tensor<4xf32>) -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  %0 = spmd.barrier %a allowed_direction = forward : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %arg0: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", ?}]>}
func.func @backward(%a: tensor<4xf32>) -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  %0 = spmd.barrier %a allowed_direction = backward : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @none(
// CHECK-SAME: -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}]>})
func.func @none(%a: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = spmd.barrier %a allowed_direction = none : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The older form: forward is stopped, backward is not.
// CHECK-LABEL: func.func @old(
// CHECK-SAME: %arg0: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", ?}]>}
// CHECK: spmd.barrier %{{.+}} allowed_direction = backward
func.func @old(%a: tensor<4xf32>) -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // WARNING: warning: [TP0308] "forward" is the old syntax, which names the direction to stop: name the direction to allow, allowed_direction = backward
  %0 = spmd.barrier %a "forward" : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @old_both(
// CHECK: spmd.barrier %{{.+}} allowed_direction = none
func.func @old_both(%a: tensor<4xf32>) -> tensor<4xf32> {
  // WARNING: warning: [TP0308] "both" is the old syntax, which names the direction to stop: name the direction to allow, allowed_direction = none
  %0 = spmd.barrier %a "both" : tensor<4xf32>
  return %0 : tensor<4xf32>
}
