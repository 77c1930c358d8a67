// What attention gives on a GPU, by kernels and steps together, is what the
// program means: of whole sequences, of few queries with the parts put together,
// and where no kernel fits.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="mesh=model=1 target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step 2> %t/remarks
// RUN: FileCheck %s --input-file=%t/a.step
// RUN: FileCheck %s --input-file=%t/remarks --check-prefix=REMARK
// RUN: tp-emulate-kernels %t/a.step -o %t/a.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/a.so tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME

// CHECK-COUNT-6: step.attention
// CHECK-NOT:     step.attention
// REMARK:        remark: this attention runs without an attention kernel: attention kernels support at most 256 features, and only multiples of 8, got 6
// SAME-COUNT-5:  check result{{[0-4]}}: {{.*}}: ok

func.func @main(%q: tensor<2x40x2x2x32xbf16>, %k: tensor<2x40x2x32xbf16>, %v: tensor<2x40x2x32xbf16>,
                %q1: tensor<1x1x2x4x64xf16>, %k1: tensor<1x300x2x64xf16>, %v1: tensor<1x300x2x64xf16>,
                %q2: tensor<2x5x1x2x16xf32>, %k2: tensor<2x9x1x16xf32>, %m2: tensor<2x5x9xi1>,
                %q3: tensor<1x3x1x1x6xbf16>, %k3: tensor<1x3x1x6xbf16>)
    -> (tensor<2x40x2x2x32xbf16>, tensor<1x1x2x4x64xf16>, tensor<2x5x1x2x16xf32>, tensor<2x2x1x2x16xf32>, tensor<1x3x1x1x6xbf16>) {
  %0 = tp.attention %q, %k, %v {causal, window = 9, scale = 0.2 : f64}
      : (tensor<2x40x2x2x32xbf16>, tensor<2x40x2x32xbf16>, tensor<2x40x2x32xbf16>) -> tensor<2x40x2x2x32xbf16>
  %p = tp.constant dense<140> : tensor<i64>
  %1 = tp.attention %q1, %k1, %v1 offset(%p : tensor<i64>) {causal, scale = 0.125 : f64}
      : (tensor<1x1x2x4x64xf16>, tensor<1x300x2x64xf16>, tensor<1x300x2x64xf16>) -> tensor<1x1x2x4x64xf16>
  %2 = tp.attention %q2, %k2, %k2 mask(%m2 : tensor<2x5x9xi1>) {scale = 0.25 : f64}
      : (tensor<2x5x1x2x16xf32>, tensor<2x9x1x16xf32>, tensor<2x9x1x16xf32>) -> tensor<2x5x1x2x16xf32>
  %l = tp.constant dense<[4, 0]> : tensor<2xi32>
  %s = tp.slice %q2 starts = [0, 2, 0, 0, 0] strides = [1, 2, 1, 1, 1] : tensor<2x5x1x2x16xf32> -> tensor<2x2x1x2x16xf32>
  %3 = tp.attention %s, %k2, %k2 lengths(%l : tensor<2xi32>) {scale = 0.25 : f64}
      : (tensor<2x2x1x2x16xf32>, tensor<2x9x1x16xf32>, tensor<2x9x1x16xf32>) -> tensor<2x2x1x2x16xf32>
  %4 = tp.attention %q3, %k3, %k3 {causal, scale = 0.25 : f64}
      : (tensor<1x3x1x1x6xbf16>, tensor<1x3x1x6xbf16>, tensor<1x3x1x6xbf16>) -> tensor<1x3x1x1x6xbf16>
  return %0, %1, %2, %3, %4 : tensor<2x40x2x2x32xbf16>, tensor<1x1x2x4x64xf16>, tensor<2x5x1x2x16xf32>, tensor<2x2x1x2x16xf32>, tensor<1x3x1x1x6xbf16>
}
