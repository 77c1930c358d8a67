// A chain of products and sums over the batch, which devices wait for, and at its end a weight whose
// gather takes longer than all of them: in pieces it travels between them.
spmd.mesh @mesh <["data"=2]>
func.func @main(%x: tensor<256x128xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<128x128xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %v: tensor<128x1024xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<256x1024xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %a0 = tp.einsum "bi,io->bo" %x, %w : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %s0 = tp.reduce sum %a0 dims = [0] : tensor<256x128xf32> -> tensor<128xf32>
  %b0 = tp.broadcast %s0 dims = [1] : tensor<128xf32> -> tensor<256x128xf32>
  %d0 = tp.sub %a0, %b0 : tensor<256x128xf32>
  %h0 = tp.tanh %d0 : tensor<256x128xf32>
  %a1 = tp.einsum "bi,io->bo" %h0, %w : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %s1 = tp.reduce sum %a1 dims = [0] : tensor<256x128xf32> -> tensor<128xf32>
  %b1 = tp.broadcast %s1 dims = [1] : tensor<128xf32> -> tensor<256x128xf32>
  %d1 = tp.sub %a1, %b1 : tensor<256x128xf32>
  %h1 = tp.tanh %d1 : tensor<256x128xf32>
  %a2 = tp.einsum "bi,io->bo" %h1, %w : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %s2 = tp.reduce sum %a2 dims = [0] : tensor<256x128xf32> -> tensor<128xf32>
  %b2 = tp.broadcast %s2 dims = [1] : tensor<128xf32> -> tensor<256x128xf32>
  %d2 = tp.sub %a2, %b2 : tensor<256x128xf32>
  %h2 = tp.tanh %d2 : tensor<256x128xf32>
  %a3 = tp.einsum "bi,io->bo" %h2, %w : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %s3 = tp.reduce sum %a3 dims = [0] : tensor<256x128xf32> -> tensor<128xf32>
  %b3 = tp.broadcast %s3 dims = [1] : tensor<128xf32> -> tensor<256x128xf32>
  %d3 = tp.sub %a3, %b3 : tensor<256x128xf32>
  %h3 = tp.tanh %d3 : tensor<256x128xf32>
  %a4 = tp.einsum "bi,io->bo" %h3, %w : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %s4 = tp.reduce sum %a4 dims = [0] : tensor<256x128xf32> -> tensor<128xf32>
  %b4 = tp.broadcast %s4 dims = [1] : tensor<128xf32> -> tensor<256x128xf32>
  %d4 = tp.sub %a4, %b4 : tensor<256x128xf32>
  %h4 = tp.tanh %d4 : tensor<256x128xf32>
  %a5 = tp.einsum "bi,io->bo" %h4, %w : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %s5 = tp.reduce sum %a5 dims = [0] : tensor<256x128xf32> -> tensor<128xf32>
  %b5 = tp.broadcast %s5 dims = [1] : tensor<128xf32> -> tensor<256x128xf32>
  %d5 = tp.sub %a5, %b5 : tensor<256x128xf32>
  %h5 = tp.tanh %d5 : tensor<256x128xf32>
  %y = tp.einsum "bi,io->bo" %h5, %v : (tensor<256x128xf32>, tensor<128x1024xf32>) -> tensor<256x1024xf32>
  return %y : tensor<256x1024xf32>
}
