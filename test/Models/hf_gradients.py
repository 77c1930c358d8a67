#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of Hugging Face models against PyTorch: every parameter of a tiny model of
each family that is imported from its config.json with phase=train, and the loss.

    hf_gradients.py [FAMILY ...]

Compiled, on one device, on three with plan=megatron, and on two axes with the batch cut:
sizes that no axis divides among them. In f32 each gradient is to be within 1e-4 of the
largest of its parameter, or of a hundredth of the largest of all; in f64 within 1e-9.
Exit 1 if one is not.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch
import transformers

from wide_torch import widened

# transformers asks CUDA for this, and torch crashes where it has no CUDA libraries.
if not torch.cuda.is_available():
    torch.cuda.is_current_stream_capturing = lambda: False

BATCH, SEQUENCE = 4, 11
ALLOWED = {"f32": 1e-4, "f64": 1e-9}

DECODER = dict(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
               num_attention_heads=6, num_key_value_heads=3, max_position_embeddings=32,
               initializer_range=0.3, attention_dropout=0.0)
FAMILIES = {
    "llama": lambda: transformers.LlamaConfig(**DECODER, tie_word_embeddings=False),
    "llama-tied": lambda: transformers.LlamaConfig(**DECODER, tie_word_embeddings=True,
                                                   pad_token_id=3),
    "mistral": lambda: transformers.MistralConfig(**DECODER, sliding_window=5),
    "qwen2": lambda: transformers.Qwen2Config(**DECODER, tie_word_embeddings=True),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=61, n_positions=32, n_embd=24, n_layer=2, n_head=6, initializer_range=0.3,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0),
    "bert": lambda: transformers.BertConfig(
        vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=6,
        intermediate_size=40, max_position_embeddings=32, type_vocab_size=2,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3),
}
PLANS = {
    "one device": "mesh=model=1",
    "model=3": "mesh=model=3 plan=megatron",
    "data=2,model=2": "mesh=data=2,model=2 plan=PLAN",
}
SOURCE = re.compile(
    r'tp\.name = "([^"]+)", tp\.source = #tp\.source<"([^"]+)", stored=(\[[^\]]*\]), '
    r"start=(\[[^\]]*\]), size=(\[[^\]]*\]), view=(\[[^\]]*\]), permutation=(\[[^\]]*\])>")


def draw(config):
    generator = np.random.default_rng(3)
    tokens = generator.integers(0, 61, (BATCH, SEQUENCE)).astype(np.int32)
    labels = np.where(generator.random(tokens.shape) < 0.3, -100,
                      tokens if config.model_type != "bert" else (tokens * 7 + 1) % 61)
    inputs = {"tokens": tokens, "labels": labels.astype(np.int32)}
    if config.model_type == "bert":
        mask = np.ones_like(tokens)
        mask[:, -2:] = 0
        inputs |= {"token_type_ids": (tokens % 2).astype(np.int32), "attention_mask": mask}
    return inputs


def run_torch(model, inputs):
    """The loss, and the gradient of each stored tensor."""
    names = {"tokens": "input_ids"}
    loss = model(**{names.get(k, k): torch.tensor(v).long() for k, v in inputs.items()}).loss
    loss.backward()
    return float(loss.detach()), {
        name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}


def call(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()[-400:]}")
    return done.stdout


def compare(program, outputs, wanted, allowed):
    """What is wrong: of each argument, the part of PyTorch's gradient that it is."""
    wrong = []
    largest = max(np.max(np.abs(gradient)) for gradient in wanted.values())
    for name, tensor, *numbers in SOURCE.findall(program):
        _, start, size, view, permutation = map(json.loads, numbers)
        if tensor not in wanted and "model." + tensor in wanted:
            tensor = "model." + tensor
        part = wanted[tensor][tuple(slice(b, b + n) for b, n in zip(start, size))]
        part = part.reshape(view).transpose(permutation)
        got = outputs[f"{name}.grad"]
        # That of a key's bias is zero, but for rounding.
        scale = max(np.max(np.abs(part)), 1e-2 * largest)
        if not np.max(np.abs(got - part)) <= allowed * scale:
            wrong.append(f"{name}: off by {np.max(np.abs(got - part)) / scale:.1e}")
    return wrong


def make_model(config):
    """In torch's default type."""
    torch.manual_seed(5)
    kind = (transformers.BertForMaskedLM if config.model_type == "bert"
            else transformers.AutoModelForCausalLM)
    model = (kind(config) if config.model_type == "bert"
             else kind.from_config(config)).to(torch.get_default_dtype()).eval()
    # No weight is a constant that hides a mistake, as norms' ones and biases' zeros do.
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 0.5, 0.3)
    return model


def check(family, dtype, scratch):
    config = FAMILIES[family]()
    inputs = draw(config)
    with widened(dtype):
        model = make_model(config)
        loss, wanted = run_torch(model, inputs)
    model.save_pretrained(scratch)
    safetensors.numpy.save_file(inputs, scratch / "in.safetensors")
    program = scratch / "train.mlir"
    call("tp-opt", f"--tp-import=hf:{scratch}", "--tp-differentiate",
         f"--tp-import-options=phase=train batch={BATCH} sequence={SEQUENCE} dtype={dtype}",
         "-o", program)
    text = program.read_text()
    plan = scratch / "plan.json"
    plan.write_text(json.dumps({name: [["data"], []] for name in inputs}))
    count = 0
    for name, options in PLANS.items():
        call("tp-opt", program, f"--tp-compile={options.replace('PLAN', str(plan))}",
             f"--tp-artifact={scratch / 'train.tpx'}", "-o", "/dev/null")
        call("tp-run", scratch / "train.tpx", f"--weights={scratch}",
             *(f"--input={k}={scratch / 'in.safetensors'}" for k in inputs),
             f"--output={scratch / 'out.safetensors'}")
        outputs = safetensors.numpy.load_file(scratch / "out.safetensors")
        wrong = compare(text, outputs, wanted, ALLOWED[dtype])
        if not abs(outputs["loss"] - loss) <= ALLOWED[dtype] * abs(loss):
            wrong.append(f"loss {outputs['loss']}, PyTorch's {loss}")
        if wrong:
            print(f"{family}, {dtype}, {name}: {'; '.join(wrong)}", flush=True)
        count += bool(wrong)
    return count, len(SOURCE.findall(text))


def main():
    names = sys.argv[1:] or FAMILIES
    wrong = gradients = 0
    for family in names:
        for dtype in ALLOWED:
            with tempfile.TemporaryDirectory() as scratch:
                bad, count = check(family, dtype, pathlib.Path(scratch))
            wrong += bad
            gradients += count
    print(f"{len(names)} models, {gradients} gradients in {len(ALLOWED)} types on "
          f"{len(PLANS)} meshes: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
