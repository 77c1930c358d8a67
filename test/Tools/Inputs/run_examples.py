# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the example of every error code, and expects the code: run_examples.py FOLDER [CODE].

The examples are those of include/tpopt/Support/ErrorExamples.def, which --explain-error
prints. With a number, prints what that one says.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "docs"))
import generate  # noqa: E402  (it lies in docs)

# Examples in words, which need what this test does not have.
NUM_IN_WORDS = 37

MESH = 'spmd.mesh @mesh <["model"=4]>\n'
MLP = (ROOT / "test/Tools/mistakes/Inputs/mlp.mlir").read_text()
SHARDING = '#spmd.sharding<@mesh, [{}, {"model"}]>'
# What an operation may use, by its name.
VALUES = {
    "%x": 'tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}',
    "%w": "tensor<4x16xf32>",
    "%v": "tensor<8xf32>",
    "%b": "tensor<8xbf16>",
    "%d": "tensor<?x8xf32>",
    "%i": "tensor<8xi32>",
}
FILES = {
    "mlp.mlir": MLP,
    "sum.mlir": """func.func @sum(%w: tensor<2xf32> {tp.name = "w", tp.role = "parameter",
    tp.source = #tp.source<"w", stored=[2], start=[0], size=[2], view=[2], permutation=[0]>})
    -> tensor<2xf32> {
  %0 = tp.add %w, %w : tensor<2xf32>
  return %0 : tensor<2xf32>
}
""",
    "loss.mlir": """func.func @main(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<8xf32> {tp.name = "w", tp.role = "parameter"})
    -> (tensor<f32> {tp.name = "loss"}) {
  %0 = tp.einsum "bi,i->" %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
""",
    "text.txt": "hello\n",
    "tiny/config.json": """{
  "architectures": ["LlamaForCausalLM"],
  "hidden_act": "silu",
  "hidden_size": 24,
  "intermediate_size": 40,
  "num_attention_heads": 6,
  "num_key_value_heads": 3,
  "num_hidden_layers": 2,
  "vocab_size": 61,
  "max_position_embeddings": 32,
  "rms_norm_eps": 1e-5
}
""",
}


def prepare(folder):
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    (folder / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    for name, options in (("mlp", ""), ("sum", "mesh=x=1")):
        subprocess.run(["tp-opt", f"{name}.mlir", f"--tp-compile={options}",
                        f"--tp-artifact={name}.tpx", "-o", os.devnull], cwd=folder, check=True)


def write(kind, example, folder):
    """Writes what an example needs; returns the line of the shell that runs it."""
    if kind == "Command":
        return example
    if kind == "Program":
        text, command = example, example.partition("\n")[0].removeprefix("// ")
    elif kind == "Sharding":
        text, command = MLP.replace(SHARDING, example), "tp-opt f.mlir --tp-shard"
        assert text != MLP, example
    else:
        values = example if kind == "Argument" else ", ".join(
            f"{name}: {type}" for name, type in VALUES.items() if name in example)
        line = example + "\n" if kind == "Line" else ""
        text = f"{MESH}func.func @f({values}) {{\n  {line}  return\n}}\n"
        command = "tp-opt f.mlir --tp-shard"
    (folder / "f.mlir").write_text(text)
    return command


def run(code, kind, example, base):
    folder = base / f"TP{code:04d}"
    shutil.copytree(base / "files", folder)
    command = write(kind, example, folder)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    result = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, errors="replace",
                            stderr=subprocess.STDOUT, check=False, timeout=120)
    return command, result.stdout


def main():
    base = pathlib.Path(sys.argv[1])
    shutil.rmtree(base, ignore_errors=True)
    prepare(base / "files")
    examples = generate.read_examples()
    in_words = [code for code, (kind, _, _) in examples.items() if kind == "Words"]
    only = int(sys.argv[2]) if len(sys.argv) > 2 else None
    todo = {code: (kind, example) for code, (kind, example, _) in examples.items()
            if code not in in_words and only in (None, code)}
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda code: run(code, *todo[code], base), todo)
        for code, (command, output) in zip(todo, results):
            if only:
                print(output)
            if f"[TP{code:04d}]" not in output:
                wrong.append(code)
                print(f"TP{code:04d} is not what this says: {command}\n{output[:999]}\n")
    if only is None and len(in_words) != NUM_IN_WORDS:
        wrong.append(f"{len(in_words)} examples are in words, not {NUM_IN_WORDS}: {in_words}")
    print(len(todo), "run, wrong:", *wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
