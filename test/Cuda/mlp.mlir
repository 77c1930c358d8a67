// An MLP on three GPUs that are none. Each rank has a stream for what it
// computes and one of higher priority for what it exchanges, which wait for each
// other by events; the second run captures both into one graph, which the later
// ones launch. The numbers are those of the interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="mesh=model=3 target=cuda" --tp-artifact=%t/mlp.tpx -o %t/mlp.step
// RUN: tp-emulate-kernels %t/mlp.step -o %t/kernels.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=3 TPRT_EMULATED_KERNELS=%t/kernels.so TPRT_RECORD=%t/log \
// RUN:   tp-run %t/mlp.tpx --backend=cuda --check --bench=2 2>&1 | FileCheck %s --check-prefix=BENCH
// RUN: grep -v '^module\|^connect\|^split\|d0\.\|d2\.' %t/log | FileCheck %s
// RUN: grep -c 'rank . position .' %t/log | FileCheck %s --check-prefix=SPLIT
// RUN: not grep 'misuse\|leak' %t/log

// Three GPUs and one that ranks share write one file.
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=3 TPRT_EMULATED_KERNELS=%t/kernels.so \
// RUN:   tp-run %t/mlp.tpx --backend=cuda --print --output=%t/cuda.safetensors > %t/cuda.txt
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/kernels.so \
// RUN:   tp-run %t/mlp.tpx --backend=virtual --print --output=%t/virtual.safetensors > %t/virtual.txt
// RUN: diff %t/cuda.txt %t/virtual.txt
// RUN: cmp %t/cuda.safetensors %t/virtual.safetensors

// What was measured at load is found again: nothing is computed before inputs
// are there.
// RUN: ls %t/tp-opt | FileCheck %s --check-prefix=CACHE
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=3 TPRT_RECORD=%t/log \
// RUN:   tp-run %t/mlp.tpx --backend=cuda --tf32
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=3 TPRT_RECORD=%t/log \
// RUN:   tp-run %t/mlp.tpx --backend=cuda --tf32 --trace=%t/trace.json
// RUN: FileCheck %s --check-prefix=TF32 --input-file=%t/log
// RUN: FileCheck %s --check-prefix=TRACE --input-file=%t/trace.json

spmd.mesh @mesh <["model"=3]>
func.func @main(%x: tensor<5x7xf32> {tp.name = "x"},
                %w1: tensor<7x9xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %w2: tensor<9x7xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<5x7xf32> {tp.name = "y"}) {
  %h = tp.einsum "bi,io->bo" %x, %w1 : (tensor<5x7xf32>, tensor<7x9xf32>) -> tensor<5x9xf32>
  %a = tp.relu %h : tensor<5x9xf32>
  %o = tp.einsum "bo,oi->bi" %a, %w2 : (tensor<5x9xf32>, tensor<9x7xf32>) -> tensor<5x7xf32>
  %y = tp.tanh %o : tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}

// BENCH: check y: {{.*}}: ok
// BENCH: main on 3 ranks, 2 runs
// BENCH: kernel         1 steps
// BENCH: matmul         2 steps
// BENCH: collective     2 steps

// CHECK:      stream d1.s0 priority 0
// CHECK-NEXT: stream d1.s1 priority -5
// CHECK-NEXT: allocate d1.m0+0 4096
// CHECK-NEXT: window d1.m0+0 of c0.0
// CHECK:      matmul 3x5x7 batch 1 epilogue 2 beta 0 [[W1:d1.m[0-9]+\+0]] [[X:d1.m[0-9]+\+0]] -> d1.m0+192 on d1.s0
// CHECK-NEXT: matmul 7x5x3 batch 1 epilogue 1 beta 0 [[W2:d1.m[0-9]+\+0]] d1.m0+192 -> d1.m0+0 on d1.s0
// CHECK-NEXT: record [[READY:d1.e[0-9]+]] on d1.s0
// CHECK-NEXT: wait [[READY]] on d1.s1
// CHECK-NEXT: allReduce 35 type 7 op 0 d1.m0+0 -> d1.m0+0 of c0.0 on d1.s1
// CHECK-NEXT: record [[DONE:d1.e[0-9]+]] on d1.s1
// CHECK-NEXT: wait [[DONE]] on d1.s0
// CHECK-NEXT: launch rows0 <1, 128, 0> d1.m0+0 [[Y:d1.m[0-9]+\+0]] on d1.s0
// CHECK:      capture d1.s0
// CHECK-NEXT: matmul 3x5x7 {{.*}} [[W1]] [[X]] -> d1.m0+192 on d1.s0
// CHECK-NEXT: matmul 7x5x3 {{.*}} [[W2]] d1.m0+192 -> d1.m0+0 on d1.s0
// CHECK-NEXT: record [[READY]] on d1.s0
// CHECK-NEXT: wait [[READY]] on d1.s1
// CHECK-NEXT: allReduce
// CHECK-NEXT: record [[DONE]] on d1.s1
// CHECK-NEXT: wait [[DONE]] on d1.s0
// CHECK-NEXT: launch rows0 {{.*}} d1.m0+0 [[Y]] on d1.s0
// CHECK-NEXT: captured 4 on d1.s0
// CHECK-NEXT: launch graph of 4 on d1.s0
// CHECK:      launch graph of 4 on d1.s0

// SPLIT: {{^}}3

// CACHE: tuning-Fake_GPU-130100.txt

// TF32-NOT: matmul
// TF32: launch random
// TF32: matmul {{.*}} tf32

// TRACE-DAG: "cat":"matmul"{{.*}}"tid":0
// TRACE-DAG: "name":"rank 2"
