// A result is computed in the memory of a donated argument only when nobody wants what
// was computed there before: a scatter's result, and what a loop leaves.
//
// RUN: tp-opt %s --tp-compile="mesh=x=1" --tp-artifact=%t.tpx -o %t.step
// RUN: tp-run %t.tpx --entry=scatter --check --seed=3
// RUN: tp-run %t.tpx --entry=loop --check --seed=3

func.func @scatter(%x: tensor<1x2x4xui32> {tp.name = "x", tp.donated = 0 : i64}, %at: tensor<i32> {tp.name = "at"},
                   %u: tensor<1x4xui32> {tp.name = "u"}, %y: tensor<1x2x4xui32> {tp.name = "y"})
    -> (tensor<1x2x4xui32> {tp.name = "new"}, tensor<1x2x4xui32> {tp.name = "other"}) {
  %0 = tp.scatter max %x, %at, %u axis = 1 batch = 0 : (tensor<1x2x4xui32>, tensor<i32>, tensor<1x4xui32>) -> tensor<1x2x4xui32>
  %1 = tp.div %0, %0 : tensor<1x2x4xui32>
  %2 = tp.xor %0, %y : tensor<1x2x4xui32>
  return %1, %2 : tensor<1x2x4xui32>, tensor<1x2x4xui32>
}

func.func @loop(%x: tensor<14xf32> {tp.name = "p", tp.donated = 1 : i64}, %y: tensor<14xf32> {tp.name = "q"},
                %z: tensor<14xf32> {tp.name = "r", tp.donated = 0 : i64})
    -> (tensor<14xf32> {tp.name = "carried"}, tensor<14xf32> {tp.name = "gated"}) {
  %zero = tp.constant dense<0> : tensor<i32>
  %0:2 = tp.while(%zero, %x) cond {
  ^bb0(%i: tensor<i32>, %c: tensor<14xf32>):
    %two = tp.constant dense<2> : tensor<i32>
    %more = tp.compare lt %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %c: tensor<14xf32>):
    %one = tp.constant dense<1> : tensor<i32>
    %next = tp.add %i, %one : tensor<i32>
    %tanh = tp.tanh %y : tensor<14xf32>
    tp.yield %next, %tanh : tensor<i32>, tensor<14xf32>
  } : (tensor<i32>, tensor<14xf32>) -> (tensor<i32>, tensor<14xf32>)
  %1 = tp.gated relu %y, %z : tensor<14xf32>
  return %0#1, %1 : tensor<14xf32>, tensor<14xf32>
}
