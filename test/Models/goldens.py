#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes goldens/*.json: what transformers computes in float32 on the models
that make_smollm2.py and make_minilm.py make, and on tiny ones of all families.

    goldens/smollm2-135m.json  for each prompt: its tokens; at some positions,
                               the largest logits and every 997th; the tokens
                               that greedy decoding appends, and how far the
                               chosen one was ahead of the next at the closest
    goldens/minilm-l6.json     for each sentence: its tokens; its embedding, the
                               mean over tokens, scaled to length 1
    goldens/tiny-*.json        the configuration; the tensors that tiny_model.py
                               makes; for some tokens the same, with all logits,
                               or the states of an encoder

Needs the packages torch, transformers and tokenizers.
"""

import json
import pathlib
import re
import tempfile

import tokenizers
import torch
import transformers

import model_cache
import tiny_model

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

# Sizes that two and three ranks divide only in part: heads, key-value heads,
# features and words.
LLAMA = {
    "hidden_size": 48, "intermediate_size": 70, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 53,
    "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "max_position_embeddings": 64, "tie_word_embeddings": False,
}
TINY = {
    "gpt2": {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
        "n_embd": 40, "n_head": 5, "n_layer": 2, "n_positions": 64,
        "vocab_size": 53, "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
    },
    # Longer than the model was trained for: the stretched frequencies count.
    "llama3": LLAMA | {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"],
        "hidden_size": 36, "num_attention_heads": 9, "num_key_value_heads": 3,
        "head_dim": 8,
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
                         "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 8},
    },
    # One key-value head for all, and a window shorter than the sequence.
    "mistral": LLAMA | {
        "model_type": "mistral", "architectures": ["MistralForCausalLM"],
        "num_key_value_heads": 1, "sliding_window": 4,
    },
    "qwen2": LLAMA | {
        "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"],
        "tie_word_embeddings": True,
    },
    "bert": {
        "model_type": "bert", "architectures": ["BertModel"],
        "hidden_size": 36, "intermediate_size": 50, "num_hidden_layers": 2,
        "num_attention_heads": 3, "vocab_size": 53, "type_vocab_size": 2,
        "max_position_embeddings": 64, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "pad_token_id": 0,
    },
}
TINY_TOKENS = [[5, 17, 2, 44, 31, 52, 9, 9, 0, 23, 38], [50, 3, 3, 28, 41, 12, 7]]
TINY_GREEDY = 12


def rounded(values):
    """Float32 numbers with the digits that tell them apart."""
    return [float(f"{value:.9g}") for value in values.tolist()]


def sample(logits, position, largest=LARGEST, stride=STRIDE):
    best = logits.topk(largest)
    return {"position": position,
            "largest": best.indices.tolist(),
            "largest_logits": rounded(best.values),
            "stride": stride,
            "strided_logits": rounded(logits[::stride])}


def generate(model, tokens, count):
    """Greedy tokens, and the smallest lead of a chosen one."""
    tokens, lead = list(tokens), float("inf")
    begin, cache, step = len(tokens), None, torch.tensor([tokens])
    for _ in range(count):
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
        greedy, lead = generate(model, tokens, GREEDY)
        cases.append({
            "text": text,
            "tokens": tokens,
            "logits": [sample(logits[i], i) for i in (0, len(tokens) - 1)],
            "greedy": greedy,
            "greedy_text": tokenizer.decode(greedy),
            "smallest_lead": lead})
    return {"encoder": False, "output": "logits", "cases": cases}


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
    return {"encoder": True, "cases": cases}


def make_tiny_case(model, tokens, encoder):
    inputs, case = {"input_ids": torch.tensor([tokens])}, {"tokens": tokens}
    if encoder:
        case["token_types"] = [int(token > 20) for token in tokens]
        inputs["token_type_ids"] = torch.tensor([case["token_types"]])
        rows = model(**inputs).last_hidden_state[0]
    else:
        rows = model(**inputs).logits[0]
        case["greedy"], case["smallest_lead"] = generate(model, tokens,
                                                         TINY_GREEDY)
    case["logits"] = [sample(row, i, 0, 1) for i, row in enumerate(rows)]
    return case


def make_tiny(config):
    encoder = config["model_type"] == "bert"
    auto = transformers.AutoModel if encoder else transformers.AutoModelForCausalLM
    options = {"add_pooling_layer": False} if encoder else {}
    with tempfile.TemporaryDirectory() as folder:
        golden = {"config": config, "tensors": {}}
        tiny_model.write_model(golden, pathlib.Path(folder))
        empty = auto.from_config(transformers.AutoConfig.from_pretrained(folder),
                                 **options)
        tied = "lm_head.weight" if empty.config.tie_word_embeddings else None
        golden["tensors"] = {name: list(weight.shape)
                             for name, weight in empty.state_dict().items()
                             if name != tied}
        tiny_model.write_model(golden, pathlib.Path(folder))
        model, loading = auto.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True, **options)
    assert not any(loading.values()), loading
    model.eval()
    return {**golden, "encoder": encoder,
            "output": "last_hidden_state" if encoder else "logits",
            "cases": [make_tiny_case(model, tokens, encoder)
                      for tokens in TINY_TOKENS]}


def write(name, golden):
    text = json.dumps({"model": name, **golden}, indent=1, ensure_ascii=False)
    # Lists of numbers on one line: a model's file has thousands of them.
    text = re.sub(r"\[[-+\d\s.,e]*\]", lambda list: " ".join(list[0].split()), text)
    (GOLDENS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def main():
    cache = model_cache.parse_cache(__doc__)
    GOLDENS.mkdir(exist_ok=True)
    with torch.no_grad():
        write("smollm2-135m", make_smollm2(cache / "smollm2-135m"))
        write("minilm-l6", make_minilm(cache / "minilm-l6"))
        for name, config in TINY.items():
            write(f"tiny-{name}", make_tiny(config))


if __name__ == "__main__":
    main()
