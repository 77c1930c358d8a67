// RUN: tp-opt %s --split-input-file --verify-diagnostics

// Each line of the constraints of #tp.source and of #tp.join.
// Another attribute.
// expected-error @below {{[TP0304] argument #0: `tp.source` expects #tp.source<..> or #tp.join<..>, got "a"}}
func.func @f(%w: tensor<2x3xf32> {tp.source = "a"}) {
  return
}

// -----

// No tensor.
// expected-error @below {{[TP0304] argument #0: `tp.source` belongs to a ranked tensor, not to 'i32'}}
func.func @f(%w: i32 {tp.source = #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: lists of another rank.
// expected-error @below {{[TP0304] argument #0: `tp.source` expects `stored`, `start` and `size` to have one entry for each dimension of the stored tensor}}
func.func @f(%w: tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[2, 3], start=[0], size=[2, 3], view=[2, 3], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: the box lies inside.
// expected-error @below {{[TP0304] argument #0: `tp.source` the slice given by `start` and `size` exceeds the stored tensor in dimension 1}}
func.func @f(%w: tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[2, 3], start=[0, 1], size=[2, 3], view=[2, 3], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: the view has as many elements.
// expected-error @below {{[TP0304] argument #0: `tp.source` expects the view to have as many elements as the slice that `size` gives}}
func.func @f(%w: tensor<2x2xf32> {tp.source = #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 2], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: the permuted view is the shape.
// expected-error @below {{[TP0304] argument #0: `tp.source` the permuted view differs from the weight's shape in dimension 0}}
func.func @f(%w: tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[1, 0]>}) {
  return
}

// -----

// #tp.source: of another rank.
// expected-error @below {{[TP0304] argument #0: `tp.source` expects `view`, `permutation` and the weight to have the same rank}}
func.func @f(%w: tensor<6xf32> {tp.source = #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: a permutation.
// expected-error @below {{[TP0304] argument #0: `tp.source` expects `permutation` to name every dimension of the view once}}
func.func @f(%w: tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 0]>}) {
  return
}

// -----

// #tp.join: two parts or more.
// expected-error @below {{[TP0304] argument #0: `tp.source` a join expects at least two parts, got 1}}
func.func @f(%w: tensor<2x3xf32> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: a dimension of the weight.
// expected-error @below {{[TP0304] argument #0: `tp.source` a join expects a dimension of the weight, which has rank 2, got 2}}
func.func @f(%w: tensor<4x3xf32> {tp.source = #tp.join<dim = 2, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"b", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: no negative one.
// expected-error @below {{[TP0304] argument #0: `tp.source` a join expects a dimension of the weight, which has rank 2, got -1}}
func.func @f(%w: tensor<4x3xf32> {tp.source = #tp.join<dim = -1, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"b", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: a part is a source.
// expected-error @below {{[TP0304] argument #0: `tp.source` part 1: the slice given by `start` and `size` exceeds the stored tensor in dimension 0}}
func.func @f(%w: tensor<4x3xf32> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"b", stored=[2, 3], start=[1, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: a part has the shape of the weight but for one dimension.
// expected-error @below {{[TP0304] argument #0: `tp.source` part 1: the permuted view differs from the weight's shape in dimension 1}}
func.func @f(%w: tensor<4x3xf32> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"b", stored=[2, 4], start=[0, 0], size=[2, 4], view=[2, 4], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: a part is no permutation.
// expected-error @below {{[TP0304] argument #0: `tp.source` part 0: expects `permutation` to name every dimension of the view once}}
func.func @f(%w: tensor<4x3xf32> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[7, 1]>, #tp.source<"b", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: sizes add up, and are not more.
// expected-error @below {{[TP0304] argument #0: `tp.source` part 1: has size 2 in dimension 0, but the parts before it leave only 1 elements of the weight}}
func.func @f(%w: tensor<3x3xf32> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"b", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: nor less.
// expected-error @below {{[TP0304] argument #0: `tp.source` the parts of a join leave out the last 1 elements of dimension 0}}
func.func @f(%w: tensor<5x3xf32> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"b", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

spmd.mesh @mesh <["x"=2]>
// #tp.join: of the whole, on a local type, too.
// expected-error @below {{[TP0304] argument #0: `tp.source` the parts of a join leave out the last 1 elements of dimension 0}}
func.func @f(%w: tensor<3x3xf32, #spmd.local<@mesh, [{"x"}, {}], global=[5, 3]>> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"b", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  return
}

// -----

// #tp.join: parts are not joined themselves.
// expected-error @below {{invalid kind of attribute specified}}
func.func @f(%w: tensor<4x3xf32> {tp.source = #tp.join<dim = 0, [#tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>]>}) {
  return
}

// -----

// A result is no join.
// expected-error @below {{[TP0304] result #0: `tp.source` expects the #tp.source<..> of a result to be a slice of a tensor along one dimension, without reshape or transpose, got #tp.join<dim = 0}}
func.func @f() -> (tensor<4x3xf32> {tp.source = #tp.join<dim = 0, [#tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>, #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>]>}) {
  %0 = tp.constant dense<0.0> : tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// A result is part of another tensor than itself.
// expected-error @below {{[TP0304] result #0: `tp.source` expects the #tp.source<..> of a result to be a slice of a tensor along one dimension, without reshape or transpose, got}}
func.func @f() -> (tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[2, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>}) {
  %0 = tp.constant dense<0.0> : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// The parts of a result follow each other.
// expected-error @below {{[TP0304] result #1: `tp.source` expects the next part of tensor "a", which begins at element 2 of dimension 0}}
func.func @f() -> (tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[4, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>},
                   tensor<1x3xf32> {tp.source = #tp.source<"a", stored=[4, 3], start=[3, 0], size=[1, 3], view=[1, 3], permutation=[0, 1]>}) {
  %0 = tp.constant dense<0.0> : tensor<2x3xf32>
  %1 = tp.constant dense<0.0> : tensor<1x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<1x3xf32>
}

// -----

// They are all of it.
// expected-error @below {{[TP0304] result #0: `tp.source` is the last part of tensor "a", but ends at element 2 of dimension 0, which has size 4}}
func.func @f() -> (tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[4, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>}) {
  %0 = tp.constant dense<0.0> : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// No other result has the name.
// expected-error @below {{[TP0304] result #0: `tp.source` is a part of "a", but another result already has this name: return all parts of a tensor as consecutive results, and give its name to no other result}}
func.func @f() -> (tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[4, 3], start=[0, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>},
                   tensor<2x3xf32> {tp.source = #tp.source<"a", stored=[4, 3], start=[2, 0], size=[2, 3], view=[2, 3], permutation=[0, 1]>},
                   tensor<2x3xf32> {tp.name = "a"}) {
  %0 = tp.constant dense<0.0> : tensor<2x3xf32>
  return %0, %0, %0 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
