// Ops that ask for the device's place stand in manual regions without a
// sharding rule.
//
// RUN: tp-fuzz %s --no-refusals
spmd.mesh @mesh <["x"=2, "y"=3]>
func.func @main(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = spmd.manual (%a) in [<@mesh, [{"x"}, {"y"}]>] out [<@mesh, [{"x"}, {"y"}]>] axes {"x", "y"} {
  ^bb0(%b: tensor<2x2xf32>):
    %i = spmd.axis_index @mesh {"y"} : tensor<i32>
    %f = tp.convert %i : tensor<i32> -> tensor<f32>
    %c = tp.broadcast %f dims = [] : tensor<f32> -> tensor<2x2xf32>
    %d = tp.add %b, %c : tensor<2x2xf32>
    %e = spmd.shift %d along @mesh {"x"} by 1 wrap : tensor<2x2xf32>
    spmd.return %e : tensor<2x2xf32>
  } : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = tp.neg %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
