// RUN: tp-opt %s --tp-import-stablehlo | FileCheck %s

// Operations with an op of the same meaning become that op.
// CHECK-LABEL: func.func @direct
func.func @direct(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<4xi1>) -> tensor<4xbf16> {
  // CHECK: %[[SUM:.+]] = tp.add %arg0, %arg1 : tensor<4xf32>
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  // CHECK: %[[LESS:.+]] = tp.compare lt %[[SUM]], %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = stablehlo.compare LT, %0, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: %[[BOTH:.+]] = tp.and %[[LESS]], %arg2 : tensor<4xi1>
  %2 = stablehlo.multiply %1, %p : tensor<4xi1>
  // CHECK: %[[CHOSEN:.+]] = tp.select %[[BOTH]], %arg0, %[[SUM]]
  %3 = stablehlo.select %2, %x, %0 : tensor<4xi1>, tensor<4xf32>
  // CHECK: tp.convert %[[CHOSEN]] : tensor<4xf32> -> tensor<4xbf16>
  %4 = stablehlo.convert %3 : (tensor<4xf32>) -> tensor<4xbf16>
  return %4 : tensor<4xbf16>
}

// The generic form means the same.
// CHECK-LABEL: func.func @generic
func.func @generic(%x: tensor<4xf32>) -> tensor<4xi1> {
  // CHECK: tp.compare ge %arg0, %arg0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %0 = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction GE>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
