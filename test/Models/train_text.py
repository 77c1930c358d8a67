#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of AdamW on real text, a byte a token, against PyTorch: a small Llama learns the
licence of this repository on 1, 2 and 4 devices.

    train_text.py [--steps=500] [--plans=PATTERNS] [--types=f64,f32]
    train_text.py --model=FOLDER --batch=1 --sequence=256 --steps=20 --types=f32 ..

A step is two micro-batches of which labels are left out, clipped to a norm of 1, with a
schedule, and no decay of norms. Plans are words of plan= and zero=. The loss is within 1e-3
of PyTorch's at every step, and after the last every parameter within 1e-6 in f64, and
within 1e-3 in f32. Exit 1 if one is not.
--model trains one that was published, from its weights on.
"""

import argparse
import copy
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

# Threads that spin keep what they wait for from running, where other programs run, too.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import torch
import transformers

from wide_torch import widened

# transformers asks CUDA for this, and torch crashes where it has no CUDA libraries.
if not torch.cuda.is_available():
    torch.cuda.is_current_stream_capturing = lambda: False

MICRO, VOCABULARY = 2, 128
LOSS_ALLOWED, ALLOWED = 1e-3, {"f64": 1e-6, "f32": 1e-3}
RATE, DECAY, WARMUP = 1e-3, 0.1, 4
IGNORED = -100
ARGUMENT = re.compile(r"%arg\d+: tensor<([^>]*)> \{([^}]*)\}")
SOURCE = re.compile(
    r'tp\.source = #tp\.source<"([^"]+)", stored=\[[^\]]*\], start=(\[[^\]]*\]), '
    r"size=(\[[^\]]*\]), view=(\[[^\]]*\]), permutation=(\[[^\]]*\])>")
# What --tp-compile is told of each plan.
PLANS = {"one device": "mesh=model=1"}
for n in (2, 4):
    for words in ("megatron", "megatron+sp"):
        PLANS[f"{words}, {n}"] = f"mesh=model={n} plan={words}"
    for words in ("ddp", "fsdp", "ddp zero=1", "ddp zero=2"):
        PLANS[f"{words}, {n}"] = f"mesh=data={n} plan={words}"
for words in ("megatron+ddp", "megatron+sp+ddp", "megatron+fsdp", "megatron+sp+fsdp",
              "megatron+ddp zero=1", "megatron+ddp zero=2"):
    PLANS[f"{words}, 2 x 2"] = f"mesh=data=2,model=2 plan={words}"


def read_batches(steps, batch, sequence):
    """Of each step the tokens and labels of its micro-batches, in the text's order."""
    text = (pathlib.Path(__file__).parents[2] / "LICENSE").read_bytes()
    tokens = np.frombuffer(text, np.uint8).astype(np.int32)
    assert tokens.max() < VOCABULARY
    count = MICRO * batch * sequence
    generator = np.random.default_rng(1)
    for step in range(steps):
        own = np.take(tokens, np.arange(step * count, (step + 1) * count), mode="wrap")
        own = own.reshape(MICRO, batch, sequence)
        # Some micro-batches have half as many labels as others.
        share = generator.uniform(0.4, 1, (MICRO, 1, 1))
        yield own, np.where(generator.random(own.shape) < share, own, IGNORED).astype(np.int32)


def make_model(folder):
    """The one in a folder, or a small one, in torch's default type."""
    if folder:
        return transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.get_default_dtype(), attn_implementation="sdpa").train()
    torch.manual_seed(5)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=3, max_position_embeddings=32,
        tie_word_embeddings=False, attention_dropout=0.0)
    model = transformers.AutoModelForCausalLM.from_config(config)
    return model.to(torch.get_default_dtype())


def run_torch(model, batches, steps):
    """The loss of every step; the model's parameters are what they become."""
    named = list(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [p for name, p in named if "norm" not in name], "weight_decay": DECAY},
         {"params": [p for name, p in named if "norm" in name], "weight_decay": 0.0}], lr=RATE)
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, WARMUP, steps)
    losses = []
    for tokens, labels in batches:
        # The first token of a sequence is nobody's label.
        counts = (labels[:, :, 1:] != IGNORED).sum((1, 2))
        total = 0
        for own, wanted, count in zip(tokens, labels, counts):
            loss = model(input_ids=torch.tensor(own).long(),
                         labels=torch.tensor(wanted).long()).loss
            loss = loss * (float(count) / float(counts.sum()))
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(total)
    return losses


def call(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()[:600]}")


def build_step(folder, dtype, options):
    """The step as text, and its parameters: name to shape, stored tensor and part."""
    call("tp-opt", f"--tp-import=hf:{folder}", "-o", folder / "loss.mlir",
         f"--tp-import-options=phase=train batch={options.batch} sequence={options.sequence} "
         f"dtype={dtype}")
    call("tp-opt", folder / "loss.mlir", "-o", folder / "step.mlir",
         f"--tp-train=loss=loss weight=label_count clip=1.0 accumulate={MICRO} "
         f"optimizer=adamw(lr={RATE},weight_decay={DECAY}) no_decay=*norm* "
         f"schedule=cosine(warmup={WARMUP},steps={options.steps})")
    parameters = {}
    text = (folder / "step.mlir").read_text().split("@evaluate")[0]
    for kind, attributes in ARGUMENT.findall(text):
        source = SOURCE.search(attributes)
        if source:
            name = re.search(r'tp\.name = "([^"]+)"', attributes).group(1)
            shape = [int(size) for size in kind.split("x")[:-1]]
            parameters[name] = shape, source.group(1), list(map(json.loads, source.groups()[1:]))
    return parameters


def run_steps(folder, plan, parameters, batches, dtype):
    """The losses of a plan, the parameters behind the last step, and the time of a step."""
    call("tp-opt", folder / "step.mlir", "-o", "/dev/null", f"--tp-compile={plan}",
         f"--tp-artifact={folder}/step.tpx")
    tokens, labels = map(np.stack, zip(*batches))
    np.savez(folder / "batches.npz", tokens=tokens, labels=labels)
    (folder / "results.json").write_text(json.dumps({
        "loss": dtype, "dtype": dtype,
        "shapes": {name: shape for name, (shape, _, _) in parameters.items()}}))
    call(sys.executable, pathlib.Path(__file__).with_name("tprt.py"), folder / "step.tpx",
         folder, folder / "batches.npz", folder / "results.json", folder / "out.npz")
    outputs = dict(np.load(folder / "out.npz"))
    return outputs.pop("train.losses"), outputs, float(outputs.pop("train.seconds"))


def get_distance(values, parameters, wanted):
    """The largest difference of a parameter."""
    worst = 0
    for name, (_, stored, (start, size, view, permutation)) in parameters.items():
        stored = stored if stored in wanted else f"model.{stored}"
        part = wanted[stored][tuple(slice(b, b + n) for b, n in zip(start, size))]
        part = part.reshape(view).transpose(permutation)
        worst = max(worst, np.max(np.abs(values[name] - part)))
    return worst


def check(dtype, options, plans, folder):
    steps = options.steps
    batches = list(read_batches(steps, options.batch, options.sequence))
    with widened(dtype):
        model = make_model(options.model)
    model.save_pretrained(folder)
    exact = copy.deepcopy(model)
    begin = time.perf_counter()
    with widened(dtype):
        wanted = run_torch(model, batches, steps)
    print(f"{dtype}, PyTorch: {1e3 * (time.perf_counter() - begin) / steps:.1f} ms a step",
          flush=True)
    if dtype == "f32" and not options.model:
        with widened("f64"):
            exact = run_torch(exact.double(), batches, steps)
        drift = max(abs(a - b) for a, b in zip(exact, wanted))
        print(f"f32, PyTorch: within {drift:.1e} of itself in f64", flush=True)
    trained = {name: p.detach().numpy() for name, p in model.named_parameters()}
    parameters = build_step(folder, dtype, options)
    wrong = 0
    for name in plans:
        losses, values, took = run_steps(folder, PLANS[name], parameters, batches,
                                         "float64" if dtype == "f64" else "float32")
        loss = max(abs(a - b) for a, b in zip(losses, wanted))
        distance = get_distance(values, parameters, trained)
        fine = loss <= LOSS_ALLOWED and distance <= ALLOWED[dtype]
        wrong += not fine
        print(f"{dtype}, {name}: loss {losses[0]:.3f} to {losses[-1]:.3f}, within {loss:.1e} "
              f"of PyTorch's; parameters within {distance:.1e}; {1e3 * took:.1f} ms a step"
              f"{'' if fine else ': WRONG'}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--plans", default="*", help="patterns of plans, separated by ;")
    parser.add_argument("--types", default="f64,f32")
    parser.add_argument("--model")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=12)
    options = parser.parse_args()
    plans = [name for name in PLANS
             if any(fnmatch.fnmatch(name, p) for p in options.plans.split(";"))]
    wrong = 0
    for dtype in options.types.split(","):
        with tempfile.TemporaryDirectory() as folder:
            wrong += check(dtype, options, plans, pathlib.Path(folder))
    print(f"{options.steps} steps by {len(plans)} plans: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
