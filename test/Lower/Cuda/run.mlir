// What is lowered for CUDA computes what the program says: on two virtual ranks
// that share a GPU, which is none, with kernels executed on this machine.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="target=cuda ptxas=none chips=sm_90" --tp-artifact=%t/run.tpx -o %t/run.step
// RUN: tp-emulate-kernels %t/run.step -o %t/kernels.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=1 TPRT_EMULATED_KERNELS=%t/kernels.so \
// RUN:   tp-run %t/run.tpx --backend=virtual --check 2>&1 | FileCheck %s

// CHECK-COUNT-15: check {{.*}}: ok
// CHECK-NOT:      check

spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<6x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<16x32xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<32xf32> {tp.name = "b"}, %r: tensor<6x32xf32> {tp.name = "r"},
                %h: tensor<16x7xf16> {tp.name = "h"}, %g: tensor<16x32xf16> {tp.name = "g"},
                %v: tensor<1x16xbf16> {tp.name = "v"}, %m: tensor<16x32xbf16> {tp.name = "m"},
                %s: tensor<1x32xbf16> {tp.name = "s"}, %a: tensor<32xbf16> {tp.name = "a"},
                %i: tensor<5xi32> {tp.name = "i"}, %u: tensor<5x32xf32> {tp.name = "u"},
                %n: tensor<4x6xi32> {tp.name = "n", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %q: tensor<4x6xbf16> {tp.name = "q", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %e: tensor<3x16xf8E4M3FN> {tp.name = "e"}, %f: tensor<16x8xf8E4M3FN> {tp.name = "f"})
    -> (tensor<6x32xf32> {tp.name = "partial"}, tensor<6x32xf32> {tp.name = "epilogue"},
        tensor<7x32xf16> {tp.name = "half"}, tensor<1x32xbf16> {tp.name = "row"},
        tensor<6x32xf32> {tp.name = "silu"}, tensor<6x37xf32> {tp.name = "concat"},
        tensor<32x6xf32> {tp.name = "transposed"}, tensor<6x32xf32> {tp.name = "scattered"},
        tensor<6x3xf32> {tp.name = "best"}, tensor<6x3xi32> {tp.name = "places"},
        tensor<6xi32> {tp.name = "sum"}, tensor<6xbf16> {tp.name = "most"}, tensor<6xbf16> {tp.name = "least"},
        tensor<9x40xf32> {tp.name = "padded"}, tensor<3x8xf8E4M3FN> {tp.name = "byte"}) {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %wr = tp.abs %w : tensor<16x32xf32>
  %xr = tp.abs %x : tensor<6x16xf32>
  %1 = tp.einsum "md,de->me" %xr, %wr : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %2 = tp.broadcast %b dims = [1] : tensor<32xf32> -> tensor<6x32xf32>
  %3 = tp.add %1, %2 : tensor<6x32xf32>
  %4 = tp.add %r, %3 : tensor<6x32xf32>
  %epilogue = tp.gelu tanh %4 : tensor<6x32xf32>
  %half = tp.einsum "dm,de->me" %h, %g : (tensor<16x7xf16>, tensor<16x32xf16>) -> tensor<7x32xf16>
  %5 = tp.einsum "md,de->me" %v, %m : (tensor<1x16xbf16>, tensor<16x32xbf16>) -> tensor<1x32xbf16>
  %6 = tp.broadcast %a dims = [1] : tensor<32xbf16> -> tensor<1x32xbf16>
  %7 = tp.add %5, %6 : tensor<1x32xbf16>
  %row = tp.add %7, %s : tensor<1x32xbf16>
  %silu = tp.silu %0 : tensor<6x32xf32>
  %8 = tp.transpose %u [1, 0] : tensor<5x32xf32> -> tensor<32x5xf32>
  %9 = tp.slice %8 starts = [0, 0] strides = [5, 1] : tensor<32x5xf32> -> tensor<6x5xf32>
  %concat = tp.concat %silu, %9 dim = 1 : (tensor<6x32xf32>, tensor<6x5xf32>) -> tensor<6x37xf32>
  %transposed = tp.transpose %silu [1, 0] : tensor<6x32xf32> -> tensor<32x6xf32>
  %scattered = tp.scatter add %r, %i, %u axis = 0 batch = 0 : (tensor<6x32xf32>, tensor<5xi32>, tensor<5x32xf32>) -> tensor<6x32xf32>
  %best, %places = tp.top_k %r : tensor<6x32xf32> -> tensor<6x3xf32>, tensor<6x3xi32>
  %sum = tp.reduce sum %n dims = [0] : tensor<4x6xi32> -> tensor<6xi32>
  %most = tp.reduce max %q dims = [0] : tensor<4x6xbf16> -> tensor<6xbf16>
  %least = tp.reduce min %q dims = [0] : tensor<4x6xbf16> -> tensor<6xbf16>
  %one = tp.constant dense<1.0> : tensor<f32>
  %padded = tp.pad %r, %one low = [1, 3] : (tensor<6x32xf32>, tensor<f32>) -> tensor<9x40xf32>
  %byte = tp.einsum "md,de->me" %e, %f : (tensor<3x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>) -> tensor<3x8xf8E4M3FN>
  return %0, %epilogue, %half, %row, %silu, %concat, %transposed, %scattered, %best, %places, %sum, %most, %least, %padded, %byte
      : tensor<6x32xf32>, tensor<6x32xf32>, tensor<7x32xf16>, tensor<1x32xbf16>, tensor<6x32xf32>, tensor<6x37xf32>, tensor<32x6xf32>, tensor<6x32xf32>, tensor<6x3xf32>, tensor<6x3xi32>, tensor<6xi32>, tensor<6xbf16>, tensor<6xbf16>, tensor<9x40xf32>, tensor<3x8xf8E4M3FN>
}
