// Partial sums that wait: gradients that a loop stacks or adds up and that are summed
// behind it, and products that are asked for one by one and added first.
spmd.mesh @mesh <["data"=2]>
#rows = #spmd.sharding<@mesh, [{"data"}, {}]>
!x = tensor<256x4xf32>
!w = tensor<4x4xf32>
!s = tensor<3x4x4xf32>
!i = tensor<i32>
func.func @main(%x: !x {spmd.sharding = #rows}, %y: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}]>},
                %u: tensor<16x4xf32> {spmd.sharding = #rows}, %v: tensor<16x4xf32> {spmd.sharding = #rows})
    -> (!s {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
        !w {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
        tensor<8x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %0 = tp.constant dense<0.0> : !s
  %1 = tp.constant dense<0.0> : !w
  %2:3 = tp.for 3 (%x, %0, %1) {
  ^bb0(%i: !i, %h: !x, %stack: !s, %sum: !w):
    %zero = tp.constant dense<0> : !i
    %last = tp.constant dense<2> : !i
    %j = tp.sub %last, %i : !i
    %a = tp.tanh %h : !x
    %g = tp.einsum "bi,bo->io" %h, %a : (!x, !x) -> !w
    %row = tp.reshape %g : !w -> tensor<1x4x4xf32>
    %more = tp.dynamic_update_slice %stack, %row[%j, %zero, %zero] : (!s, tensor<1x4x4xf32>, !i, !i, !i) -> !s
    %k = tp.einsum "bi,bo->io" %a, %a : (!x, !x) -> !w
    %all = tp.add %sum, %k : !w
    tp.yield %a, %more, %all : !x, !s, !w
  } : (!x, !s, !w) -> (!x, !s, !w)
  %p = tp.einsum "bi,io->bo" %y, %u : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %3 = spmd.constraint %p <@mesh, [{}, {}]> : tensor<8x4xf32>
  %q = tp.einsum "bi,io->bo" %y, %v : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %4 = spmd.constraint %q <@mesh, [{}, {}]> : tensor<8x4xf32>
  %r = tp.add %3, %4 : tensor<8x4xf32>
  return %2#1, %2#2, %r : !s, !w, tensor<8x4xf32>
}
