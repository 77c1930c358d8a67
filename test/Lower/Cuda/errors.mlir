// What a CUDA artifact cannot hold is an error that says so: chips that are
// none or lack 8-bit floats, an assembler that is not there or refuses a kernel,
// options for another target, steps in a form that only other targets execute, and
// kernels too large to launch.

// RUN: rm -rf %t && split-file %s %t
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda chips=sm_90,sm_10 artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda ptxas=%t/none artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda chips=sm_90 ptxas=%S/fake_ptxas artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda chips=sm_90 ptxas=/bin/true artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 target=cuda fp8=true chips=sm_90,sm_86 artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=FP8
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 fp8=true" 2>&1 | FileCheck %s --check-prefix=FP8CPU
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 chips=sm_90 artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=CHIPCPU
// RUN: not tp-opt %t/two.mlir --tp-compile="mesh=x=1 ptxas=none artifact=%t/a.tpx" 2>&1 | FileCheck %s --check-prefix=PTXASCPU
// RUN: not ls %t/a.tpx
// RUN: tp-opt %t/steps.mlir --split-input-file --verify-diagnostics --tp-write-artifact="target=cuda chips=sm_90 ptxas=none file=%t/b.tpx"
// RUN: tp-opt %t/float8.mlir --split-input-file --verify-diagnostics --tp-write-artifact="target=cuda fp8=true ptxas=none file=%t/b.tpx"
// RUN: tp-opt %t/cpu.mlir --split-input-file --verify-diagnostics --tp-write-artifact="file=%t/b.tpx"

// CHIP:    [TP0821] the GPU 'sm_10' is not supported: write chips=sm_80 or a later one
// PTXAS:   [TP0825] cannot execute '{{.*}}none', which ptxas= names
// REFUSED: [TP0824] for sm_90, {{.*}}fake_ptxas ended with 255: in kernel rows1: Arguments mismatch for instruction 'add'
// FP8:     [TP0826] sm_86 cannot multiply 8-bit floats: name chips from sm_89 on, or compile without fp8=true
// FP8CPU:  [TP0604] fp8=true expects a GPU, got target=cpu: write target=cuda, or leave out fp8=true
// CHIPCPU: [TP0604] chips= is only for GPUs, but the target is cpu: write target=cuda, or leave it out
// PTXASCPU: [TP0604] ptxas= is only for GPUs, but the target is
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
  // expected-error @below {{[TP0822] step.copy in this form is not supported on cuda}}
  step.copy %x to %t : memref<4x8xf32> to memref<4x8xf32, strided<[1, 4]>>
}

// -----

step.program @fill inputs [] outputs [] {
  %x = step.alloc at 0 : memref<4xf64>
  step.fill %x with 0.0 : f64 in memref<4xf64>
  // expected-error @below {{[TP0822] step.fill in this form is not supported on cuda}}
  step.fill %x with 1.0 : f64 in memref<4xf64>
}

// -----

step.program @matmul inputs [] outputs [] {
  %a = step.alloc at 0 : memref<1x1x1x4x4xf32>
  %b = step.alloc at 64 : memref<1x1x1x4x4xf32>
  step.matmul %a, %a into %b : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
  // expected-error @below {{[TP0822] step.matmul in this form is not supported on cuda}}
  step.matmul %a, %a into %b then [#step<post silu>] : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
}

// -----

// Without fp8=true, 8-bit floats are not among the factors.
step.program @float8 inputs [] outputs [] {
  %a = step.alloc at 0 : memref<1x1x1x16x16xf8E4M3FN>
  %t = step.view %a : memref<1x1x1x16x16xf8E4M3FN> as memref<1x1x1x16x16xf8E4M3FN, strided<[0, 0, 0, 1, 16]>>
  %b = step.alloc at 256 : memref<1x1x1x16x16xf32>
  // expected-error @below {{[TP0822] step.matmul in this form is not supported on cuda}}
  step.matmul %a, %t into %b : memref<1x1x1x16x16xf8E4M3FN>, memref<1x1x1x16x16xf8E4M3FN, strided<[0, 0, 0, 1, 16]>> into memref<1x1x1x16x16xf32>
}

// -----

step.program @blocks inputs [] outputs [] {
  %x = step.constant dense<1.0> : tensor<1xf32> as memref<1xf32>
  %rows = step.view %x : memref<1xf32> as memref<2147483648x2000xf32, strided<[0, 0]>>
  %y = step.alloc at 0 : memref<1x1xf32>
  %sums = step.view %y : memref<1x1xf32> as memref<2147483648x1xf32, strided<[0, 0]>>
  // expected-error @below {{[TP0823] this kernel needs 2147483648 blocks of 128 threads}}
  step.rows [2147483648, 2000] reads(%rows : memref<2147483648x2000xf32, strided<[0, 0]>>) writes(%sums : memref<2147483648x1xf32, strided<[0, 0]>>) {
  ^bb0(%a: memref<2147483648x2000xf32, strided<[0, 0]>>, %b: memref<2147483648x1xf32, strided<[0, 0]>>):
    %0 = step.load %a : memref<2147483648x2000xf32, strided<[0, 0]>>
    %1 = step.reduce sum %0 : f32
    step.store %1 to %b : f32, memref<2147483648x1xf32, strided<[0, 0]>>
  }
}

//--- float8.mlir
step.program @along_k inputs [] outputs [] {
  %a = step.alloc at 0 : memref<1x1x1x16x16xf8E4M3FN>
  %t = step.view %a : memref<1x1x1x16x16xf8E4M3FN> as memref<1x1x1x16x16xf8E4M3FN, strided<[0, 0, 0, 1, 16]>>
  %b = step.alloc at 256 : memref<1x1x1x16x16xf32>
  step.matmul %a, %t into %b : memref<1x1x1x16x16xf8E4M3FN>, memref<1x1x1x16x16xf8E4M3FN, strided<[0, 0, 0, 1, 16]>> into memref<1x1x1x16x16xf32>
  // expected-error @below {{[TP0822] step.matmul in this form is not supported on cuda}}
  step.matmul %a, %a into %b : memref<1x1x1x16x16xf8E4M3FN>, memref<1x1x1x16x16xf8E4M3FN> into memref<1x1x1x16x16xf32>
}

// -----

step.program @residual inputs [] outputs [] {
  %a = step.alloc at 0 : memref<1x1x1x16x16xf8E4M3FN>
  %t = step.view %a : memref<1x1x1x16x16xf8E4M3FN> as memref<1x1x1x16x16xf8E4M3FN, strided<[0, 0, 0, 1, 16]>>
  %b = step.alloc at 256 : memref<1x1x1x16x16xbf16>
  %r = step.alloc at 1024 : memref<16x20xbf16>
  %p = step.view %r : memref<16x20xbf16> as memref<1x1x1x16x16xbf16, strided<[0, 0, 0, 20, 1]>>
  // expected-error @below {{[TP0822] step.matmul in this form is not supported on cuda}}
  step.matmul %a, %t into %b then [#step<post add>] with(%p : memref<1x1x1x16x16xbf16, strided<[0, 0, 0, 20, 1]>>) : memref<1x1x1x16x16xf8E4M3FN>, memref<1x1x1x16x16xf8E4M3FN, strided<[0, 0, 0, 1, 16]>> into memref<1x1x1x16x16xbf16>
}

//--- cpu.mlir
step.program @combine inputs [] outputs [] {
  %x = step.alloc at 0 : memref<4xf32>
  %y = step.alloc at 64 : memref<4xf32>
  // expected-error @below {{[TP0822] step.combine is not supported on a CPU}}
  step.combine sum %x, %x into %y : memref<4xf32>, memref<4xf32> into memref<4xf32>
}

// -----

step.program @half inputs [] outputs [] {
  %a = step.alloc at 0 : memref<1x1x1x4x4xf16>
  %b = step.alloc at 64 : memref<1x1x1x4x4xf16>
  // expected-error @below {{[TP0822] step.matmul in this form is not supported on cpu}}
  step.matmul %a, %a into %b : memref<1x1x1x4x4xf16>, memref<1x1x1x4x4xf16> into memref<1x1x1x4x4xf16>
}
