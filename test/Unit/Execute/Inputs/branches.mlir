// Branches: on a condition and on a number that may name none of them; with a sum
// over devices in one only, in a loop, and with values from outside.
spmd.mesh @mesh <["x"=2]>
func.func @main(%p: tensor<i1> {tp.name = "p"}, %k: tensor<i32> {tp.name = "k"}, %u: tensor<ui8> {tp.name = "u"},
                %a: tensor<3x5xi32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<3x5xi32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<3x5xi32> {tp.name = "either"}, tensor<3xi32> {tp.name = "sums"},
        tensor<3x5xi32> {tp.name = "one_of_four"}, tensor<3x5xi32> {tp.name = "only"}, tensor<3x5xi32> {tp.name = "looped"}) {
  %total = tp.reduce sum %b dims = [1] : tensor<3x5xi32> -> tensor<3xi32>
  %either, %sums = tp.case %p {
    tp.yield %a, %total : tensor<3x5xi32>, tensor<3xi32>
  }, {
    %d = tp.sub %a, %b : tensor<3x5xi32>
    %s = tp.reduce sum %a dims = [1] : tensor<3x5xi32> -> tensor<3xi32>
    tp.yield %d, %s : tensor<3x5xi32>, tensor<3xi32>
  } : (tensor<i1>) -> (tensor<3x5xi32>, tensor<3xi32>)
  %one = tp.case %k {
    tp.yield %a : tensor<3x5xi32>
  }, {
    tp.yield %b : tensor<3x5xi32>
  }, {
    %s = tp.add %a, %b : tensor<3x5xi32>
    tp.yield %s : tensor<3x5xi32>
  }, {
    %s = tp.mul %a, %b : tensor<3x5xi32>
    tp.yield %s : tensor<3x5xi32>
  } : (tensor<i32>) -> tensor<3x5xi32>
  %only = tp.case %u {
    %s = tp.neg %a : tensor<3x5xi32>
    tp.yield %s : tensor<3x5xi32>
  } : (tensor<ui8>) -> tensor<3x5xi32>
  %looped = tp.for 7 (%a) {
  ^bb0(%i: tensor<i32>, %x: tensor<3x5xi32>):
    %three = tp.constant dense<3> : tensor<i32>
    %rest = tp.rem %i, %three : tensor<i32>
    %next = tp.case %rest {
      %s = tp.add %x, %b : tensor<3x5xi32>
      tp.yield %s : tensor<3x5xi32>
    }, {
      %s = tp.sub %b, %x : tensor<3x5xi32>
      tp.yield %s : tensor<3x5xi32>
    }, {
      tp.yield %x : tensor<3x5xi32>
    } : (tensor<i32>) -> tensor<3x5xi32>
    tp.yield %next : tensor<3x5xi32>
  } : (tensor<3x5xi32>) -> tensor<3x5xi32>
  return %either, %sums, %one, %only, %looped : tensor<3x5xi32>, tensor<3xi32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xi32>
}
