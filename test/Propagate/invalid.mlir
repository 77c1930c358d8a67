// RUN: tp-opt %s --tp-propagate --split-input-file --verify-diagnostics

// One function lies on one mesh.
spmd.mesh @a <["x"=2]>
spmd.mesh @b <["y"=2]>
// expected-error @below {{[TP0212] the shardings of one function name several meshes}}
func.func @two_meshes(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@a, [{"x"}]>},
                      %y: tensor<8xf32> {spmd.sharding = #spmd.sharding<@b, [{"y"}]>}) {
  return
}

// -----

// Nothing says which mesh to use.
// expected-error @below {{[TP0201] the module has no mesh and no sharding names the mesh to use; give --tp-shard="mesh=.." or annotate an argument}}
func.func @no_mesh(%x: tensor<8xf32>) {
  return
}

// -----

// Of an op without a rule nothing is guessed.
spmd.mesh @mesh <["x"=2]>
func.func private @elsewhere(tensor<8xf32>) -> tensor<8xf32>
func.func @no_rule(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error @below {{[TP0302] func.call has no sharding rule: implement ShardingRuleOpInterface for it in an external model, or put the op into an spmd.manual region over all axes}}
  %0 = func.call @elsewhere(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// In a manual region nothing is cut along its axes.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @manual_axis(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{[TP0404] axis "x" is manual in the region around this value: inside, tensors are already cut along this axis, so it cannot cut them again}}
    %b = spmd.constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    spmd.return %b : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What an op in it is annotated with counts as well.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @manual_axis_of_op(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x", "y"} {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{[TP0404] axis "y" is manual in the region around this value: inside, tensors are already cut along this axis, so it cannot cut them again}}
    %b = tp.neg %a {spmd.shardings = [#spmd.sharding<@mesh, [{"y"}]>]} : tensor<4xf32>
    spmd.return %b : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Free axes cut evenly, inside
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @uneven_constraint(%x: tensor<6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<6xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<3xf32>):
    // expected-error @below {{[TP0404] in a manual region, 3 elements cannot be cut into 2 parts: cuts along axes that are not manual must be even; pad the tensor, or do not cut the dimension}}
    %b = spmd.constraint %a <@mesh, [{"y"}]> : tensor<3xf32>
    spmd.return %b : tensor<3xf32>
  } : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// and at the border, on either side.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @uneven_argument(%x: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{[TP0404] in a manual region, 3 elements cannot be cut into 2}}
  %0 = spmd.manual (%x) in [<@mesh, [{"x", "y"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<3xf32>):
    spmd.return %a : tensor<3xf32>
  } : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @uneven_result(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x", "y"}]>] axes {"x"} {
  ^bb0(%a: tensor<3xf32>):
    // expected-error @below {{[TP0404] in a manual region, 3 elements cannot be cut into 2}}
    spmd.return %a : tensor<3xf32>
  } : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// The body is code like any other along free axes: every op has a rule.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @no_rule_inside(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{[TP0302] func.call has no sharding rule: implement ShardingRuleOpInterface for it in an external model, or put the op into an spmd.manual region over all axes}}
    %b = func.call @elsewhere(%a) : (tensor<4xf32>) -> tensor<4xf32>
    spmd.return %b : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Nobody looks into a region over all axes.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func private @elsewhere(tensor<2xf32>) -> tensor<2xf32>
func.func @no_rule_needed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x", "y"}]>] out [<@mesh, [{"x", "y"}]>] axes {"x", "y"} {
  ^bb0(%a: tensor<2xf32>):
    %b = func.call @elsewhere(%a) : (tensor<2xf32>) -> tensor<2xf32>
    spmd.return %b : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
