// Sorts along every dimension, in both directions, of cut tensors and of views; the
// largest of rows that are whole and of rows that are cut.
spmd.mesh @mesh <["x"=2]>
func.func @main(%a: tensor<5x7xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<3x4x5xi8> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"x"}]>},
                %c: tensor<6x9xbf16> {tp.name = "c"},
                %d: tensor<5x8xui16> {tp.name = "d", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<5x7xf32> {tp.name = "up", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}, tensor<5x7xi32> {tp.name = "up_from"},
        tensor<3x4x5xi8> {tp.name = "down"}, tensor<3x4x5xi32> {tp.name = "down_from"},
        tensor<9x6xbf16> {tp.name = "turned"}, tensor<9x6xi32> {tp.name = "turned_from"},
        tensor<6x4xbf16> {tp.name = "top"}, tensor<6x4xi32> {tp.name = "top_from"},
        tensor<5x3xui16> {tp.name = "cut_top"}, tensor<5x3xi32> {tp.name = "cut_from"},
        tensor<5x7xf32> {tp.name = "numbers"}) {
  %up, %up_from = tp.sort %a dim = 1 : tensor<5x7xf32> -> tensor<5x7xf32>, tensor<5x7xi32>
  %down, %down_from = tp.sort %b dim = 1 descending : tensor<3x4x5xi8> -> tensor<3x4x5xi8>, tensor<3x4x5xi32>
  %t = tp.transpose %c [1, 0] : tensor<6x9xbf16> -> tensor<9x6xbf16>
  %turned, %turned_from = tp.sort %t dim = 0 : tensor<9x6xbf16> -> tensor<9x6xbf16>, tensor<9x6xi32>
  %top, %top_from = tp.top_k %c : tensor<6x9xbf16> -> tensor<6x4xbf16>, tensor<6x4xi32>
  %cut, %cut_from = tp.top_k %d : tensor<5x8xui16> -> tensor<5x3xui16>, tensor<5x3xi32>
  // The root of a negative number is none, and stands behind all.
  %root = tp.sqrt %a : tensor<5x7xf32>
  %numbers, %places = tp.sort %root dim = 0 : tensor<5x7xf32> -> tensor<5x7xf32>, tensor<5x7xi32>
  return %up, %up_from, %down, %down_from, %turned, %turned_from, %top, %top_from, %cut, %cut_from, %numbers : tensor<5x7xf32>, tensor<5x7xi32>, tensor<3x4x5xi8>, tensor<3x4x5xi32>, tensor<9x6xbf16>, tensor<9x6xi32>, tensor<6x4xbf16>, tensor<6x4xi32>, tensor<5x3xui16>, tensor<5x3xi32>, tensor<5x7xf32>
}
