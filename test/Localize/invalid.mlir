// RUN: tp-opt %s --tp-localize --split-input-file --verify-diagnostics

// What earlier stages replace has no local form.
spmd.mesh @mesh <["x"=2]>
func.func @reshard(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0403] this op is not yet part of a program for one device: run tp-partition and tp-plan-collectives first}}
  %0 = spmd.reshard %x <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

// A missing sharding is an error, not "replicated".
spmd.mesh @mesh <["x"=2]>
func.func @unknown(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0403] tp.neg at line 17 has no sharding: run tp-partition first}}
  %0 = tp.neg %x : tensor<8xf32>
  return
}

// -----

// A splice that brings every second row of 16 devices together.
spmd.mesh @mesh <["x"=16]>
func.func @f(%x: tensor<32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0405] each device needs rows from more than 8 other devices: cut dimension 0 along fewer axes, or gather it}}
  %0 = tp.splice %x dim = 0 starts = [0] sizes = [16] {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}]>]} : (tensor<32xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
