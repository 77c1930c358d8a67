#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes goldens/*.json: what transformers computes on the models that
make_smollm2.py and make_minilm.py make, in float32.

    goldens/smollm2-135m.json  for each prompt: its tokens; at some positions,
                               the largest logits and every 997th; the tokens
                               that greedy decoding appends, and how far the
                               chosen one was ahead of the next at the closest
    goldens/minilm-l6.json     for each sentence: its tokens; its embedding, the
                               mean over tokens, scaled to length 1

Needs the packages torch, transformers and tokenizers.
"""

import json
import pathlib

import tokenizers
import torch
import transformers

import model_cache

GOLDENS = pathlib.Path(__file__).parent / "goldens"
PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n",
    "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n",
]
SENTENCES = [
    "A compiler turns programs into other programs.",
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
]
GREEDY = 64
LARGEST = 16
STRIDE = 997


def rounded(values):
    """Float32 numbers with the digits that tell them apart."""
    return [float(f"{value:.9g}") for value in values.tolist()]


def sample(logits, position):
    largest = logits.topk(LARGEST)
    return {"position": position,
            "largest": largest.indices.tolist(),
            "largest_logits": rounded(largest.values),
            "stride": STRIDE,
            "strided_logits": rounded(logits[::STRIDE])}


def generate(model, tokens):
    """Greedy tokens, and the smallest lead of a chosen one."""
    tokens, lead = list(tokens), float("inf")
    begin, cache, step = len(tokens), None, torch.tensor([tokens])
    for _ in range(GREEDY):
        output = model(step, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        best = output.logits[0, -1].topk(2)
        lead = min(lead, (best.values[0] - best.values[1]).item())
        tokens.append(best.indices[0].item())
        step = torch.tensor([tokens[-1:]])
    return tokens[begin:], lead


def make_smollm2(folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = transformers.LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32).eval()
    cases = []
    for text in PROMPTS:
        tokens = tokenizer.encode(text).ids
        logits = model(torch.tensor([tokens])).logits[0]
        greedy, lead = generate(model, tokens)
        cases.append({
            "text": text,
            "tokens": tokens,
            "logits": [sample(logits[i], i) for i in (0, len(tokens) - 1)],
            "greedy": greedy,
            "greedy_text": tokenizer.decode(greedy),
            "smallest_lead": lead})
    return cases


def make_minilm(folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    model = transformers.BertModel.from_pretrained(
        folder, dtype=torch.float32, add_pooling_layer=False).eval()
    cases = []
    for text in SENTENCES:
        tokens = tokenizer.encode(text).ids
        states = model(torch.tensor([tokens])).last_hidden_state[0]
        embedding = torch.nn.functional.normalize(states.mean(0), dim=0)
        cases.append({"text": text, "tokens": tokens,
                      "embedding": rounded(embedding)})
    return cases


def main():
    cache = model_cache.parse_cache(__doc__)
    GOLDENS.mkdir(exist_ok=True)
    with torch.no_grad():
        for name, make in (("smollm2-135m", make_smollm2),
                           ("minilm-l6", make_minilm)):
            golden = {"model": name, "cases": make(cache / name)}
            text = json.dumps(golden, indent=1, ensure_ascii=False)
            (GOLDENS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
