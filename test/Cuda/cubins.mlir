// Cubins of each chip are loaded, and PTX where there is none or the driver
// refuses it.

// REQUIRES: cuda-toolkit
// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="mesh=model=1 target=cuda" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/kernels.so
// DEFINE: %{run} = env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/kernels.so TPRT_RECORD=%t/log tp-run %t/a.tpx --backend=cuda --check
// RUN: env TPRT_FAKE_CHIP=80 %{run} && FileCheck %s --input-file=%t/log
// RUN: env TPRT_FAKE_CHIP=89 %{run} && FileCheck %s --input-file=%t/log
// RUN: env TPRT_FAKE_CHIP=90 %{run} && FileCheck %s --input-file=%t/log
// RUN: env TPRT_FAKE_CHIP=100 %{run} && FileCheck %s --input-file=%t/log
// RUN: env TPRT_FAKE_CHIP=120 %{run} && FileCheck %s --input-file=%t/log --check-prefix=PTX
// RUN: env TPRT_FAKE_CHIP=90 TPRT_FAKE_FAIL=cuModuleLoadData:1 %{run} && FileCheck %s --input-file=%t/log --check-prefix=PTX
// RUN: env TPRT_FAKE_CHIP=75 not %{run} 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: cubin of 2 kernels
// CHECK: launch rows0 <{{.*}}> {{[^ ]+ [^ ]+}} on d0.s0
// PTX: module of 2 kernels
// PTX: launch rows0 <{{.*}}> {{[^ ]+ [^ ]+}} on d0.s0
// NONE: [TP0885] the artifact has code for sm_80, sm_90a, sm_100, but none of it runs on this Fake GPU of sm_75

func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> (tensor<4x8xf32> {tp.name = "y"}) {
  %y = tp.tanh %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
