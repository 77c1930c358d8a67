// RUN: tp-opt %s --tp-shard --split-input-file --verify-diagnostics

// A manual region whose annotation is wrong is an error that blames the
// annotation, and not the partition.

spmd.mesh @mesh <["x"=2]>

// As JAX writes shard_map(lambda a: a * 2, in_specs=P("x"), out_specs=P(),
// check_vma=False).
func.func @main(%a: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{[TP0702] result #0: device 1 holds }}
  %0 = spmd.manual (%a) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%part: tensor<4x4xf32>):
    %1 = tp.add %part, %part : tensor<4x4xf32>
    spmd.return %1 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

spmd.mesh @mesh <["x"=2]>

// Right: what is summed in the region is the same on all devices.
func.func @main(%a: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = spmd.manual (%a) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{}, {}]>] axes {"x"} {
  ^bb0(%part: tensor<4x4xf32>):
    %1 = spmd.all_reduce %part {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> : tensor<4x4xf32> -> tensor<4x4xf32>
    spmd.return %1 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
