#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages gradients, steps over micro-batches and partitions of steps of training, and
counts what their proofs refuse.

    training.py BUILD FOLDER [--mutants=40] [--cut=12] [--named=8] [--seed=1]

Of every model --mutants of the gradient and as many of the step, and --cut of the local
programs of two devices along each of two axes, by which the batch and weights are cut,
and states once more. Of every model also --named of each slip in NAMED: those of a
partition in a step on two devices that cut data and states. Exit 1 if a proof misses one,
or refuses what is right, or if a slip of NAMED is possible nowhere.
"""

import argparse
import collections
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
# What authors of training get wrong, and the ways of tp-mutate that do it: on devices,
# where all of them are along data, or else in gradients and steps on one.
NAMED = {
    "a sum over data is missing": (
        "cut", ["all_reduce dropped", "reduce_scatter dropped", "partial sum forgotten"]),
    "the norm is local": ("cut", ["norm left local"]),
    "a moment is not cut like its parameter": ("cut", ["state cut unlike its parameter"]),
    "accumulation is divided twice": ("whole", ["divided twice"]),
    "a mask differs": ("whole", ["another mask"]),
}
COUNTS = re.compile(r"(\d+) mutants: (\d+) refused, (\d+) harmless, (\d+) missed; "
                    r"(\d+) of")
OUTCOMES = "refused", "harmless", "missed"
WAY = re.compile(r"(\S.*?) +(\d+) refused +(\d+) harmless +(\d+) missed")


def run(*command, fails=False):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0 and not fails:
        sys.exit(f"{command[0]}: {done.stderr.strip()[:600]}")
    return done.stdout


def mutate(what, tallies, *command):
    """Damages a program; tallies are what became of each way, refused, harmless, missed."""
    printed = run(*command, fails=True)
    for line in printed.splitlines():
        if line.startswith(("MISSED", "REFUSED")):
            print(line[:300])
        elif way := WAY.match(line):
            tallies[way[1]].update(dict(zip(OUTCOMES, map(int, way.groups()[1:]))))
    counts = [int(number) for number in COUNTS.search(printed).groups()]
    print(f"{what}: {counts[0]} mutants, {counts[1]} refused, {counts[2]} harmless",
          flush=True)
    return counts


def print_table(title, tallies):
    print(f"{title:40}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES))
    for name, tally in sorted(tallies.items()):
        print(f"{name:40}" + "".join(f"{tally[outcome]:10}" for outcome in OUTCOMES))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--cut", type=int, default=12)
    parser.add_argument("--named", type=int, default=8)
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
    total, ways = [], collections.defaultdict(collections.Counter)
    trained = {name: mutator + [f"--training={OPTIMIZERS[name]}", f"--weight={weights[name]}"]
               for name in losses}
    for name, loss in losses.items():
        total.append(mutate(f"{name}, {OPTIMIZERS[name]}", ways, *trained[name],
                            f"--mutants={options.mutants}", loss))
    cut, plan = options.folder / "cut.mlir", options.folder / "plan.json"
    plan.write_text(json.dumps(PLAN))
    steps = {}
    for name, loss in losses.items():
        steps[name] = options.folder / f"{name}-step.mlir"
        run(tool, loss, "-o", steps[name], f"--tp-train=loss=loss weight={weights[name]} "
            "optimizer=adamw(lr=0.1) accumulate=2 clip=1.0")
    run(tool, steps["mlp"], "-o", cut,
        f"--tp-shard=mesh=data=2,model=2 plan={plan} stop-after=import")
    total.append(mutate("mlp on 2 x 2 devices", ways, *mutator, f"--mutants={options.cut}",
                        cut))
    named = {slip: collections.Counter() for slip in NAMED}
    for name, step in steps.items():
        run(tool, step, "-o", cut, "--tp-shard=mesh=data=2 plan=ddp zero=1 stop-after=import")
        for slip, (place, means) in NAMED.items():
            tallies = collections.defaultdict(collections.Counter)
            command = mutator + [cut] if place == "cut" else trained[name] + [losses[name]]
            total.append(mutate(f"{name}, {slip}", tallies, *command,
                                f"--mutants={options.named}",
                                *(f"--way={way}" for way in means)))
            for way, tally in tallies.items():
                named[slip].update(tally)
                ways[way].update(tally)
    print_table("way", ways)
    print_table("of these, that are named", named)
    mutants, refused, harmless, missed, wrong = map(sum, zip(*total))
    print(f"{mutants} mutants: {refused} refused, {harmless} harmless, {missed} missed; "
          f"{wrong} right programs refused")
    return 1 if missed or wrong or not all(tally["refused"] for tally in named.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
