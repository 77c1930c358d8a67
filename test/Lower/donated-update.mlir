// What is computed element by element is written where the argument lies that is
// donated to it, when nobody else reads that any more.

// RUN: tp-opt %s --tp-lower-to-step --split-input-file | FileCheck %s
// RUN: tp-run %S/Inputs/donated-update.mlir --shard="mesh=model=1" --check 2>&1 | FileCheck %s --check-prefix=SAME
// SAME-COUNT-5: check {{.*}}: ok

// An optimizer's step: gradients read the weight before. The momentum is a sum
// of a product's.
// CHECK-LABEL: step.program @step
// CHECK:       step.rows {{.*}}writes(
// CHECK:       step.matmul {{.*}} then [#step<post add>]
// CHECK:       step.matmul
// CHECK:       step.rows
// CHECK-NOT:   step.copy
func.func @step(%x: tensor<5x7xf32>, %w: tensor<7x37xf32> {tp.donated = 0 : i64}, %m: tensor<7x37xf32> {tp.donated = 1 : i64})
    -> (tensor<7x37xf32>, tensor<7x37xf32>, tensor<5x7xf32>) {
  %y = tp.einsum "bi,io->bo" %x, %w : (tensor<5x7xf32>, tensor<7x37xf32>) -> tensor<5x37xf32>
  %dw = tp.einsum "bi,bo->io" %x, %y : (tensor<5x7xf32>, tensor<5x37xf32>) -> tensor<7x37xf32>
  %dx = tp.einsum "bo,io->bi" %y, %w : (tensor<5x37xf32>, tensor<7x37xf32>) -> tensor<5x7xf32>
  %c = tp.constant dense<0.5> : tensor<7x37xf32>
  %h = tp.mul %m, %c : tensor<7x37xf32>
  %m1 = tp.add %h, %dw : tensor<7x37xf32>
  %w1 = tp.sub %w, %m1 : tensor<7x37xf32>
  return %w1, %m1, %dx : tensor<7x37xf32>, tensor<7x37xf32>, tensor<5x7xf32>
}

// -----

// Somebody reads the argument later.
// CHECK-LABEL: step.program @later
// CHECK:       step.rows {{.*}}writes(
// CHECK:       step.matmul
// CHECK:       step.copy
func.func @later(%x: tensor<5x7xf32>, %w: tensor<7x37xf32> {tp.donated = 0 : i64}) -> (tensor<7x37xf32>, tensor<5x37xf32>) {
  %w1 = tp.add %w, %w : tensor<7x37xf32>
  %w2 = tp.mul %w1, %w1 : tensor<7x37xf32>
  %y = tp.einsum "bi,io->bo" %x, %w : (tensor<5x7xf32>, tensor<7x37xf32>) -> tensor<5x37xf32>
  return %w2, %y : tensor<7x37xf32>, tensor<5x37xf32>
}

// -----

// An element is read at another place than it is written.
// CHECK-LABEL: step.program @turned
// CHECK:       step.rows {{.*}}writes(
// CHECK:       step.copy
func.func @turned(%w: tensor<6x6xf32> {tp.donated = 0 : i64}) -> tensor<6x6xf32> {
  %t = tp.transpose %w [1, 0] : tensor<6x6xf32> -> tensor<6x6xf32>
  %y = tp.add %w, %t : tensor<6x6xf32>
  return %y : tensor<6x6xf32>
}

// -----

// A row is read before it is written.
// CHECK-LABEL: step.program @normalised
// CHECK:       step.rows {{.*}}writes(
// CHECK:       step.copy
func.func @normalised(%w: tensor<6x37xf32> {tp.donated = 0 : i64}) -> tensor<6x37xf32> {
  %y = tp.softmax %w dim = 1 : tensor<6x37xf32>
  return %y : tensor<6x37xf32>
}
