// A product of a partial sum and a whole value is a partial sum: on a device,
// the operands have different types.
//
// RUN: tp-fuzz %s --no-refusals
// RUN: tp-opt %s --tp-shard | tp-opt | FileCheck %s
// CHECK: tp.mul {{.*}} : (tensor<7xf32, #spmd.local<@mesh, [{}], unreduced={"y"}, global=[7]>>, tensor<7xf32, #spmd.local<@mesh, [{}], global=[7]>>) -> tensor<7xf32, #spmd.local<@mesh, [{}], unreduced={"y"}, global=[7]>>
spmd.mesh @mesh <["x"=2, "y"=3, "z"=4]>
func.func @main(%a: tensor<7x7xf32>, %scale: tensor<7xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y", ?}]>},
                %b: tensor<7x7xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}], replicated={"z":(2)2}>},
                %c: tensor<i32> {spmd.sharding = #spmd.sharding<@mesh, [], replicated={"x"}>}) -> tensor<7x7xf32> {
  %0 = tp.rms_norm %a, %scale epsilon = 0.5 : (tensor<7x7xf32>, tensor<7xf32>) -> tensor<7x7xf32>
  return %0 : tensor<7x7xf32>
}
