// RUN: tp-opt %s --tp-plan-collectives --split-input-file --verify-diagnostics

// A reshard from nowhere.
spmd.mesh @mesh <["x"=2]>
func.func @f(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = tp.neg %x : tensor<8xf32>
  // expected-error @below {{[TP0403] the input has no sharding, so the collectives cannot be planned: run tp-partition first}}
  %1 = spmd.reshard %0 <@mesh, [{}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
