#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports models of the transformers library, small, and applies the plan that each brings
along, as it is: two ranks send what Megatron's do, a sum of activations for the embedding
and for every attention and feed-forward layer, which may be a mixture of experts, or one
for both where they are computed side by side.

Run with names, only those models are checked."""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

import tp_export

# A machine without a device has no stream that could be captured.
torch.cuda.is_current_stream_capturing = lambda: False

BATCH, TOKENS, HIDDEN, LAYERS = 2, 7, 32, 2
SIZES = {"vocab_size": 64, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
         "intermediate_size": 48, "max_position_embeddings": 32, "use_cache": False,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

# The sums of each layer.
MODELS = dict.fromkeys((
    "Apertus", "Arcee", "Cwm", "Ernie4_5", "Exaone4", "Gemma", "Gemma2", "Gemma3", "Glm", "Glm4",
    "Granite", "Helium", "Jais2", "Llama", "Ministral", "Mistral", "NanoChat", "Nemotron", "Olmo",
    "Phi3", "Qwen2", "Qwen3", "SeedOss", "SmolLM3", "Starcoder2", "VaultGemma"), 2)
MODELS |= dict.fromkeys(("Cohere", "Cohere2", "Phi"), 1)

# Mixtures of experts, and of how many numbers of each token a layer needs further sums:
# norms over the features of all heads want the squares of all of them.
EXPERTS = dict.fromkeys(
    ("Dots1", "Ernie4_5_Moe", "Glm4Moe", "Mixtral", "Qwen2Moe", "Qwen3Moe"), 0)
EXPERTS |= dict.fromkeys(("FlexOlmo", "Olmoe"), 2)
MODELS |= dict.fromkeys(EXPERTS, 2)
EXPERT_SIZES = {
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4,
    "num_experts_per_tok": 2, "moe_k": 2, "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
    "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24,
    "first_k_dense_replace": 0, "decoder_sparse_step": 1, "moe_layer_start_index": 0}


def check(name, folder):
    """What is wrong with a model, or nothing."""
    kind = getattr(transformers, f"{name}ForCausalLM")
    torch.manual_seed(0)
    sizes = SIZES | (EXPERT_SIZES if name in EXPERTS else {})
    module = kind(kind.config_class(**sizes)).eval()
    tp_export.export_torch(module, to=folder,
                           kwargs={"input_ids": torch.randint(3, 64, (BATCH, TOKENS))})
    with open(folder / "plan.json", "w", encoding="utf-8") as file:
        json.dump({"tp_plan": module.tp_plan}, file)
    done = subprocess.run(
        ["tp-opt", folder / "model.mlir", f"--tp-shard=mesh=model=2 plan={folder}/plan.json",
         f"--tp-report={folder}/report.json", "-o", "/dev/null"],
        capture_output=True, text=True, check=False)
    # A plan of experts has entries for layers without, too.
    if done.returncode or ("warning" in done.stderr and name not in EXPERTS):
        return done.stderr[-2000:]
    (function,) = json.loads((folder / "report.json").read_text())["functions"]
    got = [(each["kind"], each["wire_bytes"]) for each in function["collectives"]
           for _ in range(each["times"])]
    wanted = [("all_reduce", BATCH * TOKENS * HIDDEN * 4)] * (1 + LAYERS * MODELS[name])
    if count := EXPERTS.get(name):
        wanted += [("all_reduce", BATCH * TOKENS * count * 4)] * LAYERS
    return None if sorted(got) == sorted(wanted) else f"{got}, Megatron has {wanted}"


def main():
    failures = 0
    names = sys.argv[1:] or MODELS
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            error = check(name, pathlib.Path(folder))
        if error:
            print(f"{name}: {error}")
            failures += 1
    print(f"{len(names)} models, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
