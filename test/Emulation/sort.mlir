// What sorts of long rows give on a GPU, by all kernels that they fall into, is
// what the program means: parts that leave their first, and tiles that are
// merged; beside rows that are one kernel.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="mesh=model=1 target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: FileCheck %s --input-file=%t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/a.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/a.so tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME

// CHECK-COUNT-4: step.sort_parts
// CHECK-NOT:     step.sort_parts
// SAME-COUNT-10: check result{{[0-9]}}: {{.*}}: ok

func.func @main(%x: tensor<2x20011xf32>, %y: tensor<9001x2xbf16>, %z: tensor<1x37000xi8>, %w: tensor<5x40xf16>)
    -> (tensor<2x50xf32>, tensor<2x50xi32>, tensor<2x20011xf32>, tensor<2x20011xi32>,
        tensor<9001x2xbf16>, tensor<9001x2xi32>, tensor<1x2000xi8>, tensor<1x2000xi32>,
        tensor<5x4xf16>, tensor<5x4xi32>) {
  %0, %1 = tp.top_k %x : tensor<2x20011xf32> -> tensor<2x50xf32>, tensor<2x50xi32>
  %2, %3 = tp.sort %x dim = 1 : tensor<2x20011xf32> -> tensor<2x20011xf32>, tensor<2x20011xi32>
  %4, %5 = tp.sort %y dim = 0 descending : tensor<9001x2xbf16> -> tensor<9001x2xbf16>, tensor<9001x2xi32>
  %6, %7 = tp.top_k %z : tensor<1x37000xi8> -> tensor<1x2000xi8>, tensor<1x2000xi32>
  %8, %9 = tp.top_k %w : tensor<5x40xf16> -> tensor<5x4xf16>, tensor<5x4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9
      : tensor<2x50xf32>, tensor<2x50xi32>, tensor<2x20011xf32>, tensor<2x20011xi32>,
        tensor<9001x2xbf16>, tensor<9001x2xi32>, tensor<1x2000xi8>, tensor<1x2000xi32>,
        tensor<5x4xf16>, tensor<5x4xi32>
}
