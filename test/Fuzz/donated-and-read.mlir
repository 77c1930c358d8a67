// A donated argument is overwritten by one result and read by another, in one row
// program: what is read is what was there before. As one operand, it is read through
// the buffer that is written.
//
// RUN: tp-opt %s --tp-compile="mesh=x=1" --tp-artifact=%t.tpx -o %t.step
// RUN: FileCheck %s --input-file=%t.step
// RUN: tp-run %t.tpx --check --seed=3
// RUN: tp-opt %s --tp-compile="mesh=x=1 target=cuda ptxas=none chips=sm_90" --tp-artifact=%t.cuda.tpx -o %t.cuda.step
// RUN: tp-emulate-kernels %t.cuda.step -o %t.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t.cache TPRT_EMULATED_KERNELS=%t.so tp-run %t.cuda.tpx --backend=virtual --check --seed=3

// CHECK: step.rows [45] reads(%{{[0-9]+}} : memref<45xf32>) writes(%{{[0-9]+}}, %{{[0-9]+}} : memref<45xf32>, memref<45xf32>)

func.func @main(%x: tensor<9x5xf32> {tp.name = "x"},
                %s: tensor<9x5xf32> {tp.name = "s", tp.donated = 0 : i64})
    -> (tensor<9x5xf32> {tp.name = "new"}, tensor<9x5xf32> {tp.name = "product"}) {
  %0 = tp.cos %x : tensor<9x5xf32>
  %1 = tp.abs %0 : tensor<9x5xf32>
  %2 = tp.mul %0, %s : tensor<9x5xf32>
  return %1, %2 : tensor<9x5xf32>, tensor<9x5xf32>
}
