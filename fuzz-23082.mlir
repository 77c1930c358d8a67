module {
  spmd.mesh @mesh <["x"=3, "y"=2]>
  func.func @main(%arg0: tensor<1x2x4xui32> {tp.donated = 0 : i64, tp.name = "a0.tensor<1x2x4xui32>"}, %arg1: tensor<i32> {spmd.sharding = #spmd.sharding<@mesh, []>, tp.name = "a1.tensor<i32>"}, %arg2: tensor<1x4xui32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", "y", ?}, {}]>}, %arg3: tensor<1x2x4xui32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {?}, {?}]>}) -> (tensor<1x2x4xui32>, tensor<1x2x4xui32>) {
    %0 = tp.scatter max %arg0, %arg1, %arg2 axis = 1 batch = 0 : (tensor<1x2x4xui32>, tensor<i32>, tensor<1x4xui32>) -> tensor<1x2x4xui32>
    %1 = tp.div %0, %0 : tensor<1x2x4xui32>
    %2 = tp.xor %0, %arg3 : tensor<1x2x4xui32>
    return %1, %2 : tensor<1x2x4xui32>, tensor<1x2x4xui32>
  }
}

