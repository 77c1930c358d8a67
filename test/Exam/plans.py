#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the words of a plan for training against closed forms: section 11 of exam.md.

  plans.py TP_OPT [FAMILY...]

Steps of Llama, GPT-2 and BERT as --tp-import and --tp-train make them, of two and of three
layers: what the third one adds to the collectives is a layer's. Prints a line for each plan
and at last `same N, better M, worse 0`; `better` sends less, or as much in fewer launches.
Exits with 1 if one is worse.
"""

import collections
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import re
import sys
import tempfile

from run import KINDS, SHARE, Failure, group_size, run

WIDTH, HEADS, VOCABULARY = 64, 8, 128
BYTES = 4  # of f32


def llama(layers):
    return dict(architectures=["LlamaForCausalLM"], hidden_act="silu", hidden_size=WIDTH,
                intermediate_size=160, num_attention_heads=HEADS, num_key_value_heads=4,
                num_hidden_layers=layers, vocab_size=VOCABULARY,
                max_position_embeddings=64, rms_norm_eps=1e-5)


def gpt2(layers):
    return dict(architectures=["GPT2LMHeadModel"], activation_function="gelu_new",
                n_embd=WIDTH, n_head=HEADS, n_layer=layers, vocab_size=VOCABULARY,
                n_positions=64, layer_norm_epsilon=1e-5)


def bert(layers):
    return dict(architectures=["BertForMaskedLM"], hidden_act="gelu", hidden_size=WIDTH,
                intermediate_size=4 * WIDTH, num_attention_heads=HEADS,
                num_hidden_layers=layers, vocab_size=VOCABULARY,
                max_position_embeddings=64, type_vocab_size=2, layer_norm_eps=1e-12)


# With the elements of a layer's norms, and of its biases behind rows.
FAMILIES = {"llama": (llama, 2 * WIDTH, 0), "gpt2": (gpt2, 4 * WIDTH, 2 * WIDTH),
            "bert": (bert, 4 * WIDTH, 2 * WIDTH)}


@dataclasses.dataclass
class Sent:
    """Launches and elements by kind and axes. A launch counts as one of its first kind."""
    launches: collections.Counter
    payload: collections.Counter
    mesh: dict

    @classmethod
    def read(cls, report, mesh):
        sent = cls(collections.Counter(), collections.Counter(), mesh)
        for each in report["collectives"]:
            for i, share in enumerate(each["shares"]):
                key = (KINDS[share["kind"]][0], ",".join(each["axes"]))
                sent.launches[key] += each["times"] if i == 0 else 0
                sent.payload[key] += each["times"] * share["bytes"] / BYTES
        return sent

    def minus(self, other):
        difference = Sent(self.launches.copy(), self.payload.copy(), self.mesh)
        difference.launches.subtract(other.launches)
        difference.payload.subtract(other.payload)
        return difference

    def wire(self):
        """Elements that a device sends."""
        return sum(SHARE[kind](group_size(axes, self.mesh)) * payload
                   for (kind, axes), payload in self.payload.items())

    def __str__(self):
        return ", ".join(f"{kind}{{{axes}}} V={payload:g} in {self.launches[kind, axes]}"
                         for (kind, axes), payload in self.payload.items() if payload) or "none"


@dataclasses.dataclass
class Case:
    """A plan on a mesh, and what it may send for a layer of `p` parameters with `x` activations
    on a device that `model` does not cut."""
    name: str
    options: str
    mesh: dict
    batch: tuple
    expect: object
    train: str = ""


@dataclasses.dataclass
class Layer:
    x: float      # activations between blocks, on a device of the data axis
    p: int        # parameters,
    norms: int    # and how many of them are of norms,
    biases: int   # and how many of biases behind rows
    mesh: dict


def tensor(layer):
    return {"AR model": (4, 4 * layer.x)}


def sequence(layer):
    return {"AG model": (4, 4 * layer.x), "RS model": (4, 4 * layer.x),
            "AR model": (0, layer.norms)}


def data(layer):
    return {"AR data": (0, layer.p)}


def cut(layer):
    return {"RS data": (0, layer.p), "AG data": (0, layer.p)}


def get_beside_model(layer):
    """The parameters that `model` leaves of the layer."""
    whole = layer.norms + layer.biases
    return (layer.p - whole) / layer.mesh["model"] + whole


def cut_beside_model(layer):
    local = get_beside_model(layer)
    return {"RS data": (0, local), "AG data": (0, local)}


def tensor_and_data(layer):
    return {**tensor(layer), "AR data": (0, get_beside_model(layer))}


def tensor_and_cut(layer):
    return {**tensor(layer), **cut_beside_model(layer)}


def sequence_and_cut(layer):
    # Norms are summed over the data axis first, and scattered.
    return {**sequence(layer), "AR model": (0, layer.norms / layer.mesh["data"]),
            **cut_beside_model(layer)}


def per_micro_batch(expect, number):
    """What is along `model` is sent for each of them."""
    def repeat(layer):
        return {key: (number * launches, number * payload) if launches else (0, payload)
                for key, (launches, payload) in expect(layer).items()}
    return repeat


FEW, SOME, MANY = (2, 16), (4, 32), (8, 64)
MODEL, DATA, BOTH = dict(model=4), dict(data=4), dict(data=2, model=4)
SQUARE, LONG = dict(data=2, model=2), dict(data=4, model=2)
CASES = [
    Case("tensor", "plan=megatron", MODEL, FEW, tensor),
    Case("sequence", "plan=megatron+sp", MODEL, FEW, sequence),
    Case("data", "plan=ddp", DATA, MANY, data),
    Case("ZeRO-1", "plan=ddp zero=1", DATA, MANY, cut),
    Case("ZeRO-2", "plan=ddp zero=2", DATA, MANY, cut),
    Case("FSDP", "plan=fsdp", DATA, MANY, cut),
    Case("tensor and data", "plan=megatron+ddp", BOTH, SOME, tensor_and_data),
    Case("tensor and FSDP", "plan=megatron+fsdp", BOTH, SOME, tensor_and_cut),
    Case("tensor and FSDP, 2 by 2", "plan=megatron+fsdp", SQUARE, SOME, tensor_and_cut),
    Case("sequence and ZeRO-1", "plan=megatron+sp+ddp zero=1", BOTH, SOME, sequence_and_cut),
    Case("sequence and FSDP", "plan=megatron+sp+fsdp", BOTH, SOME, sequence_and_cut),
    Case("sequence and FSDP, 2 by 2", "plan=megatron+sp+fsdp", SQUARE, SOME,
         sequence_and_cut),
    Case("sequence and FSDP, 4 by 2", "plan=megatron+sp+fsdp", LONG, SOME, sequence_and_cut),
    Case("data, 4 micro-batches", "plan=ddp", DATA, MANY, data, "accumulate=4"),
    Case("ZeRO-1, 4 micro-batches", "plan=ddp zero=1", DATA, MANY, cut, "accumulate=4"),
    Case("ZeRO-2, 4 micro-batches", "plan=ddp zero=2", DATA, MANY, cut, "accumulate=4"),
    Case("FSDP, 4 micro-batches", "plan=fsdp", DATA, MANY, cut, "accumulate=4"),
    Case("both, 4 micro-batches", "plan=megatron+sp+fsdp", BOTH, FEW,
         per_micro_batch(sequence_and_cut, 4), "accumulate=4"),
]


class Steps:
    """Steps of one family, each made once."""

    def __init__(self, tp_opt, family, folder):
        self.tp_opt, self.family, self.folder = tp_opt, family, folder
        self.made = {}

    def make(self, layers, batch, train):
        key = (layers, batch, train)
        if key in self.made:
            return self.made[key]
        where = self.folder / f"{self.family}{len(self.made)}"
        where.mkdir()
        config, *_ = FAMILIES[self.family]
        (where / "config.json").write_text(json.dumps(config(layers)))
        loss, step = where / "loss.mlir", where / "step.mlir"
        run(self.tp_opt, f"--tp-import=hf:{where}",
            "--tp-import-options=phase=train dtype=f32 "
            f"batch={batch[0]} sequence={batch[1]}", "-o", loss)
        run(self.tp_opt, loss, "--tp-train=loss=loss weight=label_count optimizer=adamw "
            f"verify=false {train}", "-o", step)
        self.made[key] = step
        return step

    def report(self, case, layers, train):
        step = self.make(layers, case.batch, train)
        file = step.parent / f"{abs(hash((case.name, train)))}.json"
        mesh = ",".join(f"{axis}={size}" for axis, size in case.mesh.items())
        run(self.tp_opt, step, f"--tp-shard=mesh={mesh} {case.options}",
            f"--tp-report={file}", "-o", os.devnull)
        reports = json.loads(file.read_text())["functions"]
        return next(report for report in reports if report["name"] == "main")

    def parameters(self, case, layers):
        """How many elements are trained."""
        text = self.make(layers, case.batch, case.train).read_text()
        main = next(line for line in text.splitlines() if "func.func @main" in line)
        return sum(math.prod(map(int, re.findall(r"(\d+)x", shape)))
                   for shape in re.findall(
                       r'tensor<([^>]*)> \{[^{}]*?tp.role = "parameter"', main))


def judge(steps, case):
    """(expected, sent, verdict) for a layer."""
    sent = [Sent.read(steps.report(case, layers, case.train), case.mesh) for layers in (2, 3)]
    layer = sent[1].minus(sent[0])
    p = steps.parameters(case, 3) - steps.parameters(case, 2)
    x = math.prod(case.batch) * WIDTH / case.mesh.get("data", 1)
    expected = Sent(collections.Counter(), collections.Counter(), case.mesh)
    _, norms, biases = FAMILIES[steps.family]
    for key, (launches, payload) in case.expect(Layer(x, p, norms, biases, case.mesh)).items():
        expected.launches[tuple(key.split(" "))] = launches
        expected.payload[tuple(key.split(" "))] = payload
    more = round(layer.wire() - expected.wire(), 3)
    launches = sum(layer.launches.values()) - sum(expected.launches.values())
    verdict = ("worse" if more > 0 or (more == 0 and launches > 0) else
               "better" if more < 0 or launches < 0 else "same")
    # All gradients are clipped by one number.
    clipped = Sent.read(steps.report(case, 2, case.train + " clip=1.0"), case.mesh)
    extra = clipped.minus(sent[0])
    scalar = sum(size > 1 for size in case.mesh.values())
    if sum(extra.payload.values()) > scalar:
        verdict, layer = "worse", extra
    return expected, layer, verdict


def sit(tp_opt, family, folder):
    """(verdict, line) of each case."""
    steps = Steps(tp_opt, family, pathlib.Path(folder))
    for case in CASES:
        try:
            expected, layer, verdict = judge(steps, case)
        except Failure as failure:
            expected, layer, verdict = "", str(failure), "worse"
        yield verdict, (f"{verdict:6} {family:6} {case.name:25} {expected}" +
                        ("" if verdict == "same" else f"\n{'':40}got {layer}"))


def main():
    tp_opt, *families = sys.argv[1:]
    count = collections.Counter(same=0, better=0, worse=0)
    with (tempfile.TemporaryDirectory() as folder,
          concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool):
        for lines in pool.map(lambda family: list(sit(tp_opt, family, folder)),
                              families or FAMILIES):
            for verdict, line in lines:
                count[verdict] += 1
                print(line, flush=True)
    print(", ".join(f"{verdict} {number}" for verdict, number in count.items()))
    return 1 if count["worse"] else 0


if __name__ == "__main__":
    sys.exit(main())
