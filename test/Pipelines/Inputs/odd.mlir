// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs that a user may write, and that no pass expects.

// A local type that names an axis its mesh does not have.
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"z"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  return %x : !x
}

// -----

// A local type whose mesh is not there.
!x = tensor<2xf32, #spmd.local<@mesh, [{"z"}], global=[4]>>
func.func @main(%x: !x) -> !x {
  return %x : !x
}

// -----

// A local type of another size than its part has.
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[7]>>
func.func @main(%x: !x) -> !x {
  %y = tp.exp %x : !x
  return %y : !x
}

// -----

// A program that is local already.
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @main(%x: !x) -> !x {
  %y = tp.exp %x : !x
  return %y : !x
}

// -----

// A local type with sizes of another rank, in a whole program.
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4, 3]>>
func.func @main(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %c = tp.constant dense<1.0> : !x
  return %x : tensor<4xf32>
}

// -----

// A local type on an unknown axis, in a whole program.
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"q"}], global=[4]>>
func.func @main(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %c = tp.constant dense<1.0> : !x
  return %x : tensor<4xf32>
}

// -----

// Nothing.
module {
}

// -----

// No mesh, and no tensors.
func.func @main(%x: i32) -> i32 {
  return %x : i32
}

// -----

// No tensors.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: i32, %y: memref<4xf32>) -> i32 {
  return %x : i32
}

// -----

// A function without a body.
spmd.mesh @mesh <["x"=2]>
func.func private @main(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

// Tensors without a rank.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// -----

// Tensors of unknown sizes.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// Elements that are no numbers of ours.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<4xindex>) -> tensor<4xindex> {
  return %x : tensor<4xindex>
}

// -----

// Tensors without elements.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %y = tp.exp %x : tensor<0x4xf32>
  return %y : tensor<0x4xf32>
}

// -----

// A module in the module.
spmd.mesh @mesh <["x"=2]>
module @inner {
  spmd.mesh @mesh <["x"=2]>
  func.func @main(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// Attributes of the wrong kinds.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<4xf32> {tp.name = 5 : i32, tp.donated = "x", tp.source = 3 : i32}) -> (tensor<4xf32> {tp.name = 7 : i32}) {
  return %x : tensor<4xf32>
}

// -----

// A result that is not there.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<4xf32> {tp.donated = 9 : i64}) -> (tensor<4xf32>) {
  return %x : tensor<4xf32>
}

// -----

// An op that nobody knows.
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y = "foo.bar"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// What passes leave behind, about other programs.
module attributes {tp.plan = #tp.plan<machine = "none", target = "none", verified = field, verify_us = 1.0>, tp.programs = {}} {
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32>) attributes {tp.explanations = [#tp.explanation<id = 99, name = "z", sharding = <@mesh, [{"x"}, {"x"}]>>], tp.local_form = @none, tp.digests = #tp.digests<values = [1]>, tp.prices = #tp.prices<unit = seconds, items = [<kind = plan>]>} {
  %y = tp.exp %x {tp.why = #tp.why<reasons = [<kind = moved, user = "none", from = <@mesh, [{"x"}]>, to = <@mesh, [{}, {"x"}]>>]>, tp.global_op = array<i64: 7, -4>} : tensor<4xf32>
  return %y : tensor<4xf32>
}
}
