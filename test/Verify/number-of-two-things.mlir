// A number means what it is used for. 5 is the rows of a block here, and 11 the
// last place that 7 rows fit at: a local program that confuses them is wrong,
// though both are 2 on the sizes that dynamic slices are checked on.
//
// RUN: tp-opt %s --tp-shard="stop-after=import" | tp-opt --tp-propagate --tp-partition --tp-plan-collectives --tp-localize=keep-global > %t.mlir
// RUN: tp-opt %t.mlir --tp-verify-partition
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=RIGHT
// RUN: sed 's/tp.min %5, %4/tp.min %1, %4/' %t.mlir | not tp-opt --tp-verify-partition 2>&1 | FileCheck %s --check-prefix=WRONG
//
// RIGHT: %1 = tp.constant dense<5> : tensor<i32>
// RIGHT: %5 = tp.constant dense<11> : tensor<i32>
// RIGHT: tp.min %5, %4 : tensor<i32>
// WRONG: error: [TP0705] function 'main': the local form of tp.dynamic_update_slice does not compute the same result:
spmd.mesh @mesh <["x"=4]>
func.func @main(%cache: tensor<18x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
    %rows: tensor<7x4xf32>, %i: tensor<i32>)
    -> (tensor<18x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = tp.dynamic_update_slice %cache, %rows [%i, %i] : (tensor<18x6xf32>, tensor<7x4xf32>, tensor<i32>, tensor<i32>) -> tensor<18x6xf32>
  return %0 : tensor<18x6xf32>
}
