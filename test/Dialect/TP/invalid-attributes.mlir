// RUN: tp-opt %s --split-input-file --verify-diagnostics

// What the attributes of arguments and results must be.


// tp.name is a string
// expected-error @below {{[TP0304] argument #0: `tp.name` is a string}}
func.func @f(%x: tensor<4xf32> {tp.name = 1}) {
  return
}

// -----

// tp.name is a string on results, too
// expected-error @below {{[TP0304] result #0: `tp.name` is a string}}
func.func private @f() -> (tensor<4xf32> {tp.name = 1})

// -----

// tp.donated is a number
// expected-error @below {{[TP0304] argument #0: `tp.donated` is the number of the result that may overwrite the argument}}
func.func @f(%x: tensor<4xf32> {tp.donated = "x"}) {
  return
}

// -----

// tp.donated names a result
// expected-error @below {{[TP0304] argument #0: `tp.donated` is the number of the result that may overwrite the argument}}
func.func @f(%x: tensor<4xf32> {tp.donated = 0}) {
  return
}

// -----

// tp.donated names a result of the argument's type
// expected-error @below {{[TP0304] argument #0: `tp.donated` names result #0, which has another type}}
func.func private @f(tensor<4xf32> {tp.donated = 0}) -> tensor<5xf32>

// -----

// tp.source is a source
// expected-error @below {{[TP0304] argument #0: `tp.source` is a #tp.source<..> on a ranked tensor}}
func.func @f(%w: tensor<4x6xf32> {tp.source = "w"}) {
  return
}

// -----

// tp.source stands on a tensor
// expected-error @below {{[TP0304] argument #0: `tp.source` is a #tp.source<..> on a ranked tensor}}
func.func @f(%w: index {tp.source = #tp.source<"w", stored=[], start=[], size=[], view=[], permutation=[]>}) {
  return
}

// -----

// #tp.source: one entry per dimension
// expected-error @below {{[TP0304] argument #0: `tp.source` `stored`, `start` and `size` have one entry per dimension of the stored tensor}}
func.func @f(%w: tensor<4x6xf32> {tp.source = #tp.source<"w", stored=[4, 6], start=[0], size=[4, 6], view=[4, 6], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: the box begins inside
// expected-error @below {{[TP0304] argument #0: `tp.source` the box leaves the stored tensor in dimension 0}}
func.func @f(%w: tensor<4x6xf32> {tp.source = #tp.source<"w", stored=[4, 6], start=[-1, 0], size=[4, 6], view=[4, 6], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: the box ends inside
// expected-error @below {{[TP0304] argument #0: `tp.source` the box leaves the stored tensor in dimension 1}}
func.func @f(%w: tensor<4x6xf32> {tp.source = #tp.source<"w", stored=[4, 6], start=[0, 1], size=[4, 6], view=[4, 6], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: the view has as many elements
// expected-error @below {{[TP0304] argument #0: `tp.source` the view has another number of elements than the box}}
func.func @f(%w: tensor<4x6xf32> {tp.source = #tp.source<"w", stored=[8, 6], start=[0, 0], size=[8, 6], view=[4, 6], permutation=[0, 1]>}) {
  return
}

// -----

// #tp.source: the view has the weight's rank
// expected-error @below {{[TP0304] argument #0: `tp.source` view, permutation and weight have one rank}}
func.func @f(%w: tensor<4x6xf32> {tp.source = #tp.source<"w", stored=[4, 6], start=[0, 0], size=[4, 6], view=[24], permutation=[0]>}) {
  return
}

// -----

// #tp.source: the permutation is one
// expected-error @below {{[TP0304] argument #0: `tp.source` `permutation` names every dimension of the view once}}
func.func @f(%w: tensor<4x6xf32> {tp.source = #tp.source<"w", stored=[4, 6], start=[0, 0], size=[4, 6], view=[4, 6], permutation=[0, 0]>}) {
  return
}

// -----

// #tp.source: the permuted view has the weight's shape
// expected-error @below {{[TP0304] argument #0: `tp.source` the permuted view does not have the weight's shape in dimension 0}}
func.func @f(%w: tensor<4x6xf32> {tp.source = #tp.source<"w", stored=[4, 6], start=[0, 0], size=[4, 6], view=[4, 6], permutation=[1, 0]>}) {
  return
}
