// Attention of many rows, by warps, and on Hopper by warpgroups: what each form
// gives is what the program means, where positions, sequences and heads end
// early. The device is one of compute capability 9.0.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="mesh=model=1 target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: tp-emulate-kernels %t/a.step --chip=sm_90a -o %t/a.so
// RUN: env TPRT_FAKE_CHIP=90 LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/a.so tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: check result0: {{.*}}: ok

// Other chips have the form for all.
// RUN: tp-emulate-kernels %t/a.step -o %t/b.so
// RUN: env TPRT_FAKE_CHIP=100 LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/b.so tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME

func.func @main(%q: tensor<2x100x2x2x128xbf16>, %k: tensor<2x170x2x128xbf16>, %v: tensor<2x170x2x128xbf16>) -> tensor<2x100x2x2x128xbf16> {
  %p = tp.constant dense<70> : tensor<i32>
  %0 = tp.attention %q, %k, %v offset(%p : tensor<i32>) {causal, scale = 0.1 : f64}
      : (tensor<2x100x2x2x128xbf16>, tensor<2x170x2x128xbf16>, tensor<2x170x2x128xbf16>) -> tensor<2x100x2x2x128xbf16>
  return %0 : tensor<2x100x2x2x128xbf16>
}
