#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages gradients, steps over micro-batches and partitions of steps of training, and
counts what their proofs refuse.

    training.py BUILD FOLDER [--mutants=40] [--cut=12] [--seed=1]

Of every model --mutants of the gradient and as many of the step, and --cut of the local
programs of two devices along each of two axes, by which the batch and weights are cut,
and states once more. Exit 1 if a proof misses one, or refuses what is right.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

DECODER = {"vocab_size": 13, "hidden_size": 8, "intermediate_size": 10,
           "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
           "max_position_embeddings": 16, "rms_norm_eps": 1e-5, "hidden_act": "silu"}
MODELS = {
    "llama": DECODER | {"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True},
    "qwen2": DECODER | {"architectures": ["Qwen2ForCausalLM"]},
    "gpt2": {"architectures": ["GPT2LMHeadModel"], "n_embd": 8, "n_head": 2, "n_layer": 1,
             "n_positions": 16, "vocab_size": 13, "layer_norm_epsilon": 1e-5,
             "activation_function": "gelu_new"},
    "bert": {"architectures": ["BertForMaskedLM"], "vocab_size": 13, "hidden_size": 8,
             "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 10,
             "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_act": "gelu",
             "layer_norm_eps": 1e-12},
}
OPTIMIZERS = {"llama": "adamw(lr=0.1)", "qwen2": "lion(lr=0.1)", "gpt2": "adafactor",
              "bert": "sgd(lr=0.1,momentum=0.9)", "mlp": "adamw(lr=0.1)"}
# Of the small classifier: data and model cut it, and one state is cut further.
PLAN = {"x": [[], ["data"], []], "labels": [[], ["data"]], "w1": [[], ["model"]],
        "b1": [["model"]], "loop": [["model"], []], "w2": [["model"], []],
        "adamw.*/w2": [["model"], ["data"]]}
COUNTS = re.compile(r"(\d+) mutants: (\d+) refused, (\d+) harmless, (\d+) missed; "
                    r"(\d+) of")


def run(*command, fails=False):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0 and not fails:
        sys.exit(f"{command[0]}: {done.stderr.strip()[:600]}")
    return done.stdout


def mutate(what, *command):
    printed = run(*command, fails=True)
    for line in printed.splitlines():
        if line.startswith(("MISSED", "REFUSED")):
            print(line[:300])
    counts = [int(number) for number in COUNTS.search(printed).groups()]
    print(f"{what}: {counts[0]} mutants, {counts[1]} refused, {counts[2]} harmless",
          flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--cut", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tool = options.build / "bin" / "tp-opt"
    mutator = [options.build / "test" / "Mutation" / "tp-mutate", f"--seed={options.seed}"]
    options.folder.mkdir(parents=True, exist_ok=True)
    losses = {"mlp": pathlib.Path(__file__).parent / "Inputs" / "training-mlp.mlir"}
    weights = {"mlp": "valid"}
    for name, config in MODELS.items():
        folder = options.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config))
        losses[name], weights[name] = options.folder / f"{name}.mlir", "label_count"
        run(tool, f"--tp-import=hf:{folder}", "-o", losses[name],
            "--tp-import-options=phase=train batch=2 sequence=4 dtype=f64")
    total = []
    for name, loss in losses.items():
        total.append(mutate(f"{name}, {OPTIMIZERS[name]}", *mutator,
                            f"--training={OPTIMIZERS[name]}", f"--weight={weights[name]}",
                            f"--mutants={options.mutants}", loss))
    step, cut, plan = (options.folder / file for file in ("step.mlir", "cut.mlir", "plan.json"))
    plan.write_text(json.dumps(PLAN))
    run(tool, losses["mlp"], "-o", step,
        "--tp-train=loss=loss weight=valid optimizer=adamw(lr=0.1) accumulate=2 clip=1.0")
    run(tool, step, "-o", cut,
        f"--tp-shard=mesh=data=2,model=2 plan={plan} stop-after=import")
    total.append(mutate("mlp on 2 x 2 devices", *mutator, f"--mutants={options.cut}", cut))
    mutants, refused, harmless, missed, wrong = map(sum, zip(*total))
    print(f"{mutants} mutants: {refused} refused, {harmless} harmless, {missed} missed; "
          f"{wrong} right programs refused")
    return 1 if missed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
