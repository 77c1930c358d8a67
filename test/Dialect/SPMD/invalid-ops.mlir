// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every op, in their order, and under
// "types" what the types of operands rule out.


// spmd.constraint 1: another rank
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0203] the sharding has 1 dimensions, but the tensor has 2}}
  %0 = spmd.constraint %x <@mesh, [{}]> : tensor<8x24xf32>
  return
}

// -----

// spmd.reshard 1: another mesh
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0201] the module has no mesh @net}}
  %0 = spmd.reshard %x <@net, [{}, {}]> : tensor<8x24xf32>
  return
}

// -----

// spmd.barrier 1: another direction
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0304] 'spmd.barrier' op expects allowed_direction forward, backward, none or both, got sideways}}
  %0 = spmd.barrier %x allowed_direction = sideways : tensor<8x24xf32>
  return
}

// -----

// spmd.group 1: two shapes
func.func @f(%x: tensor<8x24xf32>, %y: tensor<24x8xf32>) {
  // expected-note @below {{the first member of the group is here}}
  spmd.group %x 1 : tensor<8x24xf32>
  spmd.group %y 2 : tensor<24x8xf32>
  // expected-error @below {{[TP0303] 'spmd.group' op group 1 has members of different shapes, but the members of a group share one sharding}}
  spmd.group %y 1 : tensor<24x8xf32>
  return
}

// -----

// spmd.manual 1: no out-sharding
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{[TP0305] 'spmd.manual' op expects at least one operand or result, an in-sharding and a region argument for each operand, and an out-sharding and a returned value for each result}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 1: two in-shardings
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{[TP0305] 'spmd.manual' op expects at least one operand or result, an in-sharding and a region argument for each operand, and an out-sharding and a returned value for each result}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 1: no region argument
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{[TP0305] 'spmd.manual' op expects at least one operand or result, an in-sharding and a region argument for each operand, and an out-sharding and a returned value for each result}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0():
    %b = tp.constant dense<0.0> : tensor<2x24xf32>
    spmd.return %b : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 1: nothing returned
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{[TP0305] 'spmd.manual' op expects at least one operand or result, an in-sharding and a region argument for each operand, and an out-sharding and a returned value for each result}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return 
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 1: nothing at all
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f() {
  // expected-error @below {{[TP0305] 'spmd.manual' op expects at least one operand or result, an in-sharding and a region argument for each operand, and an out-sharding and a returned value for each result}}
  spmd.manual () in [] out [] axes {"x"} {
    spmd.return
  } : () -> ()
  return
}

// -----

// spmd.manual 2: a sharding that does not fit
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{operand #0: [TP0202] mesh @mesh has no axis "w"}}
  %1 = spmd.manual (%0) in [<@mesh, [{"w"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 2: two meshes
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{result #0: [TP0304] names mesh @net, but the other shardings of the op name @mesh}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@net, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 3: an axis that is not there
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{axes: [TP0202] mesh @mesh has no axis "w"}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"w"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 3: an axis twice
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{axes: [TP0204] axis "x" is used twice in one sharding}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x", "x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 4: half of an axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{operand #0: [TP0304] the sharding uses an axis that is only partly manual: make the whole axis manual, or none of it}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x":(1)2} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 4: behind a free axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{operand #0: [TP0304] the manual axes of a dimension must come before its other axes}}
  %1 = spmd.manual (%0) in [<@mesh, [{"y", "x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 4: another part of an axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{operand #0: [TP0304] the sharding cuts along one part of an axis while another part of the axis is manual: make the whole axis manual}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x":(1)2}, {"x":(2)2}]>] out [<@mesh, [{"x":(1)2}, {}]>] axes {"x":(1)2} {
  ^bb0(%a: tensor<4x24xf32>):
    spmd.return %a : tensor<4x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 5: the whole inside
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{operand #0: [TP0305] expects the type inside the region to be the outer type cut along the manual axes, 'tensor<2x24xf32>', got 'tensor<8x24xf32>'}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<8x24xf32>):
    spmd.return %a : tensor<8x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 5: another element type
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{operand #0: [TP0305] expects the type inside the region to be the outer type cut along the manual axes, 'tensor<2x24xf32>', got 'tensor<2x24xf64>'}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf64>):
    spmd.return %a : tensor<2x24xf64>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 6: cut by nothing outside
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  // expected-error @below {{result #0: [TP0305] expects the type inside the region to be the outer type cut along the manual axes, 'tensor<8x24xf32>', got 'tensor<2x24xf32>'}}
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 7: one in another, along an axis that is manual there
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    // expected-error @below {{names axis "x", which is already manual in an enclosing region: inside that region nothing can be cut along this axis; leave it out}}
    %2 = spmd.manual (%a) in [<@mesh, [{"y"}, {}]>] out [<@mesh, [{"y"}, {}]>] axes {"x", "y"} {
    ^bb0(%b: tensor<1x24xf32>):
      spmd.return %b : tensor<1x24xf32>
    } : (tensor<2x24xf32>) -> tensor<2x24xf32>
    spmd.return %2 : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 7: one in another, that takes what such an axis cuts
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    // expected-error @below {{names axis "x", which is already manual in an enclosing region: inside that region nothing can be cut along this axis; leave it out}}
    %2 = spmd.manual (%a) in [<@mesh, [{"y"}, {"x"}]>] out [<@mesh, [{"y"}, {}]>] axes {"y"} {
    ^bb0(%b: tensor<1x24xf32>):
      spmd.return %b : tensor<1x24xf32>
    } : (tensor<2x24xf32>) -> tensor<2x24xf32>
    spmd.return %2 : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.manual 7: one in another, on another mesh
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>
spmd.mesh @other <["v"=2]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    // expected-error @below {{names mesh @other, but the manual region around it is on mesh @mesh}}
    %2 = spmd.manual (%a) in [<@other, [{"v"}, {}]>] out [<@other, [{"v"}, {}]>] axes {"v"} {
    ^bb0(%b: tensor<1x24xf32>):
      spmd.return %b : tensor<1x24xf32>
    } : (tensor<2x24xf32>) -> tensor<2x24xf32>
    spmd.return %2 : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.return types: only in a manual region
func.func @f() {
  // expected-error @below {{expects parent op 'spmd.manual'}}
  spmd.return
}

// -----

// spmd.axis_index 1: outside
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0306] 'spmd.axis_index' op is only allowed in code for one device: inside spmd.manual over its axes, or after tp-localize}}
  %0 = spmd.axis_index @mesh {"x"} : tensor<i32>
  return
}

// -----

// spmd.axis_index 1: over another axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    // expected-error @below {{[TP0306] 'spmd.axis_index' op is only allowed in code for one device: inside spmd.manual over its axes, or after tp-localize}}
    %i = spmd.axis_index @mesh {"y"} : tensor<i32>
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.axis_index 2: another mesh
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) {
  // expected-error @below {{[TP0201] the module has no mesh @net}}
  %0 = spmd.axis_index @net {"x"} : tensor<i32>
  return
}

// -----

// spmd.axis_index 2: an axis that is not there
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) {
  // expected-error @below {{[TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.axis_index @mesh {"w"} : tensor<i32>
  return
}

// -----

// spmd.shift 1: another mode
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    // expected-error @below {{[TP0304] 'spmd.shift' op expects mode wrap, fill or mirror, got reflect}}
    %i = spmd.shift %a along @mesh {"x"} by 1 reflect : tensor<2x24xf32>
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.shift 2: outside
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0306] 'spmd.shift' op is only allowed in code for one device: inside spmd.manual over its axes, or after tp-localize}}
  %0 = spmd.shift %x along @mesh {"x"} by 1 wrap : tensor<8x24xf32>
  return
}

// -----

// spmd.shift 2: along another axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x24xf32>):
    // expected-error @below {{[TP0306] 'spmd.shift' op is only allowed in code for one device: inside spmd.manual over its axes, or after tp-localize}}
    %i = spmd.shift %a along @mesh {"y"} by 1 wrap : tensor<2x24xf32>
    spmd.return %a : tensor<2x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.shift 3: no such axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) {
  // expected-error @below {{[TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.shift %x along @mesh {"w"} by 1 wrap : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>
  return
}

// -----

// spmd.block 1: blocks that differ
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<8x24xf32>):
    %c = tp.slice %a starts = [0, 0] strides = [1, 1] : tensor<8x24xf32> -> tensor<6x24xf32>
    // expected-error @below {{[TP0304] 'spmd.block' op cuts dimension 0 of 'tensor<6x24xf32>' into 4 blocks of different sizes: expects blocks of equal size}}
    %b = spmd.block %c dim 0 along @mesh {"x"} plus 0 : tensor<6x24xf32> -> tensor<2x24xf32>
    spmd.return %a : tensor<8x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.block 1: no such dimension
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<8x24xf32>):
    // expected-error @below {{[TP0304] 'spmd.block' op cuts dimension 2 of 'tensor<8x24xf32>'}}
    %b = spmd.block %a dim 2 along @mesh {"x"} plus 0 : tensor<8x24xf32> -> tensor<2x24xf32>
    spmd.return %a : tensor<8x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.block 2: another shape
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<8x24xf32>):
    // expected-error @below {{[TP0303] 'spmd.block' op expects blocks of type 'tensor<2x24xf32>', got 'tensor<4x24xf32>'}}
    %b = spmd.block %a dim 0 along @mesh {"x"} plus 0 : tensor<8x24xf32> -> tensor<4x24xf32>
    spmd.return %a : tensor<8x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.block 3: too far
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<8x24xf32>):
    // expected-error @below {{[TP0304] 'spmd.block' op expects `plus` from 0 to 3, got 4}}
    %b = spmd.block %a dim 0 along @mesh {"x"} plus 4 : tensor<8x24xf32> -> tensor<2x24xf32>
    spmd.return %a : tensor<8x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.block 4: outside
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0306] 'spmd.block' op is only allowed in code for one device: inside spmd.manual over its axes, or after tp-localize}}
  %0 = spmd.block %x dim 0 along @mesh {"x"} plus 0 : tensor<8x24xf32> -> tensor<2x24xf32>
  return
}

// -----

// spmd.block 5: no such axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) {
  // expected-error @below {{[TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.block %x dim 0 along @mesh {"w"} plus 0 : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>> -> tensor<1x6xf32>
  return
}

// -----

// spmd.assemble 1: too few
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<8x24xf32>):
    // expected-error @below {{[TP0303] 'spmd.assemble' op expects 4 blocks of the same type, got 'tensor<8x24xf32>', 'tensor<8x24xf32>'}}
    %b = spmd.assemble %a, %a dim 0 along @mesh {"x"} : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
    spmd.return %a : tensor<8x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.assemble 2: another shape
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%0: tensor<8x24xf32>) {
  %1 = spmd.manual (%0) in [<@mesh, [{}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<8x24xf32>):
    %c = tp.slice %a starts = [0, 0] strides = [1, 1] : tensor<8x24xf32> -> tensor<8x6xf32>
    // expected-error @below {{[TP0303] 'spmd.assemble' op expects blocks of type 'tensor<8x24xf32>', got 'tensor<8x6xf32>'}}
    %b = spmd.assemble %c, %c, %c, %c dim 0 along @mesh {"x"} : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<32x24xf32>
    spmd.return %a : tensor<8x24xf32>
  } : (tensor<8x24xf32>) -> tensor<8x24xf32>
  return
}

// -----

// spmd.assemble 3: outside
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0306] 'spmd.assemble' op is only allowed in code for one device: inside spmd.manual over its axes, or after tp-localize}}
  %0 = spmd.assemble %x, %x dim 0 along @mesh {"y"} : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
  return
}

// -----

// spmd.assemble 4: no such axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) {
  // expected-error @below {{[TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.assemble %x dim 0 along @mesh {"w"} : (tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) -> tensor<4x6xf32>
  return
}

// -----

// spmd.mask 1: a global type
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0303] 'spmd.mask' op expects a type with a #spmd.local encoding, which says where the padding begins}}
  %0 = spmd.mask %x [0] value(0.0 : f32) : tensor<8x24xf32>
  return
}

// -----

// spmd.mask 2: a dimension that is not there
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) {
  // expected-error @below {{[TP0304] 'spmd.mask' op cannot mask dimension 2 of a tensor of rank 2}}
  %0 = spmd.mask %x [2] value(0.0 : f32) : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>
  return
}

// -----

// spmd.mask 3: another element type
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>) {
  // expected-error @below {{[TP0303] 'spmd.mask' op expects a fill value of the tensor's element type, got a 'i32' in a tensor of 'f32'}}
  %0 = spmd.mask %x [0] value(0 : i32) : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[14, 6]>>
  return
}
