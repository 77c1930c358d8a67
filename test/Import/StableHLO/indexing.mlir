// RUN: tp-opt %s --tp-shard=stop-after=collectives | FileCheck %s

// Lookups keep what can be cut: rows of a table that devices hold in parts are
// looked up where they are, and summed.
sdy.mesh @mesh = <["model"=4]>
// CHECK-LABEL: func.func @vocabulary
func.func @vocabulary(%table: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, %ids: tensor<3x5x1xi32>) -> tensor<3x5x8xf32> {
  // CHECK-NOT: all_gather
  // CHECK: tp.embedding %arg0
  // CHECK-SAME: unreduced={"model"}
  // CHECK: spmd.all_reduce
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<3x5x1xi32>) -> tensor<3x5x8xf32>
  return %0 : tensor<3x5x8xf32>
}

// The greatest of a row that is cut, and where it stands: two small sums, no
// gather.
// CHECK-LABEL: func.func @argmax
func.func @argmax(%x: tensor<4x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> tensor<4xi32> {
  // CHECK-NOT: all_gather
  // CHECK: spmd.all_reduce %{{.+}} unreduced=max{"model"}
  // CHECK: spmd.all_reduce %{{.+}} unreduced=min{"model"}
  // CHECK-NOT: all_gather
  // CHECK: return
  %n = stablehlo.iota dim = 1 : tensor<4x64xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %low), (%n init: %zero) across dimensions = [1] : (tensor<4x64xf32>, tensor<4x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<4xi32>
}

// Each row of a cache is updated at a position of its own, as jax.vmap of
// dynamic_update_slice has it: heads, which have an index, too, may be cut.
// CHECK-LABEL: func.func @cache
func.func @cache(%cache: tensor<2x7x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}, {}]>},
                 %k: tensor<2x1x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}, {}]>}, %starts: tensor<2x3xi32>)
    -> (tensor<2x7x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}, {}]>}) {
  // CHECK-NOT: spmd.all
  // CHECK: tp.scatter set %arg0, %{{.+}}, %arg1 axis = 1 batch = 1
  // CHECK-NOT: spmd.all
  // CHECK: return
  %0 = "stablehlo.scatter"(%cache, %starts, %k) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2, 3], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2, 3], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<2x7x8x3xf32>, tensor<2x3xi32>, tensor<2x1x8x3xf32>) -> tensor<2x7x8x3xf32>
  return %0 : tensor<2x7x8x3xf32>
}

// The same read.
// CHECK-LABEL: func.func @read
func.func @read(%cache: tensor<2x7x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}, {}]>}, %starts: tensor<2x3xi32>)
    -> (tensor<2x2x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}, {}]>}) {
  // CHECK-NOT: spmd.all
  // CHECK: tp.gather %arg0, %{{.+}} axis = 1 batch = 1
  // CHECK-NOT: spmd.all
  // CHECK: return
  %0 = "stablehlo.gather"(%cache, %starts) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2, 3], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2, 8, 3>}> : (tensor<2x7x8x3xf32>, tensor<2x3xi32>) -> tensor<2x2x8x3xf32>
  return %0 : tensor<2x2x8x3xf32>
}

// The same written as cache.at[jnp.arange(2), positions].set(k): rows that only count
// are no places, and positions may be cut.
// CHECK-LABEL: func.func @counted
func.func @counted(%cache: tensor<2x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>},
                   %k: tensor<2x3xf32>, %positions: tensor<2xi32>)
    -> (tensor<2x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}) {
  // CHECK-NOT: spmd.all
  // CHECK: tp.scatter set %arg0, %{{.+}}, %arg1 axis = 1 batch = 1
  // CHECK-SAME: tp.counted = array<i64: 0>
  // CHECK-NOT: spmd.all
  // CHECK: return
  %n = stablehlo.iota dim = 0 : tensor<2xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<i32>) -> tensor<2xi32>
  %below = stablehlo.compare LT, %n, %zeros, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %size = stablehlo.constant dense<2> : tensor<2xi32>
  %wrapped = stablehlo.add %n, %size : tensor<2xi32>
  %rows = stablehlo.select %below, %wrapped, %n : tensor<2xi1>, tensor<2xi32>
  %a = stablehlo.broadcast_in_dim %rows, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
  %b = stablehlo.broadcast_in_dim %positions, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
  %at = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
  %0 = "stablehlo.scatter"(%cache, %at, %k) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x8x3xf32>, tensor<2x2xi32>, tensor<2x3xf32>) -> tensor<2x8x3xf32>
  return %0 : tensor<2x8x3xf32>
}
