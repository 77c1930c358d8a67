// Views, copies and exchanges: everything is moved, nothing is lost.
spmd.mesh @mesh <["x"=2]>
func.func @main(%a: tensor<5x4xi32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<5x3xi32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<7x6xi32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
        tensor<35xi32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>},
        tensor<5xi32> {tp.name = "max", spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %c = tp.concat %a, %b dim = 1 : (tensor<5x4xi32>, tensor<5x3xi32>) -> tensor<5x7xi32>
  %i = tp.iota dim = 1 : tensor<5x7xi32>
  %s = tp.add %c, %i : tensor<5x7xi32>
  %t = tp.transpose %s [1, 0] : tensor<5x7xi32> -> tensor<7x5xi32>
  %nine = tp.constant dense<9> : tensor<i32>
  %p = tp.pad %t, %nine low = [0, 1] : (tensor<7x5xi32>, tensor<i32>) -> tensor<7x6xi32>
  %z = tp.reshape %t : tensor<7x5xi32> -> tensor<35xi32>
  %m = tp.reduce max %t dims = [0] : tensor<7x5xi32> -> tensor<5xi32>
  return %p, %z, %m : tensor<7x6xi32>, tensor<35xi32>, tensor<5xi32>
}
