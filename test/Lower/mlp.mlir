// RUN: tp-opt %s --tp-compile | FileCheck %s

// Bias and activation are the first product's epilogue; the partial sum of the
// second one is reduced where it lies, and the residual is a row program over
// all elements, as nothing depends on rows.

// CHECK-LABEL: step.program @main on @mesh
// CHECK-SAME:  #step.input<"w1", parameter, tensor<16x32xbf16
// CHECK-SAME:  arena
// CHECK:       step.matmul {{.*}} then [#step<post add>, #step<post gelu_erf>] with({{.*}}strided<[0, 0, 0, 0, 1]>>) constant_b
// CHECK-SAME:  into memref<1x1x1x8x32xbf16
// CHECK:       step.matmul {{.*}} into memref<1x1x1x8x16xbf16
// CHECK:       %[[T:.*]] = step.collective_start all_reduce sum <{"model"}> %[[Y:.*]] to %[[Y]]
// CHECK-NEXT:  step.collective_done %[[T]]
// CHECK:       step.rows [128] reads
// CHECK-COUNT-2: arith.extf
// CHECK:       arith.addf
// CHECK:       arith.truncf
// CHECK-NOT:   step.copy

spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<2x4x16xbf16> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %w1: tensor<16x64xbf16> {tp.name = "w1", tp.source = #tp.source<"w1", stored=[64, 16], start=[0, 0], size=[64, 16], view=[64, 16], permutation=[1, 0]>,
                                         spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %b: tensor<64xbf16> {tp.name = "b"}, %w2: tensor<64x16xbf16> {tp.name = "w2"})
    -> (tensor<2x4x16xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = tp.einsum "bsi,io->bso" %x, %w1 : (tensor<2x4x16xbf16>, tensor<16x64xbf16>) -> tensor<2x4x64xbf16>
  %1 = tp.broadcast %b dims = [2] : tensor<64xbf16> -> tensor<2x4x64xbf16>
  %2 = tp.add %0, %1 : tensor<2x4x64xbf16>
  %3 = tp.gelu %2 : tensor<2x4x64xbf16>
  %4 = tp.einsum "bsi,io->bso" %3, %w2 : (tensor<2x4x64xbf16>, tensor<64x16xbf16>) -> tensor<2x4x16xbf16>
  %5 = tp.add %4, %x : tensor<2x4x16xbf16>
  return %5 : tensor<2x4x16xbf16>
}
