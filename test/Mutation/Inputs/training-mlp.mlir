// The loss of a classifier: a norm of its inputs, two layers, a loop over a third, and the
// mean cross entropy of the labels that are not -100. With f64 everywhere, nothing is
// rounded to less than the interpreter has.
func.func @main(%x: tensor<4x6xf64> {tp.name = "x"}, %labels: tensor<4xi32> {tp.name = "labels"},
    %scale: tensor<6xf64> {tp.name = "scale", tp.role = "parameter"},
    %w1: tensor<6x8xf64> {tp.name = "w1", tp.role = "parameter"}, %b1: tensor<8xf64> {tp.name = "b1", tp.role = "parameter"},
    %loop: tensor<8x8xf64> {tp.name = "loop", tp.role = "parameter"},
    %w2: tensor<8x5xf64> {tp.name = "w2", tp.role = "parameter"})
    -> (tensor<f64> {tp.name = "loss"}, tensor<f64> {tp.name = "valid"}) {
  %0 = tp.rms_norm %x, %scale epsilon = 1.0e-5 : (tensor<4x6xf64>, tensor<6xf64>) -> tensor<4x6xf64>
  %1 = tp.einsum "bi,ij->bj" %0, %w1 : (tensor<4x6xf64>, tensor<6x8xf64>) -> tensor<4x8xf64>
  %2 = tp.broadcast %b1 dims = [1] : tensor<8xf64> -> tensor<4x8xf64>
  %3 = tp.add %1, %2 : tensor<4x8xf64>
  %4 = tp.gelu %3 : tensor<4x8xf64>
  %5 = tp.for 2 (%4) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x8xf64>):
    %6 = tp.einsum "bi,ij->bj" %h, %loop : (tensor<4x8xf64>, tensor<8x8xf64>) -> tensor<4x8xf64>
    %7 = tp.tanh %6 : tensor<4x8xf64>
    %8 = tp.add %7, %h : tensor<4x8xf64>
    tp.yield %8 : tensor<4x8xf64>
  } : (tensor<4x8xf64>) -> tensor<4x8xf64>
  %9 = tp.einsum "bi,ij->bj" %5, %w2 : (tensor<4x8xf64>, tensor<8x5xf64>) -> tensor<4x5xf64>
  %each = tp.cross_entropy %9, %labels : (tensor<4x5xf64>, tensor<4xi32>) -> tensor<4xf64>
  %ignored = tp.constant dense<-100> : tensor<4xi32>
  %counts = tp.compare ne %labels, %ignored : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %zero = tp.constant dense<0.0> : tensor<4xf64>
  %kept = tp.select %counts, %each, %zero : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %total = tp.reduce sum %kept dims = [0] : tensor<4xf64> -> tensor<f64>
  %ones = tp.convert %counts : tensor<4xi1> -> tensor<4xf64>
  %count = tp.reduce sum %ones dims = [0] : tensor<4xf64> -> tensor<f64>
  %loss = tp.div %total, %count : tensor<f64>
  return %loss, %count : tensor<f64>, tensor<f64>
}
