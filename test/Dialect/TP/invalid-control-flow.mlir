// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every op, in their order, and under
// "types" what the types of operands rule out.


// tp.for 1: less than never
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0304] 'tp.for' op expects a count of at least 0}}
  %r = tp.for -1 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    tp.yield %h : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.for 2: no counter
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.for' op expects the body to have an argument of type 'tensor<i32>', followed by arguments of the types of the initial values}}
  %r = tp.for 2 (%x) {
  ^bb0(%h: tensor<4xf32>):
    tp.yield %h : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.for 2: a counter of i64
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.for' op expects the body to have an argument of type 'tensor<i32>', followed by arguments of the types of the initial values}}
  %r = tp.for 2 (%x) {
  ^bb0(%i: tensor<i64>, %h: tensor<4xf32>):
    tp.yield %h : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.for 2: another type
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.for' op expects the body to have an argument of type 'tensor<i32>', followed by arguments of the types of the initial values}}
  %r = tp.for 2 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<5xf32>):
    tp.yield %x : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.for 3: another result
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.for' op expects the results to have the types of the initial values}}
  %r = tp.for 2 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    tp.yield %h : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.for 3: another yield
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.for' op body must yield ('tensor<4xf32>')}}
  %r = tp.for 2 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    // expected-note @below {{but it yields ('tensor<i32>')}}
    tp.yield %i : tensor<i32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.for 3: no yield at all
func.func @f() {
  // expected-error @below {{[TP0305] 'tp.for' op body must yield ()}}
  "tp.for"() <{count = 2 : i64}> ({
  ^bb0(%i: tensor<i32>):
    func.return
  }) : () -> ()
  return
}

// -----

// tp.for 3: an empty body
func.func @f() {
  // expected-error @below {{expects a non-empty block}}
  "tp.for"() <{count = 2 : i64}> ({
  ^bb0(%i: tensor<i32>):
  }) : () -> ()
  return
}

// -----

// tp.while 1: a condition on nothing
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.while' op expects both regions to have arguments of the types of the initial values}}
  %r = tp.while (%x) cond {
    %t = tp.constant dense<true> : tensor<i1>
    tp.yield %t : tensor<i1>
  } do {
  ^bb0(%h: tensor<4xf32>):
    tp.yield %h : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.while 2: a condition that is no i1
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.while' op cond must yield ('tensor<i1>')}}
  %r = tp.while (%x) cond {
  ^bb0(%h: tensor<4xf32>):
    // expected-note @below {{but it yields ('tensor<4xf32>')}}
    tp.yield %h : tensor<4xf32>
  } do {
  ^bb0(%h: tensor<4xf32>):
    tp.yield %h : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.while 2: an empty condition
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.while' op cond must yield ('tensor<i1>')}}
  "tp.while"() ({
  ^bb0:
  }, {
    tp.yield
  }) : () -> ()
  return
}

// -----

// tp.while 3: another yield
func.func @f(%x: tensor<4xf32>, %t: tensor<i1>) {
  // expected-error @below {{[TP0305] 'tp.while' op body must yield ('tensor<4xf32>')}}
  %r = tp.while (%x) cond {
  ^bb0(%h: tensor<4xf32>):
    tp.yield %t : tensor<i1>
  } do {
  ^bb0(%h: tensor<4xf32>):
    // expected-note @below {{but it yields ('tensor<i1>')}}
    tp.yield %t : tensor<i1>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.while 3: another result
func.func @f(%x: tensor<4xf32>, %t: tensor<i1>) {
  // expected-error @below {{[TP0303] 'tp.while' op expects the results to have the types of the initial values}}
  %r = tp.while (%x) cond {
  ^bb0(%h: tensor<4xf32>):
    tp.yield %t : tensor<i1>
  } do {
  ^bb0(%h: tensor<4xf32>):
    tp.yield %h : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<i1>
  return
}

// -----

// tp.case 1: a vector of numbers
func.func @f(%p: tensor<4xi32>) {
  // expected-error @below {{[TP0303] 'tp.case' op expects a scalar index, got 'tensor<4xi32>'}}
  tp.case %p {
    tp.yield
  } : (tensor<4xi32>) -> ()
  return
}

// -----

// tp.case 1: a float
func.func @f(%p: tensor<f32>) {
  // expected-error @below {{operand #0 must be static tensor of integers}}
  tp.case %p {
    tp.yield
  } : (tensor<f32>) -> ()
  return
}

// -----

// tp.case 2: no branch
func.func @f(%p: tensor<i32>) {
  // expected-error @below {{[TP0305] 'tp.case' op expects at least one branch}}
  "tp.case"(%p) : (tensor<i32>) -> ()
  return
}

// -----

// tp.case 3: a branch with an argument
func.func @f(%p: tensor<i32>) {
  // expected-error @below {{[TP0305] 'tp.case' op expects branches without arguments}}
  tp.case %p {
  ^bb0(%i: tensor<i32>):
    tp.yield
  } : (tensor<i32>) -> ()
  return
}

// -----

// tp.case 3: a branch with another yield
func.func @f(%p: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @below {{[TP0305] 'tp.case' op every branch must yield ('tensor<4xf32>')}}
  %r = tp.case %p {
    tp.yield %x : tensor<4xf32>
  }, {
    // expected-note @below {{but it yields ('tensor<i32>')}}
    tp.yield %p : tensor<i32>
  } : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// tp.yield types: only in a loop or a branch
func.func @f() {
  // expected-error @below {{expects parent op to be one of 'tp.for, tp.while, tp.case'}}
  tp.yield
  return
}
