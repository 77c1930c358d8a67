// RUN: tp-opt %s --tp-partition --split-input-file --verify-diagnostics

// What nobody has sharded is decided by propagation, not here.
spmd.mesh @mesh <["x"=2]>
// expected-error @below {{[TP0403] argument #1 has no sharding: run tp-propagate first}}
func.func @argument(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}, %y: tensor<4xf32>) -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  %0 = tp.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

spmd.mesh @mesh <["x"=2]>
// expected-error @below {{[TP0403] result #0 has no sharding: run tp-propagate first}}
func.func @result(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
