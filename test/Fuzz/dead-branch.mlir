// A branch that nobody needs is dropped with all that it computes, while what is
// around it is lowered.
// RUN: tp-fuzz %s --compiled

spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<3x4xf32>, %which: tensor<i32>) -> tensor<3x4xf32> {
  %y = tp.for 2 (%x) {
  ^bb0(%i: tensor<i32>, %carried: tensor<3x4xf32>):
    %unused = tp.case %which {
      %a = tp.silu %carried : tensor<3x4xf32>
      tp.yield %a : tensor<3x4xf32>
    }, {
      %a = tp.softmax %carried dim = 1 : tensor<3x4xf32>
      tp.yield %a : tensor<3x4xf32>
    } : (tensor<i32>) -> tensor<3x4xf32>
    %next = tp.tanh %carried : tensor<3x4xf32>
    tp.yield %next : tensor<3x4xf32>
  } : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
