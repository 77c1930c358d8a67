// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every collective, in their order.

// spmd.all_reduce 1: another element type
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0303] 'spmd.all_reduce' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.all_reduce %x {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

// spmd.all_reduce 2: out does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{out: [TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.all_reduce %x {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"w"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_reduce 2: in does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{in: [TP0203] the sharding has 3 dimensions}}
  %0 = spmd.all_reduce %x {"x"} in <@mesh, [{}, {}, {}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_reduce 3: out says something else
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.all_reduce %x {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}], unreduced={"y"}> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_reduce 3: other axes than those named
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210] 'spmd.all_reduce' op expects its axes to be those in which `in` and `out` differ}}
  %0 = spmd.all_reduce %x {"y"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.reduce_scatter 1: another element type
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0303] 'spmd.reduce_scatter' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.reduce_scatter %x [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

// spmd.reduce_scatter 2: out does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{out: [TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.reduce_scatter %x [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"w"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.reduce_scatter 2: in does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{in: [TP0203] the sharding has 3 dimensions}}
  %0 = spmd.reduce_scatter %x [{"x"}] in <@mesh, [{}, {}, {}]> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.reduce_scatter 3: out says something else
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.reduce_scatter %x [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"y"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.reduce_scatter 3: other axes than those named
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210] 'spmd.reduce_scatter' op expects its axes to be those in which `in` and `out` differ}}
  %0 = spmd.reduce_scatter %x [{"y"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_gather 1: another element type
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0303] 'spmd.all_gather' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.all_gather %x [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

// spmd.all_gather 1: a part on one side only
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4xf32, #spmd.local<@mesh, [{"x"}], global=[8]>>) {
  // expected-error @below {{[TP0303] 'spmd.all_gather' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.all_gather %x [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<4xf32, #spmd.local<@mesh, [{"x"}], global=[8]>> -> tensor<8xf32>
  return
}

// -----

// spmd.all_gather 1: a part that another sharding makes
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4xf32, #spmd.local<@mesh, [{"x"}], global=[8]>>) {
  // expected-error @below {{[TP0303] 'spmd.all_gather' op expects local type 'tensor<4xf32, #spmd.local<@mesh, [{"y"}], global=[8]>>' for global type 'tensor<8xf32>' in sharding}}
  %0 = spmd.all_gather %x [{"y"}] in <@mesh, [{"y"}]> out <@mesh, [{}]> : tensor<4xf32, #spmd.local<@mesh, [{"x"}], global=[8]>> -> tensor<8xf32, #spmd.local<@mesh, [{}], global=[8]>>
  return
}

// -----

// spmd.all_gather 1: in a manual region, not the size that `in` and `out` make
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{[TP0303] 'spmd.all_gather' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
    %1 = spmd.all_gather %a [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<4xf32> -> tensor<16xf32>
    spmd.return %a : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// spmd.all_gather 2: two meshes
spmd.mesh @mesh <["x"=2, "y"=2]>
spmd.mesh @net <["x"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0304] 'spmd.all_gather' op expects `in` and `out` to name the same mesh}}
  %0 = spmd.all_gather %x [{"x"}] in <@mesh, [{"x"}]> out <@net, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_gather 2: out does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{out: [TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.all_gather %x [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{"w"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_gather 2: in does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{in: [TP0203] the sharding has 3 dimensions}}
  %0 = spmd.all_gather %x [{"x"}] in <@mesh, [{}, {}, {}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_gather 2: in a manual region, on another mesh
spmd.mesh @mesh <["x"=2, "y"=2]>
spmd.mesh @other <["x"=2]>

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{}]>] axes {"x"} {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{[TP0304] 'spmd.all_gather' op expects `in` and `out` to name the mesh of the enclosing manual region}}
    %1 = spmd.all_gather %a [{"x"}] in <@other, [{"x"}]> out <@other, [{}]> : tensor<4xf32> -> tensor<8xf32>
    spmd.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// spmd.all_gather 3: out says something else
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.all_gather %x [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{"y"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_gather 3: other axes than those named
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210] 'spmd.all_gather' op expects its axes to be those in which `in` and `out` differ}}
  %0 = spmd.all_gather %x [{"y"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_slice 1: another element type
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0303] 'spmd.all_slice' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.all_slice %x [{"x"}] in <@mesh, [{}]> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

// spmd.all_slice 2: out does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{out: [TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.all_slice %x [{"x"}] in <@mesh, [{}]> out <@mesh, [{"w"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_slice 2: in does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{in: [TP0203] the sharding has 3 dimensions}}
  %0 = spmd.all_slice %x [{"x"}] in <@mesh, [{}, {}, {}]> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_slice 3: out says something else
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.all_slice %x [{"x"}] in <@mesh, [{}]> out <@mesh, [{"y", "x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_slice 3: other axes than those named
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210] 'spmd.all_slice' op expects its axes to be those in which `in` and `out` differ}}
  %0 = spmd.all_slice %x [{"y"}] in <@mesh, [{}]> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.all_to_all 1: another element type
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0303] 'spmd.all_to_all' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.all_to_all %x ["x": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x8xf32> -> tensor<4x8xf64>
  return
}

// -----

// spmd.all_to_all 2: out does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{out: [TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.all_to_all %x ["x": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"w"}]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// spmd.all_to_all 2: in does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{in: [TP0203] the sharding has 3 dimensions}}
  %0 = spmd.all_to_all %x ["x": 0 -> 1] in <@mesh, [{}, {}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// spmd.all_to_all 3: out says something else
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.all_to_all %x ["x": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"y"}]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// spmd.all_to_all 3: a move of another axis
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.all_to_all %x ["y": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// spmd.all_to_all 3: a move from a dimension that is not there
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0304] 'spmd.all_to_all' op dim 7 is out of range for a tensor of rank 2}}
  %0 = spmd.all_to_all %x ["x": 7 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// spmd.all_to_all 3: a move the other way
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.all_to_all %x ["x": 1 -> 0] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// spmd.all_to_all 3: an axis that is not there
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.all_to_all %x ["w": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// spmd.collective_permute 1: another element type
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0303] 'spmd.collective_permute' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.collective_permute %x in <@mesh, [{"x"}]> out <@mesh, [{"y"}]> : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

// spmd.collective_permute 2: out does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{out: [TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.collective_permute %x in <@mesh, [{"x"}]> out <@mesh, [{"w"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.collective_permute 2: in does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{in: [TP0203] the sharding has 3 dimensions}}
  %0 = spmd.collective_permute %x in <@mesh, [{}, {}, {}]> out <@mesh, [{"y"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.collective_permute 3: out says something else
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.collective_permute %x in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.to_partial 1: another element type
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0303] 'spmd.to_partial' op expects input and result to have the same global type, and both or neither to have a #spmd.local encoding}}
  %0 = spmd.to_partial %x {"x"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"x"}> : tensor<8xf32> -> tensor<8xf64>
  return
}

// -----

// spmd.to_partial 2: out does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{out: [TP0202] mesh @mesh has no axis "w"}}
  %0 = spmd.to_partial %x {"x"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"w"}> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.to_partial 2: in does not fit
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{in: [TP0203] the sharding has 3 dimensions}}
  %0 = spmd.to_partial %x {"x"} in <@mesh, [{}, {}, {}]> out <@mesh, [{}], unreduced={"x"}> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.to_partial 3: out says something else
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210]}}
  %0 = spmd.to_partial %x {"x"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"y"}> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.to_partial 3: other axes than those named
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{[TP0210] 'spmd.to_partial' op expects its axes to be those in which `in` and `out` differ}}
  %0 = spmd.to_partial %x {"y"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"x"}> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// spmd.combined 1: it sends nothing
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>, %m: tensor<8x4xf32>) {
  // expected-error @below {{[TP0304] 'spmd.combined' op 'all_slice' is not a collective that sends data; write all_reduce, reduce_scatter, all_gather, all_to_all or collective_permute}}
  %0 = spmd.combined all_slice %x in [<@mesh, [{}]>] out [<@mesh, [{"x"}]>] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// spmd.combined 2: no sharding for a part
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>, %m: tensor<8x4xf32>) {
  // expected-error @below {{[TP0303] 'spmd.combined' op expects at least one input, and for each input one kind, one result, one `in` sharding and one `out` sharding}}
  %0:2 = spmd.combined all_gather %x, %x in [<@mesh, [{"x"}]>] out [<@mesh, [{}]>, <@mesh, [{}]>] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// spmd.combined 2: no kind for a part
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>, %m: tensor<8x4xf32>) {
  // expected-error @below {{[TP0303] 'spmd.combined' op expects at least one input, and for each input one kind, one result, one `in` sharding and one `out` sharding}}
  %0:2 = spmd.combined [all_gather] %x, %x in [<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out [<@mesh, [{}]>, <@mesh, [{}]>] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// spmd.combined 3: a part is another collective
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>, %m: tensor<8x4xf32>) {
  // expected-error @below {{[TP0210]}}
  %0:2 = spmd.combined all_gather %x, %x in [<@mesh, [{"x"}]>, <@mesh, [{}]>] out [<@mesh, [{}]>, <@mesh, [{"x"}]>] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// spmd.combined 4: two meshes
spmd.mesh @mesh <["x"=2]>
spmd.mesh @other <["x"=2]>

func.func @f(%x: tensor<8xf32>, %m: tensor<8x4xf32>) {
  // expected-error @below {{[TP0210] 'spmd.combined' op expects all parts of a combined collective to have the same mesh, but part 1 differs from part 0}}
  %0:2 = spmd.combined all_gather %x, %x in [<@mesh, [{"x"}]>, <@other, [{"x"}]>] out [<@mesh, [{}]>, <@other, [{}]>] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

// spmd.combined 4: the axes in another order
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @f(%x: tensor<8xf32>, %m: tensor<8x4xf32>) {
  // expected-error @below {{[TP0210] 'spmd.combined' op expects all parts of a combined collective to have the same axes in the same order, but part 1 differs from part 0}}
  %0:2 = spmd.combined all_gather %m, %m in [<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {"x"}]>] out [<@mesh, [{}, {}]>, <@mesh, [{}, {}]>] : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}
