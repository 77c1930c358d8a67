// RUN: tp-fuzz %s

// Pieces that have yet to be summed lie side by side: which piece an element is
// of is the same on all devices.

spmd.mesh @mesh <["x"=2]>
func.func @main(%arg0: tensor<3x3x3xi1>, %arg1: tensor<3x1xf32>, %arg2: tensor<i64>) -> (tensor<3x1xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = tp.for 1(%arg0) {
  ^bb0(%arg3: tensor<i32>, %arg4: tensor<3x3x3xi1>):
    %1 = tp.embedding %arg1, %arg2 : (tensor<3x1xf32>, tensor<i64>) -> tensor<1xf32>
    %2 = tp.splice %1, %1, %1 dim = 0 starts = [0, 0, 0] sizes = [1, 1, 1] : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
    tp.yield %arg4 : tensor<3x3x3xi1>
  } : (tensor<3x3x3xi1>) -> tensor<3x3x3xi1>
  return %arg1 : tensor<3x1xf32>
}
