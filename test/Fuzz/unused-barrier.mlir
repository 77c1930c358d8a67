// A reshard for an annotation whose result nobody uses goes with it.
// RUN: tp-fuzz %s --no-refusals
spmd.mesh @mesh <["x"=2]>
func.func @main(%arg0: tensor<1x1xbf16>, %arg1: tensor<i32>, %arg2: tensor<1x2x1xi32>) -> tensor<1x1xbf16> {
  %0 = spmd.constraint %arg2 <@mesh, [{}, {}, {"x"}]> : tensor<1x2x1xi32>
  %1 = tp.case %arg1 {
    %2 = spmd.barrier %0 allowed_direction = backward : tensor<1x2x1xi32>
    tp.yield %arg0 : tensor<1x1xbf16>
  } : (tensor<i32>) -> tensor<1x1xbf16>
  return %1 : tensor<1x1xbf16>
}
