// RUN: tp-opt %s --tp-localize --split-input-file --verify-diagnostics

// What earlier stages replace has no local form.
spmd.mesh @mesh <["x"=2]>
func.func @reshard(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0403] is not local: run tp-partition and tp-plan-collectives first}}
  %0 = spmd.reshard %x <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

// A missing sharding is an error, not "replicated".
spmd.mesh @mesh <["x"=2]>
func.func @unknown(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{has no sharding, and none means nothing here: run tp-partition first}}
  %0 = tp.neg %x : tensor<8xf32>
  return
}

// -----

// The body of a manual region is written for one device.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @free_axis(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", "y"}]>}) {
  // expected-error @below {{[TP0404] a value of the manual region is also cut along axis "y", which is not manual}}
  %0 = spmd.manual (%x) in [<@mesh, [{"x", "y"}]>] out [<@mesh, [{"x", "y"}]>] axes {"x"} {
  ^bb0(%a: tensor<4xf32>):
    spmd.return %a : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// A splice that brings every second row of 16 devices together.
spmd.mesh @mesh <["x"=16]>
func.func @f(%x: tensor<32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  // expected-error @below {{[TP0405] needs rows from more than 8 other devices each: cut dimension 0 along fewer axes, or gather it}}
  %0 = tp.splice %x dim = 0 starts = [0] sizes = [16] {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}]>]} : (tensor<32xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
