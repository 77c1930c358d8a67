// Tensors without elements take no step: nothing computes, sends or carries them.
//
// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s
// RUN: tp-opt %s --tp-lower-to-step --tp-assign-buffers -o /dev/null

// What enters and leaves the program keeps its place.
// CHECK-LABEL: step.program @elementwise
// CHECK-NEXT: ^bb0(%{{.+}}: memref<0x4xf32>, %{{.+}}: memref<4x0xf32>, %{{.+}}: memref<0x4xf32>, %{{.+}}: memref<4x0xf32>):
// CHECK-NEXT: }
func.func @elementwise(%x: tensor<0x4xf32>, %z: tensor<4x0xf32>) -> (tensor<0x4xf32>, tensor<4x0xf32>) {
  %y = tp.exp %x : tensor<0x4xf32>
  return %y, %z : tensor<0x4xf32>, tensor<4x0xf32>
}

// A sum of nothing is 0, a product 1, a greatest the least number there is.
// CHECK-LABEL: step.program @reductions
// CHECK-DAG: arith.constant 0.000000e+00 : f32
// CHECK-DAG: arith.constant 1.000000e+00 : f32
// CHECK-DAG: arith.constant 0xFF800000 : f32
// CHECK-DAG: arith.constant 2147483647 : i32
func.func @reductions(%x: tensor<0x4xf32>, %n: tensor<0x4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %s = tp.reduce sum %x dims = [0] : tensor<0x4xf32> -> tensor<4xf32>
  %p = tp.reduce prod %x dims = [0] : tensor<0x4xf32> -> tensor<4xf32>
  %m = tp.reduce max %x dims = [0] : tensor<0x4xf32> -> tensor<4xf32>
  %l = tp.reduce min %n dims = [0] : tensor<0x4xi32> -> tensor<4xi32>
  return %s, %p, %m, %l : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// A product over no letter's elements is zeros, and no matmul; nor is there attention
// without keys.
// CHECK-LABEL: step.program @products
// CHECK-NOT: step.matmul
// CHECK-NOT: step.attention
// CHECK: step.program @movements
func.func @products(%a: tensor<4x0xf32>, %b: tensor<0x3xf32>, %q: tensor<2x4x1x8xf32>, %k: tensor<2x0x1x8xf32>) -> (tensor<4x3xf32>, tensor<2x4x1x8xf32>) {
  %0 = tp.einsum "mk,kn->mn" %a, %b : (tensor<4x0xf32>, tensor<0x3xf32>) -> tensor<4x3xf32>
  %s = tp.einsum "bqhd,bkhd->bhqk" %q, %k : (tensor<2x4x1x8xf32>, tensor<2x0x1x8xf32>) -> tensor<2x1x4x0xf32>
  %p = tp.softmax %s dim = 3 : tensor<2x1x4x0xf32>
  %1 = tp.einsum "bhqk,bkhd->bqhd" %p, %k : (tensor<2x1x4x0xf32>, tensor<2x0x1x8xf32>) -> tensor<2x4x1x8xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<2x4x1x8xf32>
}

// What is put together, padded, looked up and written where there is nothing.
// CHECK-NOT: step.scatter
// CHECK-NOT: step.concat
// CHECK: step.program @carried
func.func @movements(%x: tensor<0x4xf32>, %y: tensor<2x4xf32>, %i: tensor<0xi32>, %v: tensor<f32>) -> (tensor<2x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %c = tp.concat %x, %y, %x dim = 0 : (tensor<0x4xf32>, tensor<2x4xf32>, tensor<0x4xf32>) -> tensor<2x4xf32>
  %p = tp.pad %x, %v low = [1, 0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %s = tp.scatter add %y, %i, %x axis = 0 batch = 0 : (tensor<2x4xf32>, tensor<0xi32>, tensor<0x4xf32>) -> tensor<2x4xf32>
  %zero = tp.constant dense<0> : tensor<i32>
  %u = tp.dynamic_update_slice %y, %x [%zero, %zero] : (tensor<2x4xf32>, tensor<0x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  return %c, %p, %s, %u : tensor<2x4xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// Loops and branches do not carry it, and a loop that carries nothing else is gone.
// CHECK: step.loop
// CHECK-NOT: memref<0x
// CHECK-NOT: step.loop
// CHECK: step.program @sent
func.func @carried(%x: tensor<0x4xf32>, %y: tensor<4xf32>, %f: tensor<i1>) -> (tensor<0x4xf32>, tensor<4xf32>, tensor<0x4xf32>, tensor<4xf32>) {
  %0:2 = tp.for 3 (%x, %y) {
  ^bb0(%t: tensor<i32>, %a: tensor<0x4xf32>, %b: tensor<4xf32>):
    %e = tp.exp %a : tensor<0x4xf32>
    %s = tp.reduce sum %e dims = [0] : tensor<0x4xf32> -> tensor<4xf32>
    %d = tp.sub %b, %s : tensor<4xf32>
    %h = tp.tanh %d : tensor<4xf32>
    tp.yield %e, %h : tensor<0x4xf32>, tensor<4xf32>
  } : (tensor<0x4xf32>, tensor<4xf32>) -> (tensor<0x4xf32>, tensor<4xf32>)
  %1 = tp.for 3 (%x) {
  ^bb0(%t: tensor<i32>, %a: tensor<0x4xf32>):
    %e = tp.exp %a : tensor<0x4xf32>
    tp.yield %e : tensor<0x4xf32>
  } : (tensor<0x4xf32>) -> tensor<0x4xf32>
  %2:2 = tp.case %f {
    tp.yield %1, %y : tensor<0x4xf32>, tensor<4xf32>
  }, {
    tp.yield %x, %0#1 : tensor<0x4xf32>, tensor<4xf32>
  } : (tensor<i1>) -> (tensor<0x4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %2#0, %2#1 : tensor<0x4xf32>, tensor<4xf32>, tensor<0x4xf32>, tensor<4xf32>
}

// Nobody waits for nothing, and of a launch of several parts those stay that are some.
// CHECK: step.collective_start
// CHECK-NOT: step.collective_start
spmd.mesh @mesh <["x"=2]>
!e = tensor<0x4xf32, #spmd.local<@mesh, [{}, {}], unreduced={"x"}, global=[0, 4]>>
!r = tensor<0x4xf32, #spmd.local<@mesh, [{}, {}], global=[0, 4]>>
!p = tensor<4xf32, #spmd.local<@mesh, [{}], unreduced={"x"}, global=[4]>>
!s = tensor<4xf32, #spmd.local<@mesh, [{}], global=[4]>>
func.func @sent(%x: !r, %y: !s) -> (!r, !r, !s) {
  %e = spmd.to_partial %x {"x"} in <@mesh, [{}, {}]> out <@mesh, [{}, {}], unreduced={"x"}> : !r -> !e
  %p = spmd.to_partial %y {"x"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"x"}> : !s -> !p
  %0 = spmd.all_reduce %e {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> : !e -> !r
  %1:2 = spmd.combined all_reduce %e, %p in [<@mesh, [{}, {}], unreduced={"x"}>, <@mesh, [{}], unreduced={"x"}>] out [<@mesh, [{}, {}]>, <@mesh, [{}]>] : (!e, !p) -> (!r, !s)
  return %0, %1#0, %1#1 : !r, !r, !s
}
