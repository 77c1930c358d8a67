#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares steps of training with PyTorch, in f64 on odd sizes.

    torch_steps.py TP_OPT FOLDER

The loss is a sum of products, so that gradients are what the test says. Each recipe
takes a few steps in tp-opt's interpreter, which is given back the state that it gave,
and the same steps of torch.optim, transformers' schedules and torch's clipping.
"""

import pathlib
import re
import subprocess
import sys

import numpy
import safetensors.numpy
import safetensors.torch
import torch
import transformers

STEPS = 6
TOLERANCE = 1e-12
STATE = re.compile(r'tensor<([0-9x]*)f64> {[^}]*tp.name = "([^"]*)", '
                   r'tp.role = "optimizer_state"}')
SHAPES = {"vector": (5,), "matrix": (3, 7), "stack": (2, 3, 5), "scale": ()}


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of arXiv:2302.06675, which torch.optim lacks."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas,
                                  "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for param in group["params"]:
                moment = self.state[param].setdefault("exp_avg",
                                                      torch.zeros_like(param))
                update = torch.sign(beta1 * moment + (1 - beta1) * param.grad)
                param.mul_(1 - group["lr"] * group["weight_decay"])
                param.sub_(group["lr"] * update)
                moment.mul_(beta2).add_(param.grad, alpha=1 - beta2)


OPTIM = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
         "lion": Lion, "adafactor": torch.optim.Adafactor}
# The recipe in words, the optimizer with its numbers, and what is called beside it.
RECIPES = [
    ("optimizer=sgd", "sgd", {}),
    ("optimizer=sgd(lr=0.1,momentum=0.9,weight_decay=0.05)", "sgd",
     {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.05}),
    ("optimizer=sgd(lr=0.1,momentum=0.8,nesterov=true)", "sgd",
     {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
    ("optimizer=adam", "adam", {}),
    ("optimizer=adam(lr=3e-2,betas=(0.8,0.95),eps=1e-6,weight_decay=0.1)", "adam",
     {"lr": 3e-2, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}),
    ("optimizer=adamw", "adamw", {}),
    ("optimizer=adamw(lr=3e-2,betas=(0,0.95),weight_decay=0.1)", "adamw",
     {"lr": 3e-2, "betas": (0.0, 0.95), "weight_decay": 0.1}),
    ("optimizer=lion", "lion", {}),
    ("optimizer=lion(lr=1e-2,betas=(0.8,0.9),weight_decay=0.1)", "lion",
     {"lr": 1e-2, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("optimizer=adafactor", "adafactor", {}),
    ("optimizer=adafactor(lr=0.3,beta2_decay=-0.6,eps=(1e-8,1e-2),d=1.2,weight_decay=0.1)",
     "adafactor", {"lr": 0.3, "beta2_decay": -0.6, "eps": (1e-8, 1e-2), "d": 1.2,
                   "weight_decay": 0.1}),
    ("optimizer=adamw(lr=0.1) schedule=linear(warmup=2,steps=6)", "adamw", {"lr": 0.1}),
    ("optimizer=adamw(lr=0.1) schedule=cosine(warmup=2,steps=6,min=0.1)", "adamw",
     {"lr": 0.1}),
    ("optimizer=sgd(lr=0.1) schedule=constant(warmup=4)", "sgd", {"lr": 0.1}),
    ("optimizer=sgd(lr=0.1) clip=1.0", "sgd", {"lr": 0.1}),
    ("optimizer=sgd(lr=0.1) clip=1000", "sgd", {"lr": 0.1}),
    ("optimizer=adamw(lr=0.1,weight_decay=0.3) no_decay=vector,sc*", "adamw",
     {"lr": 0.1, "weight_decay": 0.3}),
    ("optimizer=adamw(lr=0.1,weight_decay=0.3) decay={matrix,stack}", "adamw",
     {"lr": 0.1, "weight_decay": 0.3}),
    ("optimizer=adamw(lr=0.1) train=matrix,stack clip=1.0", "adamw", {"lr": 0.1}),
]
SCHEDULES = {
    "linear": lambda o: transformers.get_linear_schedule_with_warmup(o, 2, 6),
    "cosine": lambda o: transformers.get_cosine_with_min_lr_schedule_with_warmup(
        o, 2, 6, min_lr_rate=0.1),
    "constant": lambda o: transformers.get_constant_schedule_with_warmup(o, 4),
}


def program():
    """The sum over all parameters of products with an input each."""
    lines, arguments, total = [], [], ""
    for name, shape in SHAPES.items():
        kind = "tensor<" + "".join(f"{size}x" for size in shape) + "f64>"
        arguments += [f'%{name}: {kind} {{tp.name = "{name}", tp.role = "parameter"}}',
                      f'%{name}.g: {kind} {{tp.name = "{name}.g"}}']
        lines.append(f"%{name}.p = tp.mul %{name}, %{name}.g : {kind}")
        dims = ", ".join(str(i) for i in range(len(shape)))
        lines.append(f"%{name}.s = tp.reduce sum %{name}.p dims = [{dims}] : {kind} "
                     "-> tensor<f64>")
        if total:
            lines.append(f"%{name}.t = tp.add {total}, %{name}.s : tensor<f64>")
        total = f"%{name}.t" if total else f"%{name}.s"
    return (f"func.func @main({', '.join(arguments)}) -> (tensor<f64> "
            f"{{tp.name = \"loss\"}}) {{\n" + "\n".join(lines) +
            f"\nreturn {total} : tensor<f64>\n}}\n")


def decayed(recipe, name):
    if "no_decay=" in recipe:
        return name not in ("vector", "scale")
    return " decay=" not in recipe or name in ("matrix", "stack")


def check(tool, folder, recipe, kind, numbers):
    step = folder / "step.mlir"
    subprocess.run([tool, folder / "loss.mlir", f"--tp-train=loss=loss {recipe}", "-o",
                    step], check=True)
    random = numpy.random.default_rng(7)
    draw = lambda: {name: random.standard_normal(shape) for name, shape in SHAPES.items()}
    values = draw()
    trained = [name for name in SHAPES
               if "train=" not in recipe or name in ("matrix", "stack")]
    params = {name: torch.nn.Parameter(torch.tensor(value))
              for name, value in values.items()}
    groups = [{"params": [params[name]]} | ({} if decayed(recipe, name)
                                            else {"weight_decay": 0.0})
              for name in trained]
    optimizer = OPTIM[kind](groups, **numbers)
    word = next((w for w in recipe.split() if w.startswith("schedule=")), None)
    schedule = word and SCHEDULES[word[9:].split("(")[0]](optimizer)
    clip = next((float(w[5:]) for w in recipe.split() if w.startswith("clip=")), None)
    state = {"train.step": numpy.zeros((), numpy.int32)}
    for sizes, name in STATE.findall(step.read_text(encoding="utf-8")):
        state[name] = numpy.zeros([int(size) for size in sizes.split("x")[:-1]])
    for number in range(STEPS):
        gradients = draw()
        inputs = values | state | {f"{name}.g": g for name, g in gradients.items()}
        safetensors.numpy.save_file(inputs, folder / "in.safetensors")
        subprocess.run([tool, step, "-o", "/dev/null",
                        f"--tp-interpret-entry=entry=main inputs={folder}/in.safetensors "
                        f"outputs={folder}/out.safetensors"], check=True)
        outputs = safetensors.numpy.load_file(folder / "out.safetensors")
        for name in trained:
            params[name].grad = torch.tensor(gradients[name])
        if clip:
            torch.nn.utils.clip_grad_norm_([params[name] for name in trained], clip)
        optimizer.step()
        if schedule:
            schedule.step()
        state = {name: outputs[name] for name in state}
        values |= {name: outputs[name] for name in trained}
        for name in trained:
            error = numpy.abs(values[name] - params[name].detach().numpy()).max()
            if not error <= TOLERANCE:
                sys.exit(f"{recipe}: step {number}: {name} is off by {error}")
    print(f"{recipe}: {len(trained)} parameters, {len(state)} states: ok")


def check_master(tool, folder):
    """A bf16 parameter is its f32 master, rounded; without one it is rounded each step."""
    (folder / "narrow.mlir").write_text("""
func.func @main(%w: tensor<5xbf16> {tp.name = "w", tp.role = "parameter"},
    %g: tensor<5xf32> {tp.name = "g"}) -> (tensor<f32> {tp.name = "loss"}) {
  %0 = tp.convert %w : tensor<5xbf16> -> tensor<5xf32>
  %1 = tp.mul %0, %g : tensor<5xf32>
  %2 = tp.reduce sum %1 dims = [0] : tensor<5xf32> -> tensor<f32>
  return %2 : tensor<f32>
}
""", encoding="utf-8")
    random = torch.Generator().manual_seed(7)
    first = torch.randn(5, generator=random).to(torch.bfloat16)
    gradients = [torch.randn(5, generator=random) for _ in range(STEPS)]
    for words in ("", " master=f32"):
        subprocess.run([tool, folder / "narrow.mlir", "-o", folder / "step.mlir",
                        f"--tp-train=loss=loss optimizer=adamw(lr=1e-3){words}"],
                       check=True)
        master = torch.nn.Parameter(first.to(torch.float32))
        optimizer = torch.optim.AdamW([master], lr=1e-3)
        values = {"w": first, "train.step": torch.zeros((), dtype=torch.int32)}
        for state in ("exp_avg", "exp_avg_sq") + (("master",) if words else ()):
            values[f"adamw.{state}/w"] = torch.zeros(5)
        for gradient in gradients:
            safetensors.torch.save_file(values | {"g": gradient.to(torch.bfloat16).float()},
                                        folder / "in.safetensors")
            subprocess.run([tool, folder / "step.mlir", "-o", "/dev/null",
                            "--tp-interpret-entry=entry=main "
                            f"inputs={folder}/in.safetensors "
                            f"outputs={folder}/out.safetensors"], check=True)
            outputs = safetensors.torch.load_file(folder / "out.safetensors")
            values = {name: outputs[name] for name in values}
            master.grad = gradient.to(torch.bfloat16).float()
            optimizer.step()
            if not words:
                master.data = master.data.to(torch.bfloat16).float()
            elif not torch.allclose(values["adamw.master/w"], master, rtol=0, atol=1e-6):
                sys.exit(f"master is {values['adamw.master/w']}, not {master}")
            if not torch.equal(values["w"], master.data.to(torch.bfloat16)):
                sys.exit(f"bf16{words}: {values['w']}, not {master}")
        print(f"bf16{words}: ok")


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "loss.mlir").write_text(program(), encoding="utf-8")
    for recipe, kind, numbers in RECIPES:
        check(tool, folder, recipe, kind, numbers)
    check_master(tool, folder)


if __name__ == "__main__":
    main()
