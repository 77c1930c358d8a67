// Into how many kernels a sort falls on a GPU. A CPU sorts any row in one step.

// RUN: tp-opt %s --tp-lower-to-step="target=cuda" | FileCheck %s
// RUN: tp-opt %s --tp-lower-to-step="target=cpu" | FileCheck %s --check-prefix=CPU

// CPU-COUNT-5: step.sort {{.*}}into
// CPU-NOT:     step.{{sort|merge}}

// What fits into the memory that a block shares is one kernel.
// CHECK-LABEL: step.program @short
// CHECK:       step.sort descending %{{.+}} into %{{.+}}, %{{.+}} : memref<3x4096xf32> into memref<3x7xf32>, memref<3x7xi32>
// CHECK-NOT:   step.merge
func.func @short(%x: tensor<3x4096xf32>) -> (tensor<3x7xf32>, tensor<3x7xi32>) {
  %v, %i = tp.top_k %x : tensor<3x4096xf32> -> tensor<3x7xf32>, tensor<3x7xi32>
  return %v, %i : tensor<3x7xf32>, tensor<3x7xi32>
}

// A vocabulary falls into parts, of which another kernel takes the first of all.
// CHECK-LABEL: step.program @vocabulary
// CHECK:       step.sort_parts descending %{{.+}} parts 4008 keep 50 into %[[V:.+]], %[[I:.+]] : memref<2x128256xf32> into memref<2x1600xf32>, memref<2x1600xi32>
// CHECK-NEXT:  %[[V1:.+]] = step.alloc : memref<2x50xf32>
// CHECK-NEXT:  %[[I1:.+]] = step.alloc : memref<2x50xi32>
// CHECK-NEXT:  step.merge descending %[[V]], %[[I]] runs 50 ways 32 into %[[V1]], %[[I1]] : memref<2x1600xf32>, memref<2x1600xi32> into memref<2x50xf32>, memref<2x50xi32>
func.func @vocabulary(%x: tensor<2x128256xf32>) -> (tensor<2x50xf32>, tensor<2x50xi32>) {
  %v, %i = tp.top_k %x : tensor<2x128256xf32> -> tensor<2x50xf32>, tensor<2x50xi32>
  return %v, %i : tensor<2x50xf32>, tensor<2x50xi32>
}

// Rows that fill a GPU by themselves are not cut.
// CHECK-LABEL: step.program @rows
// CHECK:       step.sort descending %{{.+}} into
// CHECK-NOT:   step.merge
func.func @rows(%x: tensor<300x32000xbf16>) -> (tensor<300x50xbf16>, tensor<300x50xi32>) {
  %v, %i = tp.top_k %x : tensor<300x32000xbf16> -> tensor<300x50xbf16>, tensor<300x50xi32>
  return %v, %i : tensor<300x50xbf16>, tensor<300x50xi32>
}

// A long row is sorted in tiles, which are merged by fours; the last merge keeps
// what is asked for.
// CHECK-LABEL: step.program @long
// CHECK:       step.sort_parts %{{.+}} parts 4096 keep 4096 into %{{.+}}, %{{.+}} : memref<2x20001xf32> into memref<2x20001xf32>, memref<2x20001xi32>
// CHECK:       step.merge %{{.+}}, %{{.+}} runs 4096 ways 4 into %{{.+}}, %{{.+}} : memref<2x20001xf32>, memref<2x20001xi32> into memref<2x20001xf32>, memref<2x20001xi32>
// CHECK:       step.merge %{{.+}}, %{{.+}} runs 16384 ways 4 into %{{.+}}, %{{.+}} : memref<2x20001xf32>, memref<2x20001xi32> into memref<2x20001xf32>, memref<2x20001xi32>
// CHECK-NOT:   step.merge
func.func @long(%x: tensor<2x20001xf32>) -> (tensor<2x20001xf32>, tensor<2x20001xi32>) {
  %v, %i = tp.sort %x dim = 1 : tensor<2x20001xf32> -> tensor<2x20001xf32>, tensor<2x20001xi32>
  return %v, %i : tensor<2x20001xf32>, tensor<2x20001xi32>
}

// CHECK-LABEL: step.program @much
// CHECK:       step.sort_parts descending %{{.+}} parts 2048 keep 2048 into
// CHECK:       step.merge descending %{{.+}}, %{{.+}} runs 2048 ways 4 into %{{.+}}, %{{.+}} : memref<2x5000xf64>, memref<2x5000xi32> into memref<2x900xf64>, memref<2x900xi32>
// CHECK-NOT:   step.merge
func.func @much(%x: tensor<2x5000xf64>) -> (tensor<2x900xf64>, tensor<2x900xi32>) {
  %v, %i = tp.top_k %x : tensor<2x5000xf64> -> tensor<2x900xf64>, tensor<2x900xi32>
  return %v, %i : tensor<2x900xf64>, tensor<2x900xi32>
}
