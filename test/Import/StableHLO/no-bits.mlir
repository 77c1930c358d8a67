// An integer attribute of no bits is 0.

// RUN: tp-opt %s --tp-import-stablehlo | FileCheck %s

// CHECK: tp.iota dim = 0 : tensor<4xi32>
func.func @main() -> tensor<4xi32> {
  %0 = "stablehlo.iota"() <{iota_dimension = 0 : i0}> : () -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
