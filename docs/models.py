# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of models that work: what the tests run, read from the tests."""

import ast
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "test" / "Models"


def names_in(node):
    """The keys of a dict as it is written: literal, `dict.fromkeys((..))`, joined by |."""
    if isinstance(node, ast.Dict):
        return [key.value for key in node.keys if isinstance(key, ast.Constant)]
    if isinstance(node, ast.BinOp):
        return names_in(node.left) + names_in(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) \
            and node.func.attr == "fromkeys":
        return [element.value for element in node.args[0].elts]
    return []


def keys(file, variable):
    """The keys that a test's file gives to a dict of its own."""
    found = []
    for node in ast.parse((MODELS / file).read_text(encoding="utf-8")).body:
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == variable for target in targets):
            found += names_in(node.value)
    if not found:
        raise SystemExit(f"test/Models/{file} has no names in {variable}")
    return found


def listed(names):
    return ", ".join(f"`{name}`" for name in sorted(names, key=str.lower))


def importer():
    text = (ROOT / "lib/Import/HuggingFace/HuggingFace.cpp").read_text(encoding="utf-8")
    return dict(re.findall(r'\{"(\w+)", "(\w+)", build\w+\}', text))


def page():
    run = {name for path in (MODELS / "goldens").glob("tiny-*.json") for name in
           json.loads(path.read_text(encoding="utf-8"))["config"]["architectures"]}
    trained = keys("hf_gradients.py", "FAMILIES")
    rows = []
    for architecture, family in importer().items():
        # BERT's loss is that of its other class, with a head.
        trains = any(name.startswith(family) for name in trained) and architecture != "BertModel"
        rows.append(f"| `{architecture}` | {'yes' if architecture in run else ''} | "
                    f"{'yes' if trains else ''} |")
    zoo = keys("torch_zoo.py", "ZOO")
    left_out = keys("zoo_gradients.py", "LEFT_OUT")
    return f"""# Models that work

Which models the tests run, and what is asked of each. It is for those who want to know whether
theirs will work; the lists are read from the tests, so a model that stands here is run by one.

## By the importer

`--tp-import=hf:DIR` builds these classes ([from Hugging Face](../from-hugging-face.md)). *Runs*:
compiled ranks give the logits and tokens of transformers, or what its encoder gives.
*Trains*: its gradients are PyTorch's, in f32 and f64, on uneven meshes.

| class | runs | trains |
| --- | --- | --- |
{chr(10).join(rows)}

Published weights are run, too: SmolLM2-135M on one to five ranks, and MiniLM-L6.

## From PyTorch, by export

Small models of the classes of transformers, with random weights: two ranks compute what
PyTorch does, attention is raised, and no more is sent than by Megatron's plan
(`test/Models/torch_zoo.py`):

{listed(zoo)}.

All but {listed(left_out)} have PyTorch's gradients as well (`test/Models/zoo_gradients.py`).

The plans that these {len(keys("torch_plans.py", "MODELS") + keys("torch_plans.py", "EXPERTS"))} \
families of transformers bring along are read as they are, and cost what Megatron's do
(`test/Models/torch_plans.py`; some are run only by name):

{listed(keys("torch_plans.py", "MODELS") + keys("torch_plans.py", "EXPERTS"))}.

`test/Models/public_models.py` runs these of timm, torchvision, diffusers, transformers and others
beside PyTorch, before releases:

{listed(keys("public_zoo.py", "MODELS"))}.

## From JAX

GPT-2 and Llama, unrolled and under `scan`, forward and training, in four layouts
(`test/Models/jax_models.py`), and of other shapes (`test/Models/jax_zoo.py`):

{listed(keys("jax_zoo.py", "MODELS"))}.

Outputs, losses and updated weights are JAX's, and no more bytes are sent than by JAX's own
partitioner.

## What does not work

[Limits](../limits.md) lists it: dynamic sizes, control flow on the numbers of tensors in PyTorch,
quantised checkpoints.
"""
