// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a local program says wrong about itself, without the program it was made
// from, is found at the op.
//
// RUN: tp-opt %s --split-input-file --verify-diagnostics --tp-verify-local -o %t

// A contraction of 10 over 4 devices that takes blocks of 2, as the `shard`
// dialect of MLIR 22.1.8 does: two rows are lost.
spmd.mesh @mesh <["x"=4]>
!a = tensor<6x2xf32, #spmd.local<@mesh, [{}, {"x"}], global=[6, 10]>>
!b = tensor<2x5xf32, #spmd.local<@mesh, [{"x"}, {}], global=[10, 5]>>
!s = tensor<6x5xf32, #spmd.local<@mesh, [{}, {}], unreduced={"x"}, global=[6, 5]>>
!y = tensor<6x5xf32, #spmd.local<@mesh, [{}, {}], global=[6, 5]>>
// expected-error @+1 {{[TP0704] 'tensor<6x2xf32, #spmd.local<@mesh, [{}, {"x"}], global=[6, 10]>>': expects one device's part to have sizes [6, 3]}}
func.func @uneven_contraction(%a: !a, %b: !b) -> !y {
  %0 = tp.einsum "ik,kj->ij" %a, %b : (!a, !b) -> !s
  %1 = spmd.all_reduce %0 {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> : !s -> !y
  return %1 : !y
}

// -----

// The same blocks rightly sized, and no sum.
spmd.mesh @mesh <["x"=4]>
!a = tensor<6x3xf32, #spmd.local<@mesh, [{}, {"x"}], global=[6, 10]>>
!b = tensor<3x5xf32, #spmd.local<@mesh, [{"x"}, {}], global=[10, 5]>>
!y = tensor<6x5xf32, #spmd.local<@mesh, [{}, {}], global=[6, 5]>>
func.func @no_sum(%a: !a, %b: !b) -> !y {
  // expected-error @+1 {{[TP0712] tp.einsum: result #0 must be unreduced along {"x"}, but is unreduced along {}}}
  %0 = tp.einsum "ik,kj->ij" %a, %b : (!a, !b) -> !y
  return %0 : !y
}

// -----

spmd.mesh @mesh <["x"=4]>
!s = tensor<6xf32, #spmd.local<@mesh, [{}], unreduced={"x"}, global=[6]>>
func.func @activation_of_a_partial_sum(%a: !s) -> !s {
  // expected-error @+1 {{[TP0712] tp.tanh: operand #0 is a sum that is still unreduced along {"x"}}}
  %0 = tp.tanh %a : !s
  return %0 : !s
}

// -----

// One element on each device is a part of four.
spmd.mesh @mesh <["x"=4]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
!y = tensor<f32, #spmd.local<@mesh, [], global=[]>>
func.func @one_element(%a: !a) -> !y {
  // expected-error @+1 {{[TP0712] tp.reduce: result #0 must be unreduced along {"x"}, but is unreduced along {}}}
  %0 = tp.reduce sum %a dims = [0] : !a -> !y
  return %0 : !y
}

// -----

// The device's number decides who waits.
spmd.mesh @mesh <["x"=4]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
!w = tensor<4xf32, #spmd.local<@mesh, [{}], global=[4]>>
func.func @some_wait(%a: !a, %w: !w) -> !w {
  %i = spmd.axis_index @mesh {"x"} : tensor<i32>
  %one = tp.constant dense<1> : tensor<i32>
  %which = tp.min %i, %one : tensor<i32>
  // expected-error @+1 {{[TP0703] this op branches or loops on a value that differs between devices, but the devices exchange data inside and would wait for each other forever}}
  %r = tp.case %which {
    %0 = spmd.all_gather %a [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !a -> !w
    tp.yield %0 : !w
  }, {
    tp.yield %w : !w
  } : (tensor<i32>) -> !w
  return %r : !w
}

// -----

// By way of a loop, whose second value is the number from the first turn on.
spmd.mesh @mesh <["x"=4]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
!w = tensor<4xf32, #spmd.local<@mesh, [{}], global=[4]>>
func.func @some_wait_later(%a: !a, %w: !w) -> !w {
  %i = spmd.axis_index @mesh {"x"} : tensor<i32>
  %zero = tp.constant dense<0> : tensor<i32>
  %n:3 = tp.for 3 (%zero, %zero, %w) {
  ^bb0(%t: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>, %v: !w):
    // expected-error @+1 {{[TP0703] this op branches or loops on a value that differs between devices}}
    %r = tp.case %p {
      %0 = spmd.all_gather %a [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !a -> !w
      tp.yield %0 : !w
    }, {
      tp.yield %v : !w
    } : (tensor<i32>) -> !w
    tp.yield %q, %i, %r : tensor<i32>, tensor<i32>, !w
  } : (tensor<i32>, tensor<i32>, !w) -> (tensor<i32>, tensor<i32>, !w)
  return %n#2 : !w
}

// -----

// The part of a manual region that a device holds decides who waits.
spmd.mesh @mesh <["x"=4, "y"=2]>
!f = tensor<1xi1, #spmd.local<@mesh, [{"x"}], global=[4]>>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @part_decides(%f: !f, %a: !a) -> !a {
  %r = spmd.manual (%f, %a) in [<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x", "y"} {
  ^bb0(%g: tensor<1xi1>, %b: tensor<1xf32>):
    %flag = tp.reshape %g : tensor<1xi1> -> tensor<i1>
    // expected-error @+1 {{[TP0703] this op branches or loops on a value that differs between devices, but the devices exchange data inside and would wait for each other forever}}
    %c = tp.case %flag {
      tp.yield %b : tensor<1xf32>
    }, {
      %d = spmd.shift %b along @mesh {"x"} by 1 wrap : tensor<1xf32>
      tp.yield %d : tensor<1xf32>
    } : (tensor<i1>) -> tensor<1xf32>
    spmd.return %c : tensor<1xf32>
  } : (!f, !a) -> !a
  return %r : !a
}

// -----

// A loop that devices leave when they like is left with what differs.
spmd.mesh @mesh <["x"=4]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
!w = tensor<4xf32, #spmd.local<@mesh, [{}], global=[4]>>
func.func @left_early(%a: !a, %w: !w) -> !w {
  %i = spmd.axis_index @mesh {"x"} : tensor<i32>
  %zero = tp.constant dense<0> : tensor<i32>
  %one = tp.constant dense<1> : tensor<i32>
  %n = tp.while (%zero) cond {
  ^bb0(%c: tensor<i32>):
    %more = tp.compare lt %c, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %more : tensor<i1>
  } do {
  ^bb0(%c: tensor<i32>):
    %next = tp.add %c, %one : tensor<i32>
    tp.yield %next : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>
  // expected-error @+1 {{[TP0703] this op branches or loops on a value that differs between devices}}
  %r = tp.case %n {
    %0 = spmd.all_gather %a [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !a -> !w
    tp.yield %0 : !w
  }, {
    tp.yield %w : !w
  } : (tensor<i32>) -> !w
  return %r : !w
}

// -----

// Those who wait for one another decide alike: they are at one place of the axis
// that decides, or have summed what does.
spmd.mesh @mesh <["x"=4, "y"=2]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @alike(%a: !a) -> !a {
  %r = spmd.manual (%a) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x", "y"} {
  ^bb0(%b: tensor<1xf32>):
    %place = spmd.axis_index @mesh {"y"} : tensor<i32>
    %c = tp.case %place {
      tp.yield %b : tensor<1xf32>
    }, {
      %d = spmd.shift %b along @mesh {"x"} by 1 wrap : tensor<1xf32>
      tp.yield %d : tensor<1xf32>
    } : (tensor<i32>) -> tensor<1xf32>
    %sum = spmd.all_reduce %place {"y"} in <@mesh, [], unreduced={"y"}> out <@mesh, []> : tensor<i32> -> tensor<i32>
    %e = tp.case %sum {
      tp.yield %c : tensor<1xf32>
    }, {
      %f = spmd.shift %c along @mesh {"y"} by 1 wrap : tensor<1xf32>
      tp.yield %f : tensor<1xf32>
    } : (tensor<i32>) -> tensor<1xf32>
    spmd.return %e : tensor<1xf32>
  } : (!a) -> !a
  return %r : !a
}

// -----

// Nobody waits inside: every device may go its own way.
spmd.mesh @mesh <["x"=4]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @own_ways(%a: !a) -> !a {
  %i = spmd.axis_index @mesh {"x"} : tensor<i32>
  %r = tp.case %i {
    %0 = tp.exp %a : !a
    tp.yield %0 : !a
  }, {
    tp.yield %a : !a
  } : (tensor<i32>) -> !a
  return %r : !a
}

// -----

// The number of the device says the place along "x" when it is divided: those along "y"
// decide alike, through a loop, too, whose turns count in.
spmd.mesh @mesh <["x"=2, "y"=3]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x", "y"}], global=[6]>>
func.func @alike_by_number(%a: !a) -> !a {
  %r = spmd.manual (%a) in [<@mesh, [{"x", "y"}]>] out [<@mesh, [{"x", "y"}]>] axes {"x", "y"} {
  ^bb0(%b: tensor<1xf32>):
    %number = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
    %three = tp.constant dense<3> : tensor<i32>
    %place = tp.div %number, %three : tensor<i32>
    %c = tp.case %place {
      tp.yield %b : tensor<1xf32>
    }, {
      %d = spmd.shift %b along @mesh {"y"} by 1 wrap : tensor<1xf32>
      tp.yield %d : tensor<1xf32>
    } : (tensor<i32>) -> tensor<1xf32>
    %e = tp.for 2 (%c) {
    ^bb0(%t: tensor<i32>, %h: tensor<1xf32>):
      %which = tp.add %place, %t : tensor<i32>
      %f = tp.case %which {
        tp.yield %h : tensor<1xf32>
      }, {
        %g = spmd.shift %h along @mesh {"y"} by 1 wrap : tensor<1xf32>
        tp.yield %g : tensor<1xf32>
      } : (tensor<i32>) -> tensor<1xf32>
      tp.yield %f : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    spmd.return %e : tensor<1xf32>
  } : (!a) -> !a
  return %r : !a
}

// -----

// Half of an axis decides, and the devices of one half meet.
spmd.mesh @mesh <["x"=4]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @alike_in_halves(%a: !a) -> !a {
  %r = spmd.manual (%a) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%b: tensor<1xf32>):
    %number = spmd.axis_index @mesh {"x"} : tensor<i32>
    %two = tp.constant dense<2> : tensor<i32>
    %half = tp.div %number, %two : tensor<i32>
    %c = tp.case %half {
      tp.yield %b : tensor<1xf32>
    }, {
      %d = spmd.shift %b along @mesh {"x":(2)2} by 1 wrap : tensor<1xf32>
      tp.yield %d : tensor<1xf32>
    } : (tensor<i32>) -> tensor<1xf32>
    spmd.return %c : tensor<1xf32>
  } : (!a) -> !a
  return %r : !a
}

// -----

// The other half does not.
spmd.mesh @mesh <["x"=4]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @torn_halves(%a: !a) -> !a {
  %r = spmd.manual (%a) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%b: tensor<1xf32>):
    %number = spmd.axis_index @mesh {"x"} : tensor<i32>
    %two = tp.constant dense<2> : tensor<i32>
    %half = tp.div %number, %two : tensor<i32>
    // expected-error @+1 {{[TP0703] this op branches or loops on a value that differs between devices, but the devices exchange data inside and would wait for each other forever}}
    %c = tp.case %half {
      tp.yield %b : tensor<1xf32>
    }, {
      %d = spmd.shift %b along @mesh {"x":(1)2} by 1 wrap : tensor<1xf32>
      tp.yield %d : tensor<1xf32>
    } : (tensor<i32>) -> tensor<1xf32>
    spmd.return %c : tensor<1xf32>
  } : (!a) -> !a
  return %r : !a
}

// -----

// A loop in a branch: both places decide, and those along "y" wait.
spmd.mesh @mesh <["x"=2, "y"=3]>
!a = tensor<1xf32, #spmd.local<@mesh, [{"x", "y"}], global=[6]>>
func.func @torn_by_turns(%a: !a) -> !a {
  %r = spmd.manual (%a) in [<@mesh, [{"x", "y"}]>] out [<@mesh, [{"x", "y"}]>] axes {"x", "y"} {
  ^bb0(%b: tensor<1xf32>):
    %number = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
    %zero = tp.constant dense<0> : tensor<i32>
    %one = tp.constant dense<1> : tensor<i32>
    %three = tp.constant dense<3> : tensor<i32>
    %x = tp.div %number, %three : tensor<i32>
    %y = tp.rem %number, %three : tensor<i32>
    %c = tp.case %x {
      tp.yield %b : tensor<1xf32>
    }, {
      // expected-error @+1 {{[TP0703] this op branches or loops on a value that differs between devices, but the devices exchange data inside and would wait for each other forever}}
      %n:2 = tp.while (%zero, %b) cond {
      ^bb0(%t: tensor<i32>, %h: tensor<1xf32>):
        %more = tp.compare lt %t, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
        tp.yield %more : tensor<i1>
      } do {
      ^bb0(%t: tensor<i32>, %h: tensor<1xf32>):
        %next = tp.add %t, %one : tensor<i32>
        %d = spmd.shift %h along @mesh {"y"} by 1 wrap : tensor<1xf32>
        tp.yield %next, %d : tensor<i32>, tensor<1xf32>
      } : (tensor<i32>, tensor<1xf32>) -> (tensor<i32>, tensor<1xf32>)
      tp.yield %n#1 : tensor<1xf32>
    } : (tensor<i32>) -> tensor<1xf32>
    spmd.return %c : tensor<1xf32>
  } : (!a) -> !a
  return %r : !a
}
