// Started by torchrun or srun, a process is one rank, and finds the others where
// the environment says. Here there is one other that never comes.

// RUN: tp-opt %s --tp-compile="mesh=model=2 target=cuda" --tp-artifact=%t.tpx -o /dev/null
// RUN: env LD_LIBRARY_PATH=%fake_gpu RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=node1 MASTER_PORT=29500 \
// RUN:   not tp-run %t.tpx --backend=cuda --timeout=0.3 2>&1 | FileCheck %s
// CHECK: error: [TP0871] rank 1: NCCL, connecting the ranks at node1:29501: not finished within 300ms
// RUN: env LD_LIBRARY_PATH=%fake_gpu SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_LAUNCH_NODE_IPADDR=10.0.0.1 SLURM_JOB_ID=7 \
// RUN:   not tp-run %t.tpx --backend=cuda --timeout=0.3 2>&1 | FileCheck %s --check-prefix=SLURM
// SLURM: at 10.0.0.1:20007:
// RUN: env LD_LIBRARY_PATH=%fake_gpu RANK=1 WORLD_SIZE=2 not tp-run %t.tpx --backend=cuda 2>&1 | FileCheck %s --check-prefix=WHERE
// WHERE: error: [TP0863] the environment says rank 1 of 2, but not the address of rank 0; set NCCL_COMM_ID=HOST:PORT

// Alone, it takes NCCL where it is said where rank 0 is.
// RUN: tp-opt %s --tp-compile="mesh=model=1 target=cuda" --tp-artifact=%t1.tpx -o %t1.step
// RUN: tp-emulate-kernels %t1.step -o %t1.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_EMULATED_KERNELS=%t1.so TPRT_RECORD=%t1.log RANK=0 WORLD_SIZE=1 NCCL_COMM_ID=127.0.0.1:29500 \
// RUN:   tp-run %t1.tpx --backend=cuda --check | FileCheck %s --check-prefix=ONE
// ONE: check y: {{.*}}: ok
// RUN: FileCheck %s --check-prefix=RECORD --input-file=%t1.log --implicit-check-not=misuse --implicit-check-not=leak
// RECORD: connect rank 0 of 1
// RECORD: allGather

spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8xf32> {tp.name = "y"}) {
  %y = tp.reduce sum %x dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
