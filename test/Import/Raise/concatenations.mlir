// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Sums of neighbours that are zero everywhere else are concatenations, in whatever order
// they are added up.

// CHECK-LABEL: func.func @whole
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2x1xf32>, %[[C:.*]]: tensor<2x4xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.concat %[[A]], %[[B]], %[[C]] dim = 1
// CHECK-NEXT: return %[[Y]]
func.func @whole(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>, %c: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %pa = tp.pad %a, %zero low = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x8xf32>
  %pb = tp.pad %b, %zero low = [0, 3] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x8xf32>
  %pc = tp.pad %c, %zero low = [0, 4] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x8xf32>
  %ca = tp.add %pc, %pa : tensor<2x8xf32>
  %y = tp.add %ca, %pb : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// Something else is added, and rows 0 and 4 stay zero.
// CHECK-LABEL: func.func @part
// CHECK-SAME: %[[A:.*]]: tensor<1x2xi32>, %[[B:.*]]: tensor<2x2xi32>, %[[X:.*]]: tensor<5x2xi32>
// CHECK: %[[AB:.*]] = tp.concat %[[A]], %[[B]] dim = 0
// CHECK: %[[ZERO:.*]] = tp.constant dense<0>
// CHECK: %[[P:.*]] = tp.pad %[[AB]], %[[ZERO]] low = [1, 0]
// CHECK: tp.add %[[X]], %[[P]]
func.func @part(%a: tensor<1x2xi32>, %b: tensor<2x2xi32>, %x: tensor<5x2xi32>) -> tensor<5x2xi32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %pa = tp.pad %a, %zero low = [1, 0] : (tensor<1x2xi32>, tensor<i32>) -> tensor<5x2xi32>
  %pb = tp.pad %b, %zero low = [2, 0] : (tensor<2x2xi32>, tensor<i32>) -> tensor<5x2xi32>
  %ax = tp.add %pa, %x : tensor<5x2xi32>
  %y = tp.add %pb, %ax : tensor<5x2xi32>
  return %y : tensor<5x2xi32>
}

// -----

// They meet twice in the same place: one of them remains.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<2xf32>, %[[C:.*]]: tensor<2xf32>
// CHECK: %[[P:.*]] = tp.pad
// CHECK: %[[Y:.*]] = tp.concat
// CHECK: tp.add %[[P]], %[[Y]]
func.func @twice(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) -> tensor<4xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %pa = tp.pad %a, %zero low = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %pb = tp.pad %b, %zero low = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %pc = tp.pad %c, %zero low = [2] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %ab = tp.add %pa, %pb : tensor<4xf32>
  %y = tp.add %ab, %pc : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// They overlap, there is a gap, they are surrounded by ones, they lie along two dims, or
// something else wants one of them.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: tp.concat
func.func @stays(%a: tensor<3xf32>, %b: tensor<1xf32>, %m: tensor<1x2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %one = tp.constant dense<1.0> : tensor<f32>
  %low = tp.pad %a, %zero low = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %high = tp.pad %a, %zero low = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %overlap = tp.add %low, %high : tensor<4xf32>

  %first = tp.pad %b, %zero low = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %third = tp.pad %b, %zero low = [2] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %gap = tp.add %first, %third : tensor<4xf32>

  %ones = tp.pad %a, %one low = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %last = tp.pad %b, %zero low = [3] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %surrounded = tp.add %ones, %last : tensor<4xf32>

  %left = tp.pad %m, %zero low = [0, 0] : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x4xf32>
  %right = tp.pad %m, %zero low = [0, 2] : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x4xf32>
  %two = tp.add %left, %right : tensor<2x4xf32>

  %end = tp.pad %b, %zero low = [3] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %begin = tp.pad %a, %zero low = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %wanted = tp.add %begin, %end : tensor<4xf32>
  return %overlap, %gap, %surrounded, %two, %wanted, %end : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// In 16 bits the order of three addends matters, that of two does not.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[A:.*]]: tensor<2xbf16>, %[[B:.*]]: tensor<2xbf16>, %[[X:.*]]: tensor<4xbf16>, %{{.*}}: tensor<4xbf16>)
// CHECK: %[[AB:.*]] = tp.concat %[[A]], %[[B]] dim = 0
// CHECK: tp.add %[[X]], %[[AB]]
// CHECK-NOT: tp.concat
func.func @narrow(%a: tensor<2xbf16>, %b: tensor<2xbf16>, %x: tensor<4xbf16>, %y: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  %zero = tp.constant dense<0.0> : tensor<bf16>
  %pa = tp.pad %a, %zero low = [0] : (tensor<2xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %pb = tp.pad %b, %zero low = [2] : (tensor<2xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %ax = tp.add %pa, %x : tensor<4xbf16>
  %two = tp.add %ax, %pb : tensor<4xbf16>
  %qa = tp.pad %a, %zero low = [0] : (tensor<2xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %qb = tp.pad %b, %zero low = [2] : (tensor<2xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %bx = tp.add %qa, %x : tensor<4xbf16>
  %bxy = tp.add %bx, %y : tensor<4xbf16>
  %three = tp.add %bxy, %qb : tensor<4xbf16>
  return %two, %three : tensor<4xbf16>, tensor<4xbf16>
}
