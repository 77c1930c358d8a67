#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains an exported decoder as PyTorch trains the module.

    torch_model.py TP_OPT FOLDER

A step is two micro-batches with labels of which some are ignored, another number in
each; clipped, by AdamW without decay of norms, with a warmup. PyTorch computes the
whole batch at once. The step runs in the interpreter, on one device and cut over a
mesh by tensor and data parallelism.
"""

import copy
import json
import pathlib
import subprocess
import sys

import numpy
import safetensors.numpy
import torch
import torch.nn.functional as F
import transformers
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/Models"), str(ROOT / "tools/export")]
import torch_program  # noqa: E402

import tp_export  # noqa: E402

MICRO, BATCH, LENGTH, STEPS = 2, 2, 7, 4
RATE = 1e-3
RECIPE = (f"loss=result.loss weight=result.labels accumulate={MICRO} clip=0.5 no_decay=*norm* "
          f"optimizer=adamw(lr={RATE},betas=(0.9,0.95),weight_decay=0.1) "
          "schedule=linear(warmup=2,steps=10)")


class Loss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, targets):
        logits = self.model(tokens)
        return {"loss": F.cross_entropy(logits.flatten(0, 1), targets.flatten()),
                "labels": (targets != -100).sum().to(torch.float32)}


def draw(number):
    generator = torch.Generator().manual_seed(number)
    shape = (MICRO, BATCH, LENGTH)
    tokens = torch.randint(0, torch_program.VOCABULARY, shape, generator=generator)
    targets = torch.randint(0, torch_program.VOCABULARY, shape, generator=generator)
    targets[0, 0, :5] = -100
    targets[1, 1, number:] = -100
    return tokens, targets


def train(model, batches):
    """Losses, and parameters after each step, as PyTorch has them."""
    loss = Loss(model)
    named = dict(loss.named_parameters())
    masked = [p for name, p in named.items() if "norm" in name]
    others = [p for name, p in named.items() if "norm" not in name]
    optimizer = torch.optim.AdamW([{"params": others},
                                   {"params": masked, "weight_decay": 0.0}],
                                  lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 2, 10)
    for tokens, targets in batches:
        optimizer.zero_grad()
        value = loss(tokens.flatten(0, 1), targets.flatten(0, 1))["loss"]
        value.backward()
        torch.nn.utils.clip_grad_norm_(named.values(), 0.5)
        optimizer.step()
        schedule.step()
        yield value.item(), {name: p.detach().numpy().copy() for name, p in named.items()}


def run(tool, program, folder, batches, expected, values, count):
    """How far losses and parameters are off."""
    errors = []
    for (tokens, targets), (loss, parameters) in zip(batches, expected, strict=True):
        inputs = values | {"tokens": tokens.numpy().astype(numpy.int32),
                           "targets": targets.numpy().astype(numpy.int32)}
        safetensors.numpy.save_file(inputs, folder / "in.safetensors")
        subprocess.run([tool, program, "-o", "/dev/null",
                        f"--tp-interpret-entry=entry=main inputs={folder}/in.safetensors "
                        f"outputs={folder}/out.safetensors"], check=True)
        outputs = safetensors.numpy.load_file(folder / "out.safetensors")
        assert outputs["result.labels"] == (targets != -100).sum(), outputs["result.labels"]
        assert len(parameters) == count, (len(parameters), count)
        worst = max(numpy.abs(outputs[name] - value).max()
                    for name, value in parameters.items())
        errors.append((abs(outputs["result.loss"] - loss), worst))
        values = {name: outputs[name] for name in values}
    return errors


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    model = torch_program.Decoder()
    batches = [draw(number) for number in range(STEPS)]
    # Exporting leaves PyTorch with other devices.
    expected = list(train(copy.deepcopy(model), batches))
    tokens, targets = batches[0]
    tp_export.export_torch(Loss(model), to=folder,
                           kwargs={"tokens": tokens[0], "targets": targets[0]})
    values = safetensors.numpy.load_file(folder / "model.safetensors")
    count = len(values)
    states = {"train.step": numpy.zeros((), numpy.int32)}
    for name, value in values.items():
        for state in ("exp_avg", "exp_avg_sq"):
            states[f"adamw.{state}/{name}"] = numpy.zeros_like(value)
    plan = {f"model.{pattern}": cut
            for pattern, cut in torch_program.PLANS["decoder"].items()}
    plan |= {"tokens": [[], ["data"], []], "targets": [[], ["data"], []]}
    (folder / "plan.json").write_text(json.dumps(plan))
    step, local = folder / "step.mlir", folder / "local.mlir"
    subprocess.run([tool, folder / "model.mlir", f"--tp-train={RECIPE}", "-o", step],
                   check=True)
    subprocess.run([tool, step, "-o", local,
                    f"--tp-shard=mesh=data=2,model=2 plan={folder}/plan.json"], check=True)
    for program in (step, local):
        for number, (loss, parameter) in enumerate(
                run(tool, program, folder, batches, expected, values | states,
                    count)):
            print(f"{program.name}: step {number}: loss {loss:.1e}, parameters "
                  f"{parameter:.1e}")
            if not (loss < 1e-6 and parameter < 1e-3 * RATE):
                sys.exit(f"{program.name} is off")


if __name__ == "__main__":
    main()
