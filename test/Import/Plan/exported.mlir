// Exporters write weights as their framework stores them: PyTorch's [out, in]
// is transposed before the product, heads are reshaped, and bf16 weights are
// converted. A plan's words look through all of these.
// RUN: split-file %s %t
// RUN: tp-opt %t/mlp.mlir --tp-import-stablehlo --tp-apply-plan="plan=%t/plan.json" | FileCheck %s --check-prefix=MLP
// RUN: tp-opt %t/mlp.mlir --tp-shard="plan=%t/plan.json" --tp-report=%t/mlp.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=REDUCED
// RUN: tp-opt %t/heads.mlir --tp-import-stablehlo --tp-apply-plan="plan=megatron" | FileCheck %s --check-prefix=HEADS
// RUN: tp-opt %t/heads.mlir --tp-shard="plan=megatron" --tp-report=%t/heads.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=REDUCED
// RUN: not tp-opt %t/mixed.mlir --tp-import-stablehlo --tp-apply-plan="plan=megatron" -o /dev/null 2>&1 | FileCheck %s --check-prefix=MIXED

// MLP: [{"model"}, {}]>, tp.name = "up.weight"
// MLP: [{"model"}]>, tp.name = "up.bias"
// MLP: [{}, {"model"}]>, tp.name = "down.weight"
// REDUCED: @main: 1 all_reduce;
// HEADS: [{"model"}, {}]>, tp.name = "layers.0.q_proj.weight"
// HEADS: [{}, {"model"}]>, tp.name = "layers.0.o_proj.weight"
// MIXED: mixed.mlir:[[#]]:{{[0-9]+}}: error: [TP0524] plan entry "*.up_proj.*" cuts the features of argument layers.0.up_proj.weight, but only the features of a projection, an embedding or a bias can be cut; write "replicate" or a list of axes per dimension

//--- plan.json
{"up": "colwise", "down": "rowwise"}
//--- mlp.mlir
sdy.mesh @mesh = <["model"=2]>
func.func @main(%up: tensor<16x8xbf16> {tp.name = "up.weight"}, %bias: tensor<16xf32> {tp.name = "up.bias"},
                %down: tensor<8x16xf32> {tp.name = "down.weight"}, %x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %wide = stablehlo.convert %up : (tensor<16x8xbf16>) -> tensor<16x8xf32>
  %t = stablehlo.transpose %wide, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %y = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
  %z = stablehlo.add %y, %b : tensor<4x16xf32>
  %a = stablehlo.tanh %z : tensor<4x16xf32>
  %u = stablehlo.transpose %down, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %r = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
//--- heads.mlir
sdy.mesh @mesh = <["model"=2]>
func.func @main(%q: tensor<16x8xf32> {tp.name = "layers.0.q_proj.weight"}, %o: tensor<8x16xf32> {tp.name = "layers.0.o_proj.weight"},
                %x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %heads = stablehlo.reshape %q : (tensor<16x8xf32>) -> tensor<4x4x8xf32>
  %t = stablehlo.transpose %heads, dims = [2, 0, 1] : (tensor<4x4x8xf32>) -> tensor<8x4x4xf32>
  %y = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4x4xf32>) -> tensor<4x4x4xf32>
  %a = stablehlo.tanh %y : tensor<4x4x4xf32>
  %flat = stablehlo.reshape %a : (tensor<4x4x4xf32>) -> tensor<4x16xf32>
  %u = stablehlo.transpose %o, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %r = stablehlo.dot_general %flat, %u, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
//--- mixed.mlir
// The dimension that is taken in and the one that is put out are one in the
// argument.
sdy.mesh @mesh = <["model"=2]>
func.func @main(%up: tensor<128xf32> {tp.name = "layers.0.up_proj.weight"}, %x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x16xf32> {
  %w = stablehlo.reshape %up : (tensor<128xf32>) -> tensor<8x16xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
