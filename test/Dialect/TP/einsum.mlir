// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// A matrix product, a batched one, an outer product, a product that widens.
// CHECK-LABEL: func.func @einsum
func.func @einsum(%x: tensor<4x16x64xf32>, %w: tensor<64x256xf32>, %v: tensor<8xbf16>,
                  %i: tensor<8xi8>) {
  // CHECK: tp.einsum "bsi,io->bso" %{{.+}}, %{{.+}} : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %0 = tp.einsum "bsi,io->bso" %x, %w : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  // CHECK: tp.einsum "bsi,bti->bst"
  %1 = tp.einsum "bsi,bti->bst" %x, %x : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x16xf32>
  // CHECK: tp.einsum "a,b->ab" {{.+}} -> tensor<8x8xf32>
  %2 = tp.einsum "a,b->ab" %v, %v : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8x8xf32>
  // CHECK: tp.einsum "a,a->" {{.+}} -> tensor<i32>
  %3 = tp.einsum "a,a->" %i, %i : (tensor<8xi8>, tensor<8xi8>) -> tensor<i32>
  return
}

// Products whose blocks travel: of one factor, of two beside the input itself, and
// one whose sum is scattered.
// CHECK-LABEL: func.func @chunked
func.func @chunked(%x: tensor<4x16x64xf32>, %w: tensor<64x256xf32>, %v: tensor<32x64xf32>) {
  // CHECK: tp.gather_einsum %{{.+}}, %{{.+}} by ["bsi,io->bso"] sides [0] dim 1 pieces 2 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %0 = tp.gather_einsum %x, %w by ["bsi,io->bso"] sides [0] dim 1 pieces 2 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  // CHECK: %{{.+}}:3 = tp.gather_einsum %{{.+}}, %{{.+}}, %{{.+}} by ["bsi,io->bso", "ni,bsi->snb"] sides [0, 1] dim 1 pieces 1
  %1:3 = tp.gather_einsum %x, %w, %v by ["bsi,io->bso", "ni,bsi->snb"] sides [0, 1] dim 1 pieces 1 : (tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<32x64xf32>) -> (tensor<4x16x256xf32>, tensor<16x32x4xf32>, tensor<4x16x64xf32>)
  // CHECK: tp.einsum_scatter "bsi,io->bso" %{{.+}}, %{{.+}} dim 1 pieces 4 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %2 = tp.einsum_scatter "bsi,io->bso" %x, %w dim 1 pieces 4 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  return
}

// The four ways to reduce; over all dimensions the result is a scalar.
// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<4x16xf32>, %n: tensor<4xui8>) {
  // CHECK: tp.reduce sum %{{.+}} dims = [1] : tensor<4x16xf32> -> tensor<4xf32>
  %0 = tp.reduce sum %x dims = [1] : tensor<4x16xf32> -> tensor<4xf32>
  // CHECK: tp.reduce max %{{.+}} dims = [0, 1] : tensor<4x16xf32> -> tensor<f32>
  %1 = tp.reduce max %x dims = [0, 1] : tensor<4x16xf32> -> tensor<f32>
  // CHECK: tp.cumulative sum %{{.+}} dim = 1 : tensor<4x16xf32> -> tensor<4x16xf32>
  %c0 = tp.cumulative sum %x dim = 1 : tensor<4x16xf32> -> tensor<4x16xf32>
  // CHECK: tp.cumulative max %{{.+}} dim = 0 reverse : tensor<4x16xf32> -> tensor<4x16xf32>
  %c1 = tp.cumulative max %x dim = 0 reverse : tensor<4x16xf32> -> tensor<4x16xf32>
  // CHECK: tp.reduce min
  %2 = tp.reduce min %x dims = [0] : tensor<4x16xf32> -> tensor<16xf32>
  // CHECK: tp.reduce prod %{{.+}} dims = [] : tensor<4xui8> -> tensor<4xui8>
  %3 = tp.reduce prod %n dims = [] : tensor<4xui8> -> tensor<4xui8>
  return
}
