#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of modules that tools/export writes, against PyTorch's autograd: of every
parameter of every model of torch_zoo.py, by --tp-differentiate of the exported forward.

    zoo_gradients.py [MODEL ...]

The loss is a weighted sum of all outputs of floats. On one device and on two by the zoo's
plan, each gradient is to be within 1e-4 of the largest of its parameter, or of a hundredth
of the largest of all, in f32; within 1e-9 in f64. Exit 1 if one is not.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import jax
import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

import torch_zoo
import tp_export
from wide_torch import widened

ALLOWED = {"f32": 1e-4, "f64": 1e-9}
# What is not differentiated, and why.
LEFT_OUT = {
    "llama-cached": "a step of decoding, which writes to its caches",
    "llama-bf16": "llama in bf16, whose gradients have two digits",
    "bert-bf16": "bert in bf16, whose gradients have two digits",
}
F32_ONLY = {"olmoe": "torch._grouped_mm, by which its experts multiply, takes no f64"}


class Loss(torch.nn.Module):
    """The outputs of a module, weighted by what no output is symmetric in."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, **inputs):
        total = 0
        for output in self.module(**inputs).to_tuple():
            if isinstance(output, torch.Tensor) and output.is_floating_point():
                places = torch.arange(output.numel(), dtype=output.dtype)
                weights = torch.cos(places * 0.7).reshape(output.shape)
                total = total + (output * weights).sum() / output.numel() ** 0.5
        return total


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip()
        raise RuntimeError(said[max(said.find("error:"), 0):][:600])
    return done


def write(name, dtype, folder):
    """Exports the loss of a model; PyTorch's loss and gradients by name."""
    jax.config.update("jax_enable_x64", dtype == "f64")
    with widened(dtype):
        module, inputs = torch_zoo.make(name)
        module = Loss(module.to(torch.get_default_dtype()))
        inputs = {key: value.to(torch.get_default_dtype()) if value.is_floating_point()
                  else value.to(torch.int32) for key, value in inputs.items()}
        tp_export.export_torch(module, to=folder, kwargs=inputs)
        loss = module(**inputs)
        loss.backward()
    safetensors.torch.save_file(inputs, folder / "in.safetensors")
    plan = {key: [["model"], []] if torch_zoo.COLUMNS.search(key) else [[], ["model"]]
            for key, value in module.named_parameters() if value.dim() == 2 and
            (torch_zoo.COLUMNS.search(key) or torch_zoo.ROWS.search(key))}
    (folder / "plan.json").write_text(json.dumps(plan))
    return list(inputs), float(loss.detach()), {
        key: value.grad.numpy() for key, value in module.named_parameters()
        if value.grad is not None}


def compare(outputs, loss, wanted, allowed):
    largest = max(np.max(np.abs(gradient)) for gradient in wanted.values())
    wrong = []
    if not abs(outputs["result"] - loss) <= allowed * max(1, abs(loss)):
        wrong.append(f"loss {outputs['result']}, PyTorch's {loss}")
    for name, gradient in wanted.items():
        if f"{name}.grad" not in outputs:
            wrong.append(f"{name}: no gradient")
            continue
        scale = max(np.max(np.abs(gradient)), 1e-2 * largest)
        error = np.max(np.abs(outputs[f"{name}.grad"] - gradient)) / scale
        if not error <= allowed:
            wrong.append(f"{name}: off by {error:.1e}")
    return wrong


def check(name, dtype, folder):
    """What is wrong with a model, and how many gradients it has."""
    inputs, loss, wanted = write(name, dtype, folder)
    run("tp-opt", folder / "model.mlir", "--tp-import-stablehlo", "--tp-inline-calls",
        "--tp-raise", f"--tp-differentiate=loss=result train={','.join(wanted)}",
        "-o", folder / "train.mlir")
    wrong = []
    for mesh in ("model=1", "model=2"):
        run("tp-opt", folder / "train.mlir", "-o", "/dev/null",
            f"--tp-compile=mesh={mesh} plan={folder}/plan.json",
            f"--tp-artifact={folder}/train.tpx")
        run("tp-run", folder / "train.tpx", f"--weights={folder}",
            f"--output={folder}/out.safetensors",
            *(f"--input={key}={folder}/in.safetensors" for key in inputs))
        outputs = safetensors.numpy.load_file(folder / "out.safetensors")
        wrong += [f"{mesh}: {text}" for text in
                  compare(outputs, loss, wanted, ALLOWED[dtype])]
    return wrong, len(wanted)


def main():
    failures = gradients = 0
    names = sys.argv[1:] or [name for name in torch_zoo.ZOO if name not in LEFT_OUT]
    for name in names:
        for dtype in ALLOWED:
            if dtype == "f64" and name in F32_ONLY:
                print(f"{name}, f64 left out: {F32_ONLY[name]}", flush=True)
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    wrong, count = check(name, dtype, pathlib.Path(folder))
                except RuntimeError as error:
                    wrong, count = [str(error)], 0
            gradients += count
            if wrong:
                print(f"{name}, {dtype}: {'; '.join(wrong)[:1500]}", flush=True)
                failures += 1
    print(f"{len(names)} models in {len(ALLOWED)} types, {gradients} gradients: "
          f"{failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
