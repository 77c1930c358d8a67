#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of compiled steps of training, on each device.

1. The report of a compile says what the artifact allocates, within 2 %: the arena, inputs,
   and results that overwrite none, counted here from the steps.
2. Activations that a layer keeps for the backward pass are those of docs/training.md, within
   2 %: what the fourth layer of a Llama or a GPT-2 adds to the peak, where activations
   outweigh gradients.

Prints one line for each fault, and how much was right.
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

BYTES = {"f32": 4, "f64": 8, "bf16": 2, "i32": 4, "i64": 8, "i1": 1}
BATCH, SEQUENCE, WIDTH, INNER, VOCABULARY, HEADS = 4, 64, 256, 688, 512, 8
TOKENS = BATCH * SEQUENCE


def llama(layers, groups=8):
    return dict(architectures=["LlamaForCausalLM"], hidden_act="silu", hidden_size=WIDTH,
                intermediate_size=INNER, num_attention_heads=HEADS,
                num_key_value_heads=groups, num_hidden_layers=layers,
                vocab_size=VOCABULARY, max_position_embeddings=SEQUENCE, rms_norm_eps=1e-5)


def gpt2(layers):
    return dict(architectures=["GPT2LMHeadModel"], activation_function="gelu_new",
                n_embd=WIDTH, n_head=HEADS, n_layer=layers, vocab_size=VOCABULARY,
                n_positions=SEQUENCE, layer_norm_epsilon=1e-5)


def llama_layer(t, kept, groups=8):
    """Elements that a layer keeps: what is whole, of which `kept` of 4 with sequences cut,
    and what `model` cuts. Heads have a number for each query, for the weights."""
    keys = WIDTH // HEADS * groups
    return TOKENS * (kept * WIDTH + ((6 - kept) * WIDTH + 2 * keys + 3 * INNER + HEADS) / t)


def gpt2_layer(t, kept):
    return TOKENS * (kept * WIDTH + ((16 - kept) * WIDTH + HEADS) / t)


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr[:800]}")


def make_step(config, train, folder):
    (folder / "config.json").write_text(json.dumps(config))
    run("tp-opt", f"--tp-import=hf:{folder}", "-o", folder / "loss.mlir",
        f"--tp-import-options=phase=train batch={BATCH} sequence={SEQUENCE} dtype=f32")
    run("tp-opt", folder / "loss.mlir", "-o", folder / "step.mlir",
        f"--tp-train=loss=loss weight=label_count optimizer=adamw(lr=0.001) {train}")


def compile_step(options, folder):
    """What the report says of @main, and the text of its steps."""
    run("tp-opt", folder / "step.mlir", f"--tp-compile={options}",
        f"--tp-report=file={folder}/report.json table=false", "-o", folder / "steps.mlir")
    report = json.loads((folder / "report.json").read_text())
    (function,) = (f for f in report["functions"] if f["name"] == "main")
    text = (folder / "steps.mlir").read_text()
    return function, text[text.index("step.program @main"):]


def count_bytes(entry):
    """Of the tensor of one device that an entry of a program's head names."""
    *shape, element = re.search(r"tensor<([\dx]*[a-z]+\d+)", entry)[1].split("x")
    total = BYTES[element]
    for size in shape:
        total *= int(size)
    return total


def count_allocated(text):
    """The arena, inputs, and results that overwrite none."""
    inputs, outputs = (re.search(rf"{what} \[(.*?)\](?= outputs| arena| {{)", text, re.S)[1]
                       for what in ("inputs", "outputs"))
    total = int(re.search(r"arena (\d+)", text)[1])
    total += sum(map(count_bytes, inputs.split("#step.input<")[1:]))
    return total + sum(count_bytes(entry) for entry in outputs.split("#step.output<")[1:]
                       if "alias = " not in entry)


# Mesh, plan, and more of --tp-train.
PLANS = [("model=1", "megatron", ""), ("model=4", "megatron", ""),
         ("model=4", "megatron+sp", "clip=1.0"), ("data=2", "ddp", ""),
         ("data=3", "fsdp", ""), ("data=4", "ddp zero=1", "clip=1.0"),
         ("data=2,model=2", "megatron+sp+fsdp", ""),
         ("data=2,model=2", "megatron+ddp zero=2", "accumulate=2")]
LAYERS = [("llama", llama, llama_layer), ("llama of 4 groups", lambda n: llama(n, 4),
                                          lambda t, kept: llama_layer(t, kept, 4)),
          ("gpt2", gpt2, gpt2_layer)]


def is_near(name, got, wanted):
    if abs(got - wanted) <= 0.02 * wanted:
        return True
    print(f"{name}: expects {wanted:.0f} bytes, got {got:.0f}")
    return False


def check_reports(folder):
    right = 0
    for mesh, plan, train in PLANS:
        make_step(llama(2), train, folder)
        function, text = compile_step(f"mesh={mesh} plan={plan}", folder)
        assert function["memory"]["compiled"]
        right += is_near(f"report, {mesh}, {plan}", function["peak_bytes_per_device"],
                         count_allocated(text))
    return right


def check_layers(folder):
    right = 0
    for name, make, form in LAYERS:
        peaks = {}
        cases = [(1, "megatron"), *itertools.product((2, 4, 8), ("megatron", "megatron+sp"))]
        cases = [(t, plan) for t, plan in cases if t <= 4 or "groups" not in name]
        for layers in (3, 4):
            make_step(make(layers), "", folder)
            for t, plan in cases:
                function, _ = compile_step(f"mesh=model={t} plan={plan}", folder)
                peaks[layers, t, plan] = function["memory"]["activations"]
        for t, plan in cases:
            kept = 2 if "sp" in plan else 4
            right += is_near(f"{name}, model={t}, {plan}, a layer",
                             peaks[4, t, plan] - peaks[3, t, plan], 4 * form(t, kept))
    return right


def main():
    with tempfile.TemporaryDirectory() as folder:
        print("reports", check_reports(pathlib.Path(folder)), flush=True)
        print("layers", check_layers(pathlib.Path(folder)))


if __name__ == "__main__":
    main()
