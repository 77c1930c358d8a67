# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applies plans that are wrong in one way each and looks for the message.

usage: errors.py TP-OPT SCRATCH
"""

import pathlib
import subprocess
import sys

TOOL, SCRATCH = sys.argv[1], pathlib.Path(sys.argv[2])
MESH = 'spmd.mesh @mesh <["data"=2, "model"=4]>\n'
FUNCTION = """
func.func @main(%x: tensor<4x16xf32> {tp.name = "x"},
    %w: tensor<16x8xf32> {tp.name = "model.layers.0.up_proj.weight"},
    %s: tensor<8xf32> {tp.name = "model.norm.weight"}) -> (tensor<4x8xf32> {tp.name = "logits"}) {
  %0 = tp.einsum "bi,io->bo" %x, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = tp.rms_norm %0, %s epsilon = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
"""

# What has roles.
STEP = """
func.func @main(%x: tensor<4xf32> {tp.role = "input"}, %w: tensor<4xf32> {tp.role = "parameter"})
    -> tensor<4xf32> {
  %0 = tp.mul %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

# Program, plan, options, what the message says.
CASES = [
    (FUNCTION, "{}", "",
     "error: [TP0520] the module has 0 meshes, but a plan expects exactly one"),
    (MESH + MESH.replace("@mesh", "@other") + FUNCTION, "{}", "",
     "[TP0520] the module has 2 meshes"),
    (MESH + FUNCTION, "{}", "axis=tensor",
     '[TP0520] mesh @mesh has no axis "tensor", along which the words of a plan cut tensors; give '
     'an axis this name, or list axes for each dimension, chosen from "data" "model"'),
    (MESH.replace("model", "tensor") + FUNCTION, '{"x": "colwise"}', "",
     '[TP0520] mesh @mesh has no axis "model", along which the words of a plan cut tensors'),
    (MESH.replace("model", "tensor") + FUNCTION, '{"x": [["data"], ["tensor"]]}', "", None),
    (MESH + FUNCTION, None, "",
     "[TP0521] cannot be read: No such file or directory; a plan is either one or more of the "
     "words megatron, sp, ddp and fsdp, joined with +, or a JSON file"),
    (MESH + FUNCTION, "{", "", "[TP0521] not JSON: "),
    (MESH + FUNCTION, "[]", "", "[TP0521] expects a plan to be a single JSON object"),
    (MESH + FUNCTION, '{"x": "replicate",\n "x": "replicate"}', "",
     'plan.json:2:2: error: [TP0521] the key "x" is given twice'),
    (MESH + FUNCTION, '{"x":\n "colwize"}', "",
     'plan.json:1:2: error: [TP0522] "colwize" is not a valid plan entry: write'),
    (MESH + FUNCTION, '{"x": 3}', "", "[TP0522] 3 is not a valid plan entry"),
    (MESH + FUNCTION, '{"x": null}', "", "[TP0522] null is not a valid plan entry"),
    (MESH + FUNCTION, '{"norm": "sequence_parallel"}', "",
     'plan.json:1:2: error: [TP0522] "sequence_parallel" asks for activations sharded '
     'along the sequence, which the sharding of an argument cannot express: '
     'write "replicate" here'),
    (MESH + FUNCTION, '{"tp_plan": "colwise"}', "",
     '[TP0523] plan entry "tp_plan" matches neither an argument'),
    (MESH + FUNCTION, '{"tp_plan": {"layers.*.up_proj":\n "colwize"}}', "",
     'plan.json:1:14: error: [TP0522] "colwize" is not a valid plan entry: write'),
    (MESH + FUNCTION, '{"up_plan": {}}', "", "[TP0522] {} is not a valid plan entry"),
    (MESH + FUNCTION, '{"layers.*.up_proj": "packed_colwise"}', "",
     '[TP0524] plan entry "layers.*.up_proj" cuts each part of argument '
     'model.layers.0.up_proj.weight, but the argument has no parts'),
    (MESH + FUNCTION, '{"layers.*.mlp": "moe_tp_experts"}', "",
     '[TP0523] plan entry "layers.*.mlp" matches neither an argument'),
    # A plan that transformers ships serves many models.
    (MESH + FUNCTION, '{"tp_plan": {"layers.*.mlp": "moe_tp_experts"}}', "", None),
    (MESH + FUNCTION, '{"base_model_tp_plan": {"norm": "colwise"}}', "",
     '[TP0524] plan entry "norm" cuts the features of argument model.norm.weight, but only the '
     'features of a '),
    (MESH + "func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }",
     '{"arg0": "grouped_gemm"}', "",
     '[TP0524] plan entry "arg0" cuts the features of argument x, but only the features of a '),
    (MESH + FUNCTION, '{"[": "replicate"}', "", '[TP0522] "[" is not a valid pattern: '),
    (MESH + FUNCTION, '{"x": ["data", []]}', "",
     '[TP0522] "data" is not an axis: write a list of axes per dimension'),
    (MESH + FUNCTION, '{"x": [["pipe"], []]}', "",
     '[TP0522] "pipe" is not an axis: write a list of axes per dimension, such as '
     '[["model"], []] or [["model:(1)2"], []]; mesh @mesh has data, model'),
    (MESH + FUNCTION, '{"x": [["model:2"], []]}', "", '[TP0522] "model:2" is not an axis'),
    (MESH + FUNCTION, '{"x": [["model:(1)"], []]}', "", "[TP0522] "),
    (MESH + FUNCTION, '{"x": [[1], []]}', "", "[TP0522] 1 is not an axis"),
    (MESH + FUNCTION, '{"x": "replicate",\n "layers.*.up_prj": "colwise"}', "",
     'plan.json:2:2: error: [TP0523] plan entry "layers.*.up_prj" matches neither an argument'),
    (MESH + FUNCTION, '{"layers.*.up_prj": "colwise"}', "",
     "note: near names are layers.*.up_proj.weight, "),
    (MESH + "func.func @f(%x: tensor<4xf32>) { return }", '{"z": "replicate"}', "",
     "note: near names are x"),
    (MESH + "func.func @f(%x: tensor<4xf32>) { return }", '{"arg0": "replicate"}', "", None),
    (MESH + "func.func @f(%x: tensor<4xf32>) { return }", '{"arg0": [["pipe"]]}', "",
     '[TP0522] "pipe" is not an axis'),
    (MESH + "func.func private @g(%x: tensor<4xf32>) { return }", '{"arg0": "replicate"}', "",
     "note: the program has no arguments"),
    (MESH + FUNCTION, "megatron", "", None),
    (MESH + "func.func @f(%x: tensor<4xf32> {tp.name = \"x\"}) { return }",
     "megatron", "", "[TP0523] the plan recognizes none of the arguments by name"),
    (MESH + FUNCTION, "megatron+sq", "",
     '[TP0525] plan=megatron+sq: "sq" is not a known word: write megatron, sp, ddp or '
     "fsdp, joined with +, or the path of one file"),
    (MESH + FUNCTION, "sp+fsdp", "",
     "[TP0525] plan=sp+fsdp: sp is only supported together with megatron, because it "
     "shards the activations that megatron sums: write megatron+sp"),
    (MESH + FUNCTION.replace("4x", "1x"), "megatron+sp", "",
     "[TP0526] sp cuts activations along the sequence, but no weight that megatron cuts is"),
    (MESH + FUNCTION, "ddp", "zero=4",
     "[TP0525] zero=4 is not a stage of ZeRO: write zero=1 to cut"),
    (MESH + FUNCTION, "ddp", "zero=1:", "[TP0525] zero=1: is not a stage of ZeRO: write zero=1"),
    (MESH + FUNCTION, "fsdp", "zero=1",
     "[TP0525] zero=1 contradicts fsdp, which means ddp and zero=3: write ddp instead of fsdp"),
    (MESH + FUNCTION, "ddp", "zero=1:pipe",
     '[TP0520] mesh @mesh has no axis "pipe", along which ddp, fsdp and zero= cut tensors; write '
     'zero=N:AXIS with one of "data" "model", or give an axis this name'),
    (MESH + FUNCTION, "ddp", "",
     "[TP0526] ddp treats every argument as a batch unless its role says otherwise, but no "
     'argument has the role "parameter"'),
    (MESH + STEP.replace("input", "state"), "ddp", "",
     "[TP0526] ddp cuts the batch dimension of inputs, but no argument of rank 1 or more"),
    (MESH + STEP, "ddp", "zero=1",
     "[TP0526] zero=1 cuts the state of the optimizer, but no argument of rank 1 "
     'or more has the role "optimizer_state": write zero=2 or zero=3'),
    (MESH + STEP, "", "zero=2",
     "[TP0526] zero=2 cuts gradients, but no op of the program is marked as computing "
     "a gradient (--tp-train adds this mark, tp.gradient)"),
    (MESH + FUNCTION, "", "zero=3",
     "[TP0526] zero=3 and fsdp cut parameters, but no argument has the role"),
    (MESH + STEP, "ddp", "zero=3", None),
    (MESH + STEP, "", "zero=3", None),
    (MESH + STEP, "fsdp", "zero=3:model", None),
    (MESH + FUNCTION, '{"norm": "colwise"}', "",
     '[TP0524] plan entry "norm" cuts the features of argument model.norm.weight, but only the '
     "features of a projection, an embedding or a bias can be cut"),
    (MESH + FUNCTION, '{"logits": "colwise"}', "",
     '[TP0524] plan entry "logits" cuts the features of result logits, but only the '
     'features of a '),
    (MESH + FUNCTION, '{"logits": [["data"]]}', "",
     '[TP0524] plan entry "logits" does not fit result logits of type'),
    (MESH + FUNCTION, '{"logit*": [["data"], []]}', "",
     '[TP0523] plan entry "logit*" matches neither an argument nor the name of a result'),
    (MESH + FUNCTION, '{"x": [["data"]]}', "",
     '[TP0524] plan entry "x" does not fit argument x of type'),
    (MESH + FUNCTION, '{"x": [["data"], ["data"]]}', "", "[TP0524] "),
    (MESH + FUNCTION, '{"x": [["model:(1)3"], []]}', "", "[TP0524] "),
    (MESH + FUNCTION, '{"x": [["model:(0)2"], []]}', "", "[TP0524] "),
    (MESH + FUNCTION, '{"x": [["model:(-1)2"], []]}', "", "[TP0524] "),
]


def main():
    errors = []
    for number, (program, plan, options, message) in enumerate(CASES):
        folder = SCRATCH / str(number)
        folder.mkdir()
        (folder / "in.mlir").write_text(program)
        path = folder / "plan.json"
        if plan is not None and plan.startswith(("{", "[")):
            path.write_text(plan)
        elif plan is not None:
            path = plan
        result = subprocess.run(
            [TOOL, str(folder / "in.mlir"),
             f"--tp-apply-plan=plan={path} {options}"],
            capture_output=True, text=True, check=False)
        # A case without a message is a good one.
        ok = (result.returncode == 0 if message is None else
              result.returncode == 1 and message in result.stderr)
        if not ok:
            errors.append(f"{number}: expected {message!r}, got exit "
                          f"{result.returncode} and\n{result.stderr[:600]}")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
