// What goes wrong before and while GPUs compute ends every rank, with the cause.

// RUN: rm -rf %t && mkdir -p %t/no-driver %t/no-nccl
// RUN: tp-opt %s --tp-compile="mesh=model=2 target=cuda" --tp-artifact=%t/sum.tpx -o /dev/null
// RUN: tp-opt %s --tp-compile="mesh=model=2 target=cpu" --tp-artifact=%t/cpu.tpx -o /dev/null
// RUN: echo 'func.func @main(%%x: tensor<8x8xf32>) -> tensor<8x8xf32> { %%y = tp.einsum "ij,jk->ik" %%x, %%x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> return %%y : tensor<8x8xf32> }' > %t/product.mlir
// RUN: tp-opt %t/product.mlir --tp-compile="mesh=model=1 target=cuda" --tp-artifact=%t/product.tpx -o /dev/null

// The library that the driver is late enough for is looked for first, the other
// one otherwise. Not knowing its version is no reason to end.
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_FAIL=cuDriverGetVersion:1 tp-run %t/product.tpx --backend=cuda
// RUN: mkdir -p %t/no-blas && ln -s %fake_gpu/libcuda.so.1 %t/no-blas/libcuda.so.1 && touch %t/no-blas/libcublasLt.so.12 %t/no-blas/libcublasLt.so.13
// RUN: env LD_LIBRARY_PATH=%t/no-blas not tp-run %t/product.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=THIRTEEN
// THIRTEEN: cannot load libcublasLt.so.13 or libcublasLt.so.12
// RUN: env LD_LIBRARY_PATH=%t/no-blas TPRT_FAKE_DRIVER=12080 not tp-run %t/product.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=TWELVE
// TWELVE: cannot load libcublasLt.so.12 or libcublasLt.so.13

// A library that is there but is none.
// RUN: touch %t/no-driver/libcuda.so.1
// RUN: env LD_LIBRARY_PATH=%t/no-driver not tp-run %t/sum.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=DRIVER
// DRIVER: [TP0882] cannot load libcuda.so.1: {{.*}}; install version 535 or later of the NVIDIA driver
// RUN: ln -s %fake_gpu/libcuda.so.1 %t/no-nccl/libcuda.so.1 && touch %t/no-nccl/libnccl.so.2
// RUN: env LD_LIBRARY_PATH=%t/no-nccl TPRT_FAKE_DEVICES=2 not tp-run %t/sum.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=NCCL
// NCCL: [TP0882] rank {{[01]}}: cannot load libnccl.so.2: {{.*}}; install NCCL 2.18 or later

// No GPU, too few of them, another machine's program, another mesh.
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=0 not tp-run %t/sum.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: [TP0883] the GPU: starting the driver: no CUDA-capable device is detected {{.*}}; run on a machine with an NVIDIA GPU
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_FAIL=cuInit:1 not tp-run %t/sum.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=INIT
// INIT: [TP0883] the GPU: starting the driver: an error of the fake GPU
// RUN: env LD_LIBRARY_PATH=%fake_gpu not tp-run %t/sum.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: [TP0883] rank 1 is process number 1 on this machine, but the machine has 1 GPUs: use fewer ranks, or --backend=virtual to run all ranks on one GPU
// RUN: env LD_LIBRARY_PATH=%fake_gpu not tp-run %t/cpu.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: [TP0849]
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=2 not tp-run %t/sum.tpx --backend=cuda --ranks=3 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: [TP0873]
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=2 TPRT_FAKE_MEMORY=1000 not tp-run %t/sum.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: [TP0878] {{.*}}: use more devices, or a smaller batch or cache

// A collective that never ends: both ranks say so, and the first cause is it.
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=2 TPRT_FAKE_STUCK=8 not tp-run %t/sum.tpx --backend=cuda --timeout=0.5 2>&1 | FileCheck %s --check-prefix=STUCK
// STUCK: error: [TP0871] rank {{[01]}}, all_reduce '{{.*}}': not finished within 500ms
// STUCK: error: [TP087{{[01]}}] rank {{[01]}}

// Processes whose GPUs do not find each other, and one that dies on the way.
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=2 not %mpirun -n 2 tp-run %t/sum.tpx --backend=cuda --timeout=1 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE-DAG: error: [TP0871] rank {{[01]}}: NCCL, connecting the ranks: not finished within 1s
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=2 not timeout 20 %mpirun -n 1 tp-run %t/sum.tpx --backend=cuda : -n 1 env TPRT_FAKE_DEATH=connect tp-run %t/sum.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=DEATH
// DEATH: error: [TP0870] rank 0: the launcher ended the job

spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8xf32> {tp.name = "y"}) {
  %y = tp.reduce sum %x dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
