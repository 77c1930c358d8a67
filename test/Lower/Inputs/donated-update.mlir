// Two arguments that are donated to each other's results, and a step whose rows
// end early.
func.func @main(%a: tensor<3x37xf32> {tp.donated = 0 : i64}, %b: tensor<3x37xf32> {tp.donated = 1 : i64},
                %x: tensor<5x7xf32>, %w: tensor<7x37xf32> {tp.donated = 2 : i64}, %m: tensor<7x37xf32> {tp.donated = 3 : i64})
    -> (tensor<3x37xf32>, tensor<3x37xf32>, tensor<7x37xf32>, tensor<7x37xf32>, tensor<5x7xf32>) {
  %one = tp.constant dense<1.0> : tensor<3x37xf32>
  %a1 = tp.add %b, %one : tensor<3x37xf32>
  %b1 = tp.sub %a, %one : tensor<3x37xf32>
  %y = tp.einsum "bi,io->bo" %x, %w : (tensor<5x7xf32>, tensor<7x37xf32>) -> tensor<5x37xf32>
  %dw = tp.einsum "bi,bo->io" %x, %y : (tensor<5x7xf32>, tensor<5x37xf32>) -> tensor<7x37xf32>
  %dx = tp.einsum "bo,io->bi" %y, %w : (tensor<5x37xf32>, tensor<7x37xf32>) -> tensor<5x7xf32>
  %c = tp.constant dense<0.5> : tensor<7x37xf32>
  %h = tp.mul %m, %c : tensor<7x37xf32>
  %m1 = tp.add %h, %dw : tensor<7x37xf32>
  %w1 = tp.sub %w, %m1 : tensor<7x37xf32>
  return %a1, %b1, %w1, %m1, %dx : tensor<3x37xf32>, tensor<3x37xf32>, tensor<7x37xf32>, tensor<7x37xf32>, tensor<5x7xf32>
}
