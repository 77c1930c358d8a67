// A profiler that listens hears of each run, and of each step where it is issued
// or captured: by name, as in the artifact.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="mesh=model=2 target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=2 TPRT_RECORD=%t/log NVTX_INJECTION64_PATH=%fake_gpu/libnvtx_listener.so \
// RUN:   tp-run %t/a.tpx --backend=cuda --bench=1
// RUN: grep "range" %t/log | head -4 | FileCheck %s
// RUN: grep "range\|on d0" %t/log | FileCheck %s --check-prefix=STEPS
// RUN: grep -c "^range" %t/log > %t/begun && grep -c "^end of a range" %t/log > %t/ended && cmp %t/begun %t/ended

// Before times are taken, it runs for as long as is said: not just four runs
// of each of both ranks.
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=2 TPRT_RECORD=%t/warm NVTX_INJECTION64_PATH=%fake_gpu/libnvtx_listener.so \
// RUN:   tp-run %t/a.tpx --backend=cuda --bench=1 --warmup=0.5
// RUN: grep -c "range main" %t/log | FileCheck %s --check-prefix=COLD
// RUN: grep -c "range main" %t/warm | FileCheck %s --check-prefix=WARM
// COLD: {{^}}8
// WARM: {{^[1-9][0-9]}}

// One that is not there is no matter.
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=2 NVTX_INJECTION64_PATH=/nowhere tp-run %t/a.tpx --backend=cuda

// CHECK: range main
// STEPS: range main
// STEPS: range r
// STEPS: launch rows0 {{.*}} on d0.s0
// STEPS: range all_reduce
// STEPS: allReduce
// STEPS: launch graph of {{[0-9]+}} on d0.s0

spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8xf32> {tp.name = "y"}) {
  %r = tp.relu %x : tensor<4x8xf32>
  %y = tp.reduce sum %r dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
