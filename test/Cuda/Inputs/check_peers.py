# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the peers of tools/gpu-check with tp-run on the CPU, in f32.

    check_peers.py build/release FOLDER"""

import dataclasses
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools/gpu-check"), str(ROOT / "test/Models")]
import jax_peer  # noqa: E402
import numpy  # noqa: E402
import safetensors.numpy  # noqa: E402
import tiny_model  # noqa: E402
import torch  # noqa: E402
import torch_peer  # noqa: E402
from jax import numpy as jnp  # noqa: E402

import programs  # noqa: E402

TOLERANCE = 1e-5  # of the largest logit


def get_tensors(config):
    """The shapes of a checkpoint by name."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    rows = config["num_attention_heads"] * config["head_dim"]
    kv_rows = config["num_key_value_heads"] * config["head_dim"]
    tensors = {"model.embed_tokens.weight": [config["vocab_size"], hidden],
               "lm_head.weight": [config["vocab_size"], hidden], "model.norm.weight": [hidden]}
    for i in range(config["num_hidden_layers"]):
        for name, shape in {
                "input_layernorm": [hidden], "post_attention_layernorm": [hidden],
                "self_attn.q_proj": [rows, hidden], "self_attn.k_proj": [kv_rows, hidden],
                "self_attn.v_proj": [kv_rows, hidden], "self_attn.o_proj": [hidden, rows],
                "mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden],
                "mlp.down_proj": [hidden, inner]}.items():
            tensors[f"model.layers.{i}.{name}.weight"] = shape
    return tensors


def get_ours(build, folder, case, tokens):
    program = folder / f"{case.file}.mlir"
    subprocess.run([f"{build}/bin/tp-opt", f"--tp-import=hf:{folder}",
                    f"--tp-import-options={case.options}", "-o", program], check=True)
    artifact = program.with_suffix(".tpx")
    subprocess.run([f"{build}/bin/tp-opt", program, "--tp-compile=mesh=model=1",
                    f"--tp-artifact={artifact}", "-o", "/dev/null"], check=True)
    name = "tokens" if case.phase == "prefill" else "token"
    given = ",".join(map(str, tokens.flatten()))
    text = subprocess.run(
        [f"{build}/bin/tp-run", artifact, f"--weights={folder}", "--print",
         f"--input={name}={given}", *case.inputs],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("logits"))
    return numpy.array([[float(number) for number in line.split()]
                        for line in lines[at + 1:at + 1 + case.batch]])


def main(build, folder):
    torch.set_grad_enabled(False)
    for config in programs.TINY.shards.values():
        tiny_model.write_model({"config": config, "tensors": get_tensors(config)}, folder)
        weights = safetensors.numpy.load_file(folder / "model.safetensors")

        def check(case):
            fields = dataclasses.asdict(case)
            length = case.tokens if case.phase == "prefill" else 1
            tokens = numpy.arange(3, 3 + 7 * case.batch * length, 7).reshape(
                case.batch, length) % config["vocab_size"]
            ours = get_ours(build, folder, case, tokens)
            model = torch_peer.Model(fields, lambda name, shape: torch.tensor(weights[name]))
            step = jax_peer.make_step(fields, "xla")
            theirs = {
                "torch": model(torch.tensor(tokens)).numpy(),
                "jax": step(jax_peer.make_weights(
                    fields, lambda name, shape: jnp.asarray(weights[name])),
                    jax_peer.make_cache(fields), jnp.asarray(tokens))[0]}
            for peer, logits in theirs.items():
                worst = abs(logits - ours).max() / abs(ours).max()
                print(f"{case.name}, {peer}: {worst:.2g}")
                if not worst <= TOLERANCE:
                    sys.exit("error: that is too much")

        for case in programs.get_cases(programs.TINY):
            check(dataclasses.replace(case, dtype="f32"))


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
