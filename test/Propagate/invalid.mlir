// RUN: tp-opt %s --tp-propagate --split-input-file --verify-diagnostics

// One function lies on one mesh.
spmd.mesh @a <["x"=2]>
spmd.mesh @b <["y"=2]>
// expected-error @below {{[TP0212] shardings of one function name several meshes}}
func.func @two_meshes(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@a, [{"x"}]>},
                      %y: tensor<8xf32> {spmd.sharding = #spmd.sharding<@b, [{"y"}]>}) {
  return
}

// -----

// Nothing says which mesh to use.
// expected-error @below {{[TP0201] the module has no mesh and no sharding says which to use}}
func.func @no_mesh(%x: tensor<8xf32>) {
  return
}

// -----

// Of an op without a rule nothing is guessed.
spmd.mesh @mesh <["x"=2]>
func.func private @elsewhere(tensor<8xf32>) -> tensor<8xf32>
func.func @no_rule(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error @below {{[TP0302] func.call has no sharding rule: attach one as an external model}}
  %0 = func.call @elsewhere(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
