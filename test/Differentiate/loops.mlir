// RUN: tp-opt %s --tp-differentiate --split-input-file | FileCheck %s

// The gradient of a loop over layers counts down. The forward loop saves what
// products give and take; what is cheap, the slice of the weights among it, is
// computed again. A layer's gradient is added to its own rows of the gradient of
// all, which the loop carries: nothing of their whole size is made in a layer.
// CHECK-LABEL: func.func @layers
// CHECK-DAG: %[[s0:.*]] = tp.constant dense<0.000000e+00> : tensor<3x4x8xf32>
// CHECK: %[[forward:.*]]:3 = tp.for 3(
// CHECK-COUNT-2: tp.dynamic_update_slice {{.*}} -> tensor<3x4x8xf32>
// CHECK: tp.yield
// CHECK: %[[zeros:.*]] = tp.constant dense<0.000000e+00> : tensor<3x8x8xf32>
// CHECK: %[[backward:.*]]:2 = tp.for 3(%{{.*}}, %[[zeros]])
// CHECK-NEXT: ^bb0(%[[counter:.*]]: tensor<i32>, %[[g:.*]]: tensor<4x8xf32>, %[[sum:.*]]: tensor<3x8x8xf32>):
// CHECK-NEXT: %[[two:.*]] = tp.constant dense<2>
// CHECK-NEXT: %[[at:.*]] = tp.sub %[[two]], %[[counter]]
// CHECK: tp.dynamic_slice %[[forward]]#1[%[[at]],
// CHECK: tp.dynamic_slice %[[forward]]#2[%[[at]],
// CHECK: tp.dynamic_slice %arg1[%[[at]],
// CHECK-NOT: tp.einsum "bi,io->bo"
// CHECK: tp.einsum "bo,io->bi"
// CHECK: tp.einsum "bo,bi->io"
// CHECK: %[[row:.*]] = tp.dynamic_slice %[[sum]][%[[at]],
// CHECK: %[[added:.*]] = tp.add %[[row]],
// CHECK: %[[written:.*]] = tp.dynamic_update_slice %[[sum]], %[[added]][%[[at]],
// CHECK-NEXT: tp.yield %{{.*}}, %[[written]]
// CHECK: return %{{.*}}, %[[backward]]#1
func.func @layers(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<3x8x8xf32> {tp.name = "w", tp.role = "parameter"}) -> (tensor<f32> {tp.name = "loss"}) {
  %zero = tp.constant dense<0> : tensor<i32>
  %h = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %a: tensor<4x8xf32>):
    %row = tp.dynamic_slice %w [%i, %zero, %zero] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %wi = tp.reshape %row : tensor<1x8x8xf32> -> tensor<8x8xf32>
    %p = tp.einsum "bi,io->bo" %a, %wi : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %n = tp.tanh %p : tensor<4x8xf32>
    tp.yield %n : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = tp.reduce sum %h dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// What a loop carries unchanged is not saved for every iteration: the backward
// loop reads it from outside.
// CHECK-LABEL: func.func @invariant
// CHECK: tp.for 5(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}})
// CHECK: tp.yield
// CHECK: tp.for 5
// CHECK: tp.cos
// CHECK: tp.mul %{{.*}}, %arg1
func.func @invariant(%x: tensor<4xf32> {tp.name = "x", tp.role = "parameter"}, %w: tensor<4xf32>) -> (tensor<f32> {tp.name = "loss"}) {
  %h:2 = tp.for 5 (%x, %w) {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>, %k: tensor<4xf32>):
    %p = tp.mul %a, %k : tensor<4xf32>
    %n = tp.sin %p : tensor<4xf32>
    tp.yield %n, %k : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %l = tp.reduce sum %h#0 dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A loop that does not run passes gradients by.
// CHECK-LABEL: func.func @never
// CHECK: %[[g:.*]] = tp.broadcast
// CHECK-NEXT: return %{{.*}}, %[[g]]
func.func @never(%x: tensor<4xf32> {tp.name = "x", tp.role = "parameter"}) -> (tensor<f32> {tp.name = "loss"}) {
  %h = tp.for 0 (%x) {
  ^bb0(%i: tensor<i32>, %a: tensor<4xf32>):
    %n = tp.sin %a : tensor<4xf32>
    tp.yield %n : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %l = tp.reduce sum %h dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A branch has the gradients of what it uses, and adds nothing to the others.
// CHECK-LABEL: func.func @branch
// CHECK: %[[g:.*]] = tp.broadcast
// CHECK: %[[dx:.*]]:2 = tp.case %arg0 {
// CHECK: %[[zero:.*]] = tp.constant dense<0.000000e+00>
// CHECK: tp.yield %[[g]], %[[zero]]
// CHECK: }, {
// CHECK: %[[da:.*]] = tp.mul %[[g]], %arg2
// CHECK: %[[db:.*]] = tp.mul %[[g]], %arg1
// CHECK: tp.yield %[[da]], %[[db]]
// CHECK: return %{{.*}}, %[[dx]]#0, %[[dx]]#1
func.func @branch(%p: tensor<i1>, %x: tensor<4xf32> {tp.name = "x", tp.role = "parameter"}, %y: tensor<4xf32> {tp.name = "y", tp.role = "parameter"}) -> (tensor<f32> {tp.name = "loss"}) {
  %h = tp.case %p {
    tp.yield %x : tensor<4xf32>
  }, {
    %m = tp.mul %x, %y : tensor<4xf32>
    tp.yield %m : tensor<4xf32>
  } : (tensor<i1>) -> tensor<4xf32>
  %l = tp.reduce sum %h dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// What is asked of a value is asked of its gradient; a barrier lets shardings
// pass the other way.
spmd.mesh @mesh <["d"=2]>
// CHECK-LABEL: func.func @directives
// CHECK: %[[g:.*]] = tp.broadcast
// CHECK-NEXT: %[[b:.*]] = spmd.barrier %[[g]] allowed_direction = backward
// CHECK-NEXT: %[[c:.*]] = spmd.constraint %[[b]] <@mesh, [{"d"}]>
// CHECK-NEXT: return %{{.*}}, %[[c]]
func.func @directives(%x: tensor<4xf32> {tp.name = "x", tp.role = "parameter"}) -> (tensor<f32> {tp.name = "loss"}) {
  %c = spmd.constraint %x <@mesh, [{"d"}]> : tensor<4xf32>
  %b = spmd.barrier %c allowed_direction = forward : tensor<4xf32>
  %l = tp.reduce sum %b dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// What the loss does not depend on has a gradient of zeros, and numbers that are
// no floats have none.
// CHECK-LABEL: func.func @apart
// CHECK-SAME: -> (tensor<f32> {tp.name = "loss"}, tensor<4xf32> {tp.name = "x.grad", tp.role = "gradient"}, tensor<3xf32> {tp.name = "y.grad", tp.role = "gradient"})
// CHECK: %[[zero:.*]] = tp.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK: return %{{.*}}, %{{.*}}, %[[zero]]
func.func @apart(%x: tensor<4xf32> {tp.name = "x", tp.role = "parameter"}, %y: tensor<3xf32> {tp.name = "y", tp.role = "parameter"},
                 %n: tensor<4xi32> {tp.name = "n", tp.role = "parameter"}) -> (tensor<f32> {tp.name = "loss"}) {
  %f = tp.convert %n : tensor<4xi32> -> tensor<4xf32>
  %p = tp.mul %f, %x : tensor<4xf32>
  %l = tp.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
