// Products of few rows have a kernel of their own beside the library's. The runtime times
// both at load, keeps the faster one for the device, and executes it: what the kernels
// give is what the program means, for weights [in, out] and [out, in], sizes that fill no
// block and no access, f32, bf16 and f16, a bias, a residual and activations.

// RUN: rm -rf %t && mkdir -p %t/kernels %t/library
// RUN: tp-opt %s --tp-compile="mesh=x=1 target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: FileCheck %s --check-prefix=STEP --input-file=%t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/a.so

// The kernels are faster than what the fake library proposes. A second session finds that
// in the file, and times nothing.
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/kernels TPRT_EMULATED_KERNELS=%t/a.so TPRT_RECORD=%t/first.log \
// RUN:   tp-run %t/a.tpx --backend=cuda --check --trace=%t/trace.json 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: FileCheck %s --check-prefix=TIMED --input-file=%t/first.log --implicit-check-not=misuse
// RUN: FileCheck %s --check-prefix=TRACE --input-file=%t/trace.json
// RUN: grep -c '^choice:[0-9a-f]*:[0-9a-f]* 01$' %t/kernels/tp-opt/tuning-Fake_GPU-130100.txt | FileCheck %s --check-prefix=KEPT
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/kernels TPRT_EMULATED_KERNELS=%t/a.so TPRT_RECORD=%t/again.log \
// RUN:   tp-run %t/a.tpx --backend=cuda --check --bench=3 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: FileCheck %s --check-prefix=AGAIN --input-file=%t/again.log --implicit-check-not=misuse
// RUN: not grep '^matmul' %t/again.log

// Where they are slower, the library computes.
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/library TPRT_EMULATED_KERNELS=%t/a.so TPRT_RECORD=%t/library.log TPRT_FAKE_SLOW=skinny_matmul:9 \
// RUN:   tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: grep -c '^choice:[0-9a-f]*:[0-9a-f]* 00$' %t/library/tp-opt/tuning-Fake_GPU-130100.txt | FileCheck %s --check-prefix=KEPT
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/library TPRT_EMULATED_KERNELS=%t/a.so TPRT_RECORD=%t/other.log \
// RUN:   tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: FileCheck %s --check-prefix=LIBRARY --input-file=%t/other.log --implicit-check-not=misuse --implicit-check-not=skinny

// A CPU has no choice.
// RUN: tp-opt %s --tp-compile="mesh=x=1" -o %t/cpu.step
// RUN: FileCheck %s --check-prefix=CPU --input-file=%t/cpu.step

// STEP:         step.choose {
// STEP-NEXT:      step.matmul
// STEP-NEXT:    } or {
// STEP-NEXT:      step.skinny_matmul
// STEP-COUNT-9: step.choose
// STEP-NOT:     step.choose

// SAME-COUNT-10: check y{{[0-9]+}}: {{.*}}: ok

// TIMED: launch graph of 1
// KEPT: {{^}}10{{$}}
// TRACE-DAG: skinny_matmul

// AGAIN-COUNT-10: launch skinny_matmul
// LIBRARY-COUNT-10: matmul {{[0-9]+x}}

// CPU-NOT: step.choose
// CPU-NOT: step.skinny_matmul

func.func @main(
    // f32 [in, out], with columns that no access of 16 bytes divides, and one row.
    %x0: tensor<3x200xf32>, %w0: tensor<200x135xf32>, %x1: tensor<1x97xf32>, %w1: tensor<97x172xf32>,
    // f32 [out, in], with a bias and a residual.
    %x2: tensor<5x202xf32>, %w2: tensor<99x202xf32>, %b2: tensor<99xf32>, %r2: tensor<5x99xf32>,
    // So many columns that each warp has its own.
    %x3: tensor<2x8xf32>, %w3: tensor<4101x8xf32>,
    // bf16, both ways, of 8 rows.
    %x4: tensor<8x300xbf16>, %w4: tensor<300x136xbf16>, %b4: tensor<136xbf16>,
    %x5: tensor<8x1032xbf16>, %w5: tensor<90x1032xbf16>, %r5: tensor<8x90xbf16>,
    %x6: tensor<4x513xbf16>, %w6: tensor<37x513xbf16>,
    // f16, both ways.
    %x7: tensor<7x130xf16>, %w7: tensor<130x264xf16>, %x8: tensor<6x264xf16>, %w8: tensor<131x264xf16>,
    // bf16 into f32.
    %x9: tensor<1x2056xbf16>, %w9: tensor<33x2056xbf16>)
    -> (tensor<3x135xf32> {tp.name = "y0"}, tensor<1x172xf32> {tp.name = "y1"}, tensor<5x99xf32> {tp.name = "y2"},
        tensor<2x4101xf32> {tp.name = "y3"}, tensor<8x136xbf16> {tp.name = "y4"}, tensor<8x90xbf16> {tp.name = "y5"},
        tensor<4x37xbf16> {tp.name = "y6"}, tensor<7x264xf16> {tp.name = "y7"}, tensor<6x131xf16> {tp.name = "y8"},
        tensor<1x33xf32> {tp.name = "y9"}) {
  %y0 = tp.einsum "mk,kn->mn" %x0, %w0 : (tensor<3x200xf32>, tensor<200x135xf32>) -> tensor<3x135xf32>
  %p1 = tp.einsum "mk,kn->mn" %x1, %w1 : (tensor<1x97xf32>, tensor<97x172xf32>) -> tensor<1x172xf32>
  %y1 = tp.relu %p1 : tensor<1x172xf32>
  %p2 = tp.einsum "mk,nk->mn" %x2, %w2 : (tensor<5x202xf32>, tensor<99x202xf32>) -> tensor<5x99xf32>
  %c2 = tp.broadcast %b2 dims = [1] : tensor<99xf32> -> tensor<5x99xf32>
  %q2 = tp.add %p2, %c2 : tensor<5x99xf32>
  %y2 = tp.add %r2, %q2 : tensor<5x99xf32>
  %y3 = tp.einsum "mk,nk->mn" %x3, %w3 : (tensor<2x8xf32>, tensor<4101x8xf32>) -> tensor<2x4101xf32>
  %p4 = tp.einsum "mk,kn->mn" %x4, %w4 : (tensor<8x300xbf16>, tensor<300x136xbf16>) -> tensor<8x136xbf16>
  %c4 = tp.broadcast %b4 dims = [1] : tensor<136xbf16> -> tensor<8x136xbf16>
  %q4 = tp.add %p4, %c4 : tensor<8x136xbf16>
  %y4 = tp.gelu tanh %q4 : tensor<8x136xbf16>
  %p5 = tp.einsum "mk,nk->mn" %x5, %w5 : (tensor<8x1032xbf16>, tensor<90x1032xbf16>) -> tensor<8x90xbf16>
  %y5 = tp.add %p5, %r5 : tensor<8x90xbf16>
  %y6 = tp.einsum "mk,nk->mn" %x6, %w6 : (tensor<4x513xbf16>, tensor<37x513xbf16>) -> tensor<4x37xbf16>
  %y7 = tp.einsum "mk,kn->mn" %x7, %w7 : (tensor<7x130xf16>, tensor<130x264xf16>) -> tensor<7x264xf16>
  %y8 = tp.einsum "mk,nk->mn" %x8, %w8 : (tensor<6x264xf16>, tensor<131x264xf16>) -> tensor<6x131xf16>
  %p9 = tp.einsum "mk,nk->mn" %x9, %w9 : (tensor<1x2056xbf16>, tensor<33x2056xbf16>) -> tensor<1x33xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %p9 : tensor<3x135xf32>, tensor<1x172xf32>, tensor<5x99xf32>, tensor<2x4101xf32>, tensor<8x136xbf16>, tensor<8x90xbf16>, tensor<4x37xbf16>, tensor<7x264xf16>, tensor<6x131xf16>, tensor<1x33xf32>
}
