// RUN: tp-opt %s --tp-propagate | FileCheck %s --check-prefix=SPLIT
// RUN: tp-opt %s --tp-shard=stop-after=partition | FileCheck %s
// RUN: tp-opt %s --tp-shard=verify=field -o %t

// Every use of a zero or an iota gets its own, sharded as its user is; those that are
// sharded alike are one in the end. A constant of many values stays shared.
spmd.mesh @mesh <["x"=2]>
// SPLIT-LABEL: func.func @main
// SPLIT-COUNT-3: tp.constant dense<0.0
// SPLIT: tp.constant dense<[0.0
// SPLIT-NOT: tp.constant
// SPLIT-COUNT-2: tp.iota
// SPLIT-NOT: tp.iota
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[A:.+]] = tp.constant dense<0.0{{.*}}[{"x"}, {}]
// CHECK-DAG: %[[B:.+]] = tp.constant dense<0.0{{.*}}[{}, {"x"}]
// CHECK-NOT: tp.constant dense<0.0
// CHECK-DAG: %[[I:.+]] = tp.iota{{.*}}[{"x"}, {}]
// CHECK-DAG: %[[J:.+]] = tp.iota{{.*}}[{}, {"x"}]
// CHECK-NOT: spmd.reshard
// CHECK: tp.max %arg0, %[[A]]
// CHECK: tp.max %arg1, %[[A]]
// CHECK: tp.max %arg2, %[[B]]
func.func @main(%a: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<6xf32>) {
  %zero = tp.constant dense<0.0> : tensor<8x6xf32>
  %row = tp.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf32>
  %count = tp.iota dim = 0 : tensor<8x6xf32>
  %d = tp.max %a, %zero : tensor<8x6xf32>
  %e = tp.max %b, %zero : tensor<8x6xf32>
  %f = tp.max %c, %zero : tensor<8x6xf32>
  %g = tp.add %d, %count : tensor<8x6xf32>
  %h = tp.add %f, %count : tensor<8x6xf32>
  return %g, %e, %h, %row : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<6xf32>
}

// An op that takes one value twice has it twice in the end: a splice with one filling is
// a pad, as in the whole program.
// CHECK-LABEL: func.func @twice
// CHECK: tp.pad
func.func @twice(%a: tensor<1x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
    -> (tensor<1x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %one = tp.constant dense<1.0> : tensor<f32>
  %too = tp.constant dense<1.0> : tensor<f32>
  %b = tp.splice %one, %a, %too dim = 1 starts = [0, 2, 0] sizes = [3, 2, 3] : (tensor<f32>, tensor<1x4xf32>, tensor<f32>) -> tensor<1x8xf32>
  return %b : tensor<1x8xf32>
}
