// RUN: tp-opt %s --tp-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: tp-opt %s --tp-differentiate="train=v" | FileCheck %s --check-prefix=ONE
// RUN: tp-opt %s --tp-differentiate="train=x,[vw]" | FileCheck %s --check-prefix=ALL

// A two-layer perceptron: parameters get gradients as results, in the order of
// the arguments. Each op of a gradient names the forward op that it serves, and
// what the gradients need of the forward pass is not computed again.

// CHECK-LABEL: func.func @main
// CHECK-SAME: tp.name = "loss"
// CHECK-SAME: tensor<10x14xf32> {tp.name = "w.grad", tp.role = "gradient"}
// CHECK-SAME: tensor<14x3xf32> {tp.name = "v.grad", tp.role = "gradient"}
// CHECK: %[[h:.*]] = tp.einsum "bi,io->bo" %[[x:.*]], %[[w:.*]] :
// CHECK: %[[a:.*]] = tp.tanh %[[h]]
// CHECK: %[[y:.*]] = tp.einsum "bi,io->bo" %[[a]], %[[v:.*]] :
// CHECK: %[[loss:.*]] = tp.reduce sum
// CHECK: %[[dy:.*]] = tp.broadcast
// CHECK: %[[da:.*]] = tp.einsum "bo,io->bi" %[[dy]], %[[v]]
// CHECK-SAME: loc("grad(layers.0.down)"("layers.0.down"))
// CHECK: %[[dv:.*]] = tp.einsum "bo,bi->io" %[[dy]], %[[a]]
// CHECK: %[[square:.*]] = tp.mul %[[a]], %[[a]]
// CHECK: %[[slope:.*]] = tp.sub %{{.*}}, %[[square]]
// CHECK: %[[dh:.*]] = tp.mul %[[da]], %[[slope]]
// CHECK-NEXT: %[[dw:.*]] = tp.einsum "bo,bi->io" %[[dh]], %[[x]]
// CHECK-SAME: loc("grad(layers.0.up)"("layers.0.up"))
// CHECK-NEXT: return %[[loss]], %[[dw]], %[[dv]]

// Of one parameter, no other gradient is computed.
// ONE: -> (tensor<f32> {tp.name = "loss"}, tensor<14x3xf32> {tp.name = "v.grad", tp.role = "gradient"})
// ONE: tp.broadcast
// ONE-NEXT: tp.einsum
// ONE-NEXT: return

// Inputs too, if they are named.
// ALL: -> (tensor<f32> {tp.name = "loss"}, tensor<6x10xf32> {tp.name = "x.grad", tp.role = "gradient"}, tensor<10x14xf32> {tp.name = "w.grad", tp.role = "gradient"}, tensor<14x3xf32> {tp.name = "v.grad", tp.role = "gradient"})

func.func @main(%x: tensor<6x10xf32> {tp.name = "x"}, %w: tensor<10x14xf32> {tp.name = "w", tp.role = "parameter"},
                %v: tensor<14x3xf32> {tp.name = "v", tp.role = "parameter"}) -> (tensor<f32> {tp.name = "loss"}) {
  %h = tp.einsum "bi,io->bo" %x, %w : (tensor<6x10xf32>, tensor<10x14xf32>) -> tensor<6x14xf32> loc("layers.0.up")
  %a = tp.tanh %h : tensor<6x14xf32>
  %y = tp.einsum "bi,io->bo" %a, %v : (tensor<6x14xf32>, tensor<14x3xf32>) -> tensor<6x3xf32> loc("layers.0.down")
  %l = tp.reduce sum %y dims = [0, 1] : tensor<6x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}
