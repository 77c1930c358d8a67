// What a CUDA artifact cannot hold is an error that says so: chips that are
// none, an assembler that is not there or refuses a kernel, steps in a form that
// only other targets execute, and kernels too large to launch.

// RUN: rm -rf %t && split-file %s %t
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda chips=sm_90,sm_10 artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda ptxas=%t/none artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda chips=sm_90 ptxas=%S/fake_ptxas artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda chips=sm_90 ptxas=/bin/true artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not ls %t/a.tpx
// RUN: tp-opt %t/steps.mlir --split-input-file --verify-diagnostics --tp-write-artifact="target=cuda chips=sm_90 ptxas=none file=%t/b.tpx"
// RUN: tp-opt %t/cpu.mlir --split-input-file --verify-diagnostics --tp-write-artifact="file=%t/b.tpx"

// CHIP:    [TP0821] there is no chip 'sm_10' to compile for: write sm_80 or a later one
// PTXAS:   [TP0825] cannot execute '{{.*}}none', which ptxas= names
// REFUSED: [TP0824] for sm_90, {{.*}}fake_ptxas ended with 255: in kernel rows1: Arguments mismatch for instruction 'add'
// EMPTY:   [TP0824] for sm_90, /bin/true wrote no code for a GPU

//--- two.mlir
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0 = tp.relu %x : tensor<4x8xf32>
  %1 = tp.reduce sum %0 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = tp.exp %1 : tensor<4xf32>
  %3 = tp.softmax %x dim = 0 : tensor<4x8xf32>
  return %3, %2 : tensor<4x8xf32>, tensor<4xf32>
}

//--- steps.mlir
step.program @copy inputs [] outputs [] {
  %x = step.alloc at 0 : memref<4x8xf32>
  %y = step.alloc at 128 : memref<8x4xf32>
  %t = step.view %y : memref<8x4xf32> as memref<4x8xf32, strided<[1, 4]>>
  // expected-error @below {{[TP0822] step.copy in this form is not executed on cuda}}
  step.copy %x to %t : memref<4x8xf32> to memref<4x8xf32, strided<[1, 4]>>
}

// -----

step.program @fill inputs [] outputs [] {
  %x = step.alloc at 0 : memref<4xf64>
  step.fill %x with 0.0 : f64 in memref<4xf64>
  // expected-error @below {{[TP0822] step.fill in this form is not executed on cuda}}
  step.fill %x with 1.0 : f64 in memref<4xf64>
}

// -----

step.program @matmul inputs [] outputs [] {
  %a = step.alloc at 0 : memref<1x1x1x4x4xf32>
  %b = step.alloc at 64 : memref<1x1x1x4x4xf32>
  step.matmul %a, %a into %b : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
  // expected-error @below {{[TP0822] step.matmul in this form is not executed on cuda}}
  step.matmul %a, %a into %b then [#step<post silu>] : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
}

// -----

step.program @blocks inputs [] outputs [] {
  %x = step.constant dense<1.0> : tensor<1xf32> as memref<1xf32>
  %rows = step.view %x : memref<1xf32> as memref<2147483648x2000xf32, strided<[0, 0]>>
  %y = step.alloc at 0 : memref<1x1xf32>
  %sums = step.view %y : memref<1x1xf32> as memref<2147483648x1xf32, strided<[0, 0]>>
  // expected-error @below {{[TP0823] needs 2147483648 blocks of 128 threads}}
  step.rows [2147483648, 2000] reads(%rows : memref<2147483648x2000xf32, strided<[0, 0]>>) writes(%sums : memref<2147483648x1xf32, strided<[0, 0]>>) {
  ^bb0(%a: memref<2147483648x2000xf32, strided<[0, 0]>>, %b: memref<2147483648x1xf32, strided<[0, 0]>>):
    %0 = step.load %a : memref<2147483648x2000xf32, strided<[0, 0]>>
    %1 = step.reduce sum %0 : f32
    step.store %1 to %b : f32, memref<2147483648x1xf32, strided<[0, 0]>>
  }
}

//--- cpu.mlir
step.program @combine inputs [] outputs [] {
  %x = step.alloc at 0 : memref<4xf32>
  %y = step.alloc at 64 : memref<4xf32>
  // expected-error @below {{[TP0822] step.combine has no kernel on a CPU}}
  step.combine sum %x, %x into %y : memref<4xf32>, memref<4xf32> into memref<4xf32>
}

// -----

step.program @half inputs [] outputs [] {
  %a = step.alloc at 0 : memref<1x1x1x4x4xf16>
  %b = step.alloc at 64 : memref<1x1x1x4x4xf16>
  // expected-error @below {{[TP0822] step.matmul in this form is not executed on cpu}}
  step.matmul %a, %a into %b : memref<1x1x1x4x4xf16>, memref<1x1x1x4x4xf16> into memref<1x1x1x4x4xf16>
}
