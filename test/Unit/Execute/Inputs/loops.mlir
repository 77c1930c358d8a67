// Loops: a scan over layers with a collective in each turn, forwards and backwards
// through stacked weights, with a stack of results; what is carried changes places,
// stays, or is not used; turns that a condition counts; loops inside loops and none.
spmd.mesh @mesh <["x"=2]>
func.func @main(%h: tensor<3x6xi32> {tp.name = "h", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<4x6x6xi32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}, {}]>},
                %x: tensor<3x16xf32> {tp.name = "x"},
                %v: tensor<5x16x16xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}, {}]>},
                %bias: tensor<5x3xf32> {tp.name = "bias"},
                %n: tensor<i32> {tp.name = "n"},
                %kept: tensor<5x2xi32> {tp.name = "kept", tp.donated = 5 : i64})
    -> (tensor<3x6xi32> {tp.name = "scan"},
        tensor<4x3x6xi32> {tp.name = "stack", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"x"}]>},
        tensor<3x16xf32> {tp.name = "back"},
        tensor<2xi32> {tp.name = "fibonacci"}, tensor<2xi32> {tp.name = "before"},
        tensor<5x2xi32> {tp.name = "kept_out"},
        tensor<i32> {tp.name = "turns"}, tensor<3x6xi32> {tp.name = "doubled"},
        tensor<i32> {tp.name = "nested"}, tensor<3x6xi32> {tp.name = "never"},
        tensor<3x6xi32> {tp.name = "same"}, tensor<i32> {tp.name = "scalar"}) {
  %zero = tp.constant dense<0> : tensor<i32>
  %one = tp.constant dense<1> : tensor<i32>
  %four = tp.constant dense<4> : tensor<i32>
  %stack0 = tp.constant dense<0> : tensor<4x3x6xi32>
  %scan, %w_out, %stack = tp.for 4 (%h, %w, %stack0) {
  ^bb0(%i: tensor<i32>, %a: tensor<3x6xi32>, %all: tensor<4x6x6xi32>, %s: tensor<4x3x6xi32>):
    // As JAX has it: an index below zero counts from the end.
    %below = tp.compare lt %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %wrapped = tp.add %i, %four : tensor<i32>
    %place = tp.select %below, %wrapped, %i : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %layer = tp.dynamic_slice %all [%place, %zero, %zero] : (tensor<4x6x6xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x6x6xi32>
    %weight = tp.reshape %layer : tensor<1x6x6xi32> -> tensor<6x6xi32>
    %product = tp.einsum "bi,io->bo" %a, %weight : (tensor<3x6xi32>, tensor<6x6xi32>) -> tensor<3x6xi32>
    %row = tp.reshape %a : tensor<3x6xi32> -> tensor<1x3x6xi32>
    %written = tp.dynamic_update_slice %s, %row [%place, %zero, %zero] : (tensor<4x3x6xi32>, tensor<1x3x6xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x6xi32>
    tp.yield %product, %all, %written : tensor<3x6xi32>, tensor<4x6x6xi32>, tensor<4x3x6xi32>
  } : (tensor<3x6xi32>, tensor<4x6x6xi32>, tensor<4x3x6xi32>) -> (tensor<3x6xi32>, tensor<4x6x6xi32>, tensor<4x3x6xi32>)
  // Backwards; what a turn takes of the bias does not lie where a view may begin.
  %eighth = tp.constant dense<0.0625> : tensor<3x16xf32>
  %back = tp.for 5 (%x) {
  ^bb0(%i: tensor<i32>, %a: tensor<3x16xf32>):
    %last = tp.sub %four, %i : tensor<i32>
    %layer = tp.dynamic_slice %v [%last, %zero, %zero] : (tensor<5x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %weight = tp.reshape %layer : tensor<1x16x16xf32> -> tensor<16x16xf32>
    %product = tp.einsum "bi,io->bo" %a, %weight : (tensor<3x16xf32>, tensor<16x16xf32>) -> tensor<3x16xf32>
    %shift = tp.dynamic_slice %bias [%last, %zero] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %flat = tp.reshape %shift : tensor<1x3xf32> -> tensor<3xf32>
    %spread = tp.broadcast %flat dims = [0] : tensor<3xf32> -> tensor<3x16xf32>
    %less = tp.mul %product, %eighth : tensor<3x16xf32>
    %next = tp.add %less, %spread : tensor<3x16xf32>
    tp.yield %next : tensor<3x16xf32>
  } : (tensor<3x16xf32>) -> tensor<3x16xf32>
  // Each takes the other's place.
  %start = tp.constant dense<[0, 1]> : tensor<2xi32>
  %other = tp.constant dense<[1, 1]> : tensor<2xi32>
  %f, %g = tp.for 6 (%start, %other) {
  ^bb0(%i: tensor<i32>, %a: tensor<2xi32>, %b: tensor<2xi32>):
    %sum = tp.add %a, %b : tensor<2xi32>
    tp.yield %b, %sum : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  // A donated argument is written where it is.
  %changed = tp.for 5 (%kept) {
  ^bb0(%i: tensor<i32>, %k: tensor<5x2xi32>):
    %tens = tp.broadcast %i dims = [] : tensor<i32> -> tensor<1x2xi32>
    %new = tp.dynamic_update_slice %k, %tens [%i, %zero] : (tensor<5x2xi32>, tensor<1x2xi32>, tensor<i32>, tensor<i32>) -> tensor<5x2xi32>
    tp.yield %new : tensor<5x2xi32>
  } : (tensor<5x2xi32>) -> tensor<5x2xi32>
  %turns, %doubled = tp.while (%n, %h) cond {
  ^bb0(%i: tensor<i32>, %a: tensor<3x6xi32>):
    %goes = tp.compare lt %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %goes : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %a: tensor<3x6xi32>):
    %next = tp.add %i, %one : tensor<i32>
    %twice = tp.add %a, %a : tensor<3x6xi32>
    tp.yield %next, %twice : tensor<i32>, tensor<3x6xi32>
  } : (tensor<i32>, tensor<3x6xi32>) -> (tensor<i32>, tensor<3x6xi32>)
  // 10 i + j, summed over both.
  %ten = tp.constant dense<10> : tensor<i32>
  %nested = tp.for 3 (%zero) {
  ^bb0(%i: tensor<i32>, %s: tensor<i32>):
    %inner = tp.for 2 (%s) {
    ^bb0(%j: tensor<i32>, %t: tensor<i32>):
      %tens = tp.mul %i, %ten : tensor<i32>
      %both = tp.add %tens, %j : tensor<i32>
      %more = tp.add %t, %both : tensor<i32>
      tp.yield %more : tensor<i32>
    } : (tensor<i32>) -> tensor<i32>
    tp.yield %inner : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>
  %never = tp.for 0 (%h) {
  ^bb0(%i: tensor<i32>, %a: tensor<3x6xi32>):
    %twice = tp.add %a, %a : tensor<3x6xi32>
    tp.yield %twice : tensor<3x6xi32>
  } : (tensor<3x6xi32>) -> tensor<3x6xi32>
  // What it begins with is what it yields; an update of all there is.
  %same, %scalar = tp.for 2 (%h, %n) {
  ^bb0(%i: tensor<i32>, %a: tensor<3x6xi32>, %s: tensor<i32>):
    %new = tp.dynamic_update_slice %s, %i [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
    tp.yield %h, %new : tensor<3x6xi32>, tensor<i32>
  } : (tensor<3x6xi32>, tensor<i32>) -> (tensor<3x6xi32>, tensor<i32>)
  return %scan, %stack, %back, %f, %g, %changed, %turns, %doubled, %nested, %never, %same, %scalar : tensor<3x6xi32>, tensor<4x3x6xi32>, tensor<3x16xf32>, tensor<2xi32>, tensor<2xi32>, tensor<5x2xi32>, tensor<i32>, tensor<3x6xi32>, tensor<i32>, tensor<3x6xi32>, tensor<3x6xi32>, tensor<i32>
}
