// A process that is killed in the middle of a step: the other, which waits for
// its part of the result, ends within five seconds and says why.

// DEFINE: %{x} = 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
// RUN: tp-opt %s --tp-compile="mesh=model=2 target=cuda" --tp-artifact=%t.tpx -o /dev/null
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=2 %mpirun -n 2 tp-run %t.tpx --backend=cuda --print | FileCheck %s --check-prefix=ALIVE
// ALIVE: y: f32[4, 8]
// RUN: not timeout 20 env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_DEVICES=2 %mpirun -n 1 tp-run %t.tpx --backend=cuda --input x=%{x} --print \
// RUN:   : -n 1 env TPRT_FAKE_DEATH=launch tp-run %t.tpx --backend=cuda --input x=%{x} --print 2>&1 | FileCheck %s
// CHECK: error: [TP0870] rank 0{{.*}} the launcher ended the job

spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<4x8xf32> {tp.name = "y"}) {
  %y = tp.tanh %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
