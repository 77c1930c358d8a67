// A block of a transformer with its activations cut along the sequence, forward and
// backward.
spmd.mesh @mesh <["model"=3]>
func.func @main(%x: tensor<12x6xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %gate: tensor<6x9xf32> {tp.name = "gate", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %up: tensor<6x9xf32> {tp.name = "up", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %down: tensor<9x6xf32> {tp.name = "down", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<12x6xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
        tensor<12x6xf32> {tp.name = "dx", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
        tensor<6x9xf32> {tp.name = "dup", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  %n = tp.tanh %x : tensor<12x6xf32>
  %c = spmd.constraint %n <@mesh, [{"model"}, {}]> : tensor<12x6xf32>
  %g = tp.einsum "bi,io->bo" %c, %gate : (tensor<12x6xf32>, tensor<6x9xf32>) -> tensor<12x9xf32>
  %u = tp.einsum "bi,io->bo" %c, %up : (tensor<12x6xf32>, tensor<6x9xf32>) -> tensor<12x9xf32>
  %s = tp.silu %g : tensor<12x9xf32>
  %h = tp.mul %s, %u : tensor<12x9xf32>
  %y = tp.einsum "bo,oi->bi" %h, %down : (tensor<12x9xf32>, tensor<9x6xf32>) -> tensor<12x6xf32>
  %z = tp.add %x, %y : tensor<12x6xf32>
  %e = tp.tanh %z : tensor<12x6xf32>
  %d = spmd.constraint %e <@mesh, [{"model"}, {}]> : tensor<12x6xf32>
  %dh = tp.einsum "bi,oi->bo" %d, %down : (tensor<12x6xf32>, tensor<9x6xf32>) -> tensor<12x9xf32>
  %du = tp.mul %s, %dh : tensor<12x9xf32>
  %dx = tp.einsum "bo,io->bi" %du, %up : (tensor<12x9xf32>, tensor<6x9xf32>) -> tensor<12x6xf32>
  %dup = tp.einsum "bi,bo->io" %c, %du : (tensor<12x6xf32>, tensor<12x9xf32>) -> tensor<6x9xf32>
  return %z, %dx, %dup : tensor<12x6xf32>, tensor<12x6xf32>, tensor<6x9xf32>
}
