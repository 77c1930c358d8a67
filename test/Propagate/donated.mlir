// A result that overwrites an argument lies as that does, even where nothing
// flows that way: a dimension of one element is not worth an axis.
//
// RUN: split-file %s %t
// RUN: tp-opt %t/cache.mlir --tp-propagate | FileCheck %s
// CHECK: -> (tensor<1x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>
// RUN: tp-opt %t/cache.mlir --tp-compile -o %t/steps.mlir
// RUN: not tp-opt %t/differ.mlir --tp-propagate 2>&1 | FileCheck %s --check-prefix=DIFFER
// DIFFER: error: {{.*}}[TP0402]

//--- cache.mlir
spmd.mesh @mesh <["data"=2]>
func.func @main(%cache: tensor<1x4xf32> {tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = tp.add %cache, %x : tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

//--- differ.mlir
spmd.mesh @mesh <["data"=2]>
func.func @main(%cache: tensor<2x4xf32> {tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<2x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}]>}) {
  %y = tp.exp %cache : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
