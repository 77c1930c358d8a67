module {
  spmd.mesh @mesh <["x"=2]>
  func.func @main(%arg0: tensor<12x5x8xf8E5M2> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {?}]>}) -> (tensor<12x5x8xf8E5M2>, tensor<12x2x6xf8E5M2>, tensor<i32>) {
    %0 = tp.neg %arg0 : tensor<12x5x8xf8E5M2>
    %1 = tp.constant dense<0> : tensor<i32>
    %2 = tp.dynamic_slice %arg0[%1, %1, %1] : (tensor<12x5x8xf8E5M2>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<12x2x6xf8E5M2>
    %3 = tp.constant dense<-2> : tensor<i32>
    %4 = tp.max %1, %3 : tensor<i32>
    %5 = tp.constant dense<2> : tensor<i32>
    %6 = tp.min %4, %5 : tensor<i32>
    %7 = tp.pow %1, %6 : tensor<i32>
    return %0, %2, %7 : tensor<12x5x8xf8E5M2>, tensor<12x2x6xf8E5M2>, tensor<i32>
  }
}

