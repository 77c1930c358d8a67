func.func @main(%a: tensor<32x288xf32>, %b: tensor<288x512xf32>, %v: tensor<512xf32>, %w: tensor<32x512xf32>) -> tensor<32x512xf32> {
 %0 = tp.einsum "mk,kn->mn" %a, %b : (tensor<32x288xf32>, tensor<288x512xf32>) -> tensor<32x512xf32>
 %c = tp.broadcast %v dims = [1] : tensor<512xf32> -> tensor<32x512xf32>
 %1 = tp.add %0, %c : tensor<32x512xf32>
 %2 = tp.relu %1 : tensor<32x512xf32>
 %r = tp.add %2, %w : tensor<32x512xf32>
 return %r : tensor<32x512xf32>
}