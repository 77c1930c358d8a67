// RUN: tp-opt %s --split-input-file --verify-diagnostics

// What a sharding must be, wherever it stands.


// #spmd.sharding: the mesh exists
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0201] the module has no mesh @net; define one with `spmd.mesh @net <["model"=4]>`}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@net, [{}, {}]>}) {
  return
}

// -----

// #spmd.sharding: the mesh has the axes
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0202] mesh @mesh has no axis "w"}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"w"}, {}]>}) {
  return
}

// -----

// #spmd.sharding: the mesh has the axes it leaves alone
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0202] mesh @mesh has no axis "w"}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}], replicated={"w"}>}) {
  return
}

// -----

// #spmd.sharding: one entry per dimension
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0203] the sharding has 1 dimensions, but the tensor has 2}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  return
}

// -----

// #spmd.sharding: it stands on a tensor
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0203] only a ranked tensor can have a sharding, got 'index'}}
func.func @f(%x: index {spmd.sharding = #spmd.sharding<@mesh, []>}) {
  return
}

// -----

// #spmd.sharding: sub-axes divide their axis
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0205] sub-axis "x":(1)3 of an axis of 4 devices is not valid: pre-size times size must divide the axis, and the size must be at least 2}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x":(1)3}, {}]>}) {
  return
}

// -----

// #spmd.sharding: sub-axes whose product overflows
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0205] sub-axis "x":(4611686018427387904)4 of an axis of 4 devices}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x":(4611686018427387904)4}, {}]>}) {
  return
}

// -----

// #spmd.sharding: a sub-axis of one device
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0205] sub-axis "x":(2)1 of an axis of 4 devices is not valid: pre-size times size must divide the axis, and the size must be at least 2}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x":(2)1}, {}]>}) {
  return
}

// -----

// #spmd.sharding: sub-axes of two factorisations
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0205] sub-axes "z":(1)2 and "z":(3)4 cannot be used together: no factorization of the axis contains both}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"z":(1)2}, {"z":(3)4}]>}) {
  return
}

// -----

// #spmd.sharding: an axis is used once
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0204] axis "x" is used twice in one sharding}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"x"}]>}) {
  return
}

// -----

// #spmd.sharding: not for cutting and for partial sums
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0204] axis "x" is used twice in one sharding}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}], replicated={"x"}>}) {
  return
}

// -----

// #spmd.sharding: not a part of an axis in use
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0204] axis "x":(2)2 is used twice in one sharding}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"x":(2)2}]>}) {
  return
}

// -----

// #spmd.sharding: neighbours are written as one
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0206] sub-axes "x":(1)2 and "x":(2)2 follow each other: write "x"}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x":(1)2, "x":(2)2}, {}]>}) {
  return
}

// -----

// #spmd.sharding: an empty open dimension has no priority
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0208] an open dimension without axes cannot have a priority: remove the priority}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}p1, {}]>}) {
  return
}

// -----

// an argument is no partial sum
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0211] argument #0 cannot be a partial sum}}
func.func @f(%x: tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}], unreduced={"x"}>}) {
  return
}

// -----

// spmd.sharding holds a sharding
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @below {{[TP0304] the value of `spmd.sharding` must be a #spmd.sharding<..>}}
func.func @f(%x: tensor<8xf32> {spmd.sharding = "x"}) {
  return
}

// -----

// spmd.sharding on a result
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

// expected-error @+2 {{[TP0203] the sharding has 1 dimensions, but the tensor has 2}}
// expected-note @+1 {{this is the sharding of result #0}}
func.func private @f() -> (tensor<8x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>})

// -----

// spmd.sharding does not stand on ops
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0306] `spmd.sharding` is only for function arguments and results; write `spmd.shardings` on an op}}
  %0 = tp.neg %x {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>} : tensor<8x24xf32>
  return
}

// -----

// spmd.shardings has one entry per result
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0304] `spmd.shardings` must be an array with one sharding for each of the 1 results}}
  %0 = tp.neg %x {spmd.shardings = []} : tensor<8x24xf32>
  return
}

// -----

// spmd.shardings is an array
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0304] `spmd.shardings` must be an array with one sharding for each of the 1 results}}
  %0 = tp.neg %x {spmd.shardings = 1} : tensor<8x24xf32>
  return
}

// -----

// spmd.shardings holds shardings
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0304] expects #spmd.sharding<..> in `spmd.shardings`, got "x"}}
  %0 = tp.neg %x {spmd.shardings = ["x"]} : tensor<8x24xf32>
  return
}

// -----

// spmd.shardings fit the results
spmd.mesh @mesh <["x"=4, "y"=2, "z"=12]>

func.func @f(%x: tensor<8x24xf32>) {
  // expected-error @below {{[TP0203] the sharding has 1 dimensions, but the tensor has 2}}
  %0 = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<8x24xf32>
  return
}

// -----

// #spmd.local: one size per dimension
// expected-error @below {{[TP0203] `global` has 1 sizes, but the sharding has 2 dimensions}}
func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{}, {}], global=[4]>>) {
  return
}

// -----

// #spmd.local: sizes are at least 0
// expected-error @below {{[TP0209] the sizes in `global` must be at least 0}}
func.func @f(%x: tensor<4xf32, #spmd.local<@mesh, [{}], global=[-4]>>) {
  return
}

// -----

// #spmd.local: the tensor has as many dimensions
// expected-error @below {{[TP0203] the encoding has 1 dimensions, but the tensor has 2}}
func.func @f(%x: tensor<4x6xf32, #spmd.local<@mesh, [{}], global=[4]>>) {
  return
}
