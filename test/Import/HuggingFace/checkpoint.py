# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an import takes from a checkpoint beside shapes: the type, and a warning
of tensors that it does not use.

usage: checkpoint.py TP-OPT SCRATCH
"""

import json
import pathlib
import struct
import subprocess
import sys

TOOL, SCRATCH = sys.argv[1], pathlib.Path(sys.argv[2])
CONFIG = {"architectures": ["GPT2LMHeadModel"], "n_embd": 4, "n_head": 2, "n_layer": 1,
          "n_positions": 8, "vocab_size": 10, "layer_norm_epsilon": 1e-5,
          "activation_function": "gelu_new"}
SHAPES = {"wte.weight": [10, 4], "wpe.weight": [8, 4], "ln_f.weight": [4], "ln_f.bias": [4],
          "h.0.ln_1.weight": [4], "h.0.ln_1.bias": [4], "h.0.ln_2.weight": [4], "h.0.ln_2.bias": [4],
          "h.0.attn.c_attn.weight": [4, 12], "h.0.attn.c_attn.bias": [12],
          "h.0.attn.c_proj.weight": [4, 4], "h.0.attn.c_proj.bias": [4],
          "h.0.mlp.c_fc.weight": [4, 16], "h.0.mlp.c_fc.bias": [16],
          "h.0.mlp.c_proj.weight": [16, 4], "h.0.mlp.c_proj.bias": [4]}
SIZES = {"F32": 4, "BF16": 2, "F16": 2, "I64": 8}
OWN = ("remark: weights and activations are {0}, as in the checkpoint; "
       "write dtype=f32 to convert them")

# Fields of config.json; the type of all weights, None if there are none, and
# other tensors; options; the type of the program; what is said, if anything.
CASES = [
    ({}, None, {}, "", "f32", None),
    ({"torch_dtype": "float32"}, None, {}, "", "f32", None),
    ({"torch_dtype": "bfloat16"}, None, {}, "", "bf16", OWN.format("bf16")),
    ({"dtype": "float16"}, None, {}, "", "f16", OWN.format("f16")),
    ({"dtype": "float16"}, None, {}, "dtype=f32", "f32", None),
    # Weights know better than config.json.
    ({"dtype": "bfloat16"}, "F32", {}, "", "f32", None),
    ({"dtype": "float32"}, "BF16", {}, "", "bf16", OWN.format("bf16")),
    ({}, "F16", {}, "", "f16", OWN.format("f16")),
    ({}, "F16", {}, "dtype=bf16", "bf16", None),
    # A few tensors of another type do not decide.
    ({}, "BF16", {"h.0.attn.bias": ("F32", [1, 1, 8, 8])}, "dtype=f32", "f32",
     "model.safetensors: warning: 1 tensor is not used by the model: h.0.attn.bias\n"),
    ({}, "BF16", {f"x.{i}": ("I64", [1]) for i in range(7)}, "", "bf16",
     "warning: 7 tensors are not used by the model: x.0, x.1, x.2, x.3, x.4, ..\n"),
]


def write_weights(path, tensors):
    header, offset = {}, 0
    for name, (kind, shape) in tensors.items():
        size = SIZES[kind]
        for n in shape:
            size *= n
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(128, 256)) * (offset // 128) +
                     bytes(offset % 128))


def main():
    errors = []
    for number, (fields, kind, others, options, element, message) in enumerate(CASES):
        folder = SCRATCH / str(number)
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(CONFIG | fields))
        if kind:
            weights = {name: (kind, shape) for name, shape in SHAPES.items()}
            write_weights(folder / "model.safetensors", weights | others)
        result = subprocess.run([TOOL, f"--tp-import=hf:{folder}", f"--tp-import-options={options}"],
                                capture_output=True, encoding="utf-8", check=False)
        ok = result.returncode == 0 and f"tensor<10x4x{element}>" in result.stdout
        ok &= message in result.stderr if message else not result.stderr
        if not ok:
            errors.append(f"{number}: expected {element} and {message!r}, got exit "
                          f"{result.returncode} and\n{result.stderr[:600]}")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
