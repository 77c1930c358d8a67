#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports models of the transformers library, small, and applies the plan that each brings
along, as it is: two ranks send what Megatron's do, a sum of activations for the embedding
and for every attention and feed-forward layer, which may be a mixture of experts, or one
for both where they are computed side by side. Mixtures are checked twice: with a part of
each expert on every device, and with whole experts.

Run with names, only those models are checked."""

import json
import pathlib
import re
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

# Mixtures of experts: the sums of each layer, and what they need beyond the sizes of all.
# Those without attention in their plans have none behind it.
HYBRID = {"layer_types": ["linear_attention", "full_attention"]}
LINEAR = {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
          "linear_num_value_heads": 4, "linear_conv_kernel_dim": 4}
WINDOWS = {"layer_types": ["hybrid_sliding", "hybrid"], "d_rel": 4, "rel_extent": 16,
           "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 8,
           "sliding_window_size": 8}
SPARSE = {"mlp_layer_types": ["sparse"] * LAYERS}
LATENT = SPARSE | {"qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "head_dim": 4,
                   "kv_lora_rank": 8, "q_lora_rank": 16, "num_key_value_heads": 4,
                   "index_n_heads": 4, "index_head_dim": 8, "index_topk": 4}
EXPERTS = {
    "Afmoe": (1, {"num_dense_layers": 0}),
    "AriaText": (2, {"moe_num_shared_experts": 1, "moe_topk": 2}),
    "AXK1": (1, LATENT),
    "AXK2": (2, LATENT),
    "BailingHybrid": (1, LATENT | HYBRID),
    "Beam": (2, SPARSE),
    "Cohere2Moe": (1, {}),  # attention and experts side by side
    "DeepseekV2": (2, LATENT),
    "DeepseekV3": (1, LATENT),
    "DeepseekV32": (2, LATENT),
    "DeepseekV4": (1, {
        "hc_mult": 2, "o_groups": 2, "o_lora_rank": 8, "q_lora_rank": 8, "index_n_heads": 4,
        "index_head_dim": 8, "index_topk": 4, "qk_rope_head_dim": 4, "num_key_value_heads": 1}),
    "Dots1": (2, {}),
    "Dots3Note": (2, LATENT),
    "Ernie4_5_Moe": (2, {}),
    "ExaoneMoe": (2, SPARSE),
    "FlexOlmo": (2, {}),
    "Flint": (1, {}),
    "Gemma4": (3, {"enable_moe_block": True, "top_k_experts": 2,  # experts beside a dense one
                   "layer_types": ["sliding_attention", "full_attention"]}),
    "Glm4Moe": (2, {}),
    "Glm4MoeLite": (2, LATENT),
    "GlmMoeDsa": (2, LATENT),
    "GptOss": (1, {"intermediate_size": 4}),  # biases of its experts are gathered
    "GraniteMoe": (1, {}),
    "GraniteMoeHybrid": (1, {"mamba_n_heads": 8, "mamba_d_state": 8,
                             "shared_intermediate_size": 24,
                             "layer_types": ["mamba", "attention"]}),
    "GraniteMoeShared": (1, {"shared_intermediate_size": 24}),
    "GraniteMoeSWA": (2, {}),
    "HunYuanMoEV1": (1, {}),
    "HYV3": (2, SPARSE),
    "HYV4": (2, LATENT),
    "Inkling": (1, SPARSE | WINDOWS),
    "Inkling2": (1, WINDOWS | {"n_layers_per_attn_res_block": 1}),
    "Jamba": (1, {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 1,
                  "expert_layer_offset": 0, "mamba_d_state": 4, "mamba_dt_rank": 4}),
    "KimiLinear": (1, LATENT | HYBRID | {"linear_head_dim": 8, "linear_num_heads": 4}),
    "Kolibri1": (2, {}),
    "Laguna": (2, SPARSE),
    "Lfm2Moe": (1, {"layer_types": ["conv", "full_attention"], "num_dense_layers": 0}),
    "Llama4": (2, {"interleave_moe_layer_step": 1, "intermediate_size_mlp": 48}),
    # Two attentions and dense layers in each, and experts that are summed with the last.
    "LongcatFlash": (4, LATENT | {"num_layers": LAYERS, "num_hidden_layers": 2 * LAYERS,
                                  "ffn_hidden_size": 48, "expert_ffn_hidden_size": 24,
                                  "zero_expert_num": 2, "moe_topk": 2}),
    "Mellum": (2, SPARSE),
    "MiMoV2Flash": (2, SPARSE | {"v_head_dim": 8}),
    "MiniMax": (1.5, HYBRID),  # its plan leaves the attention of a layer alone
    "MiniMaxM2": (2, {}),
    "MiniMaxM3VL": (2, {}),
    "Mistral4": (1, LATENT | {"qk_nope_head_dim": 4}),
    "Mixtral": (2, {}),
    "NemotronH": (1, {"layers_block_type": ["moe", "moe"],
                      "moe_shared_expert_intermediate_size": 24}),
    "Olmoe": (2, {}),
    "Phimoe": (1, {}),
    "Qwen2Moe": (2, {}),
    "Qwen3Moe": (2, {}),
    "Qwen3Next": (1.5, HYBRID | LINEAR),
    "Qwen3_5Moe": (1.5, HYBRID | LINEAR),
    "Qwen4Exp": (1, LINEAR | {"hc_count": 2, "hc_lowrank": 8,
                              "layer_types": ["linear_attention"] * LAYERS}),
    "SolarOpen": (2, {})}
# Exporting all takes minutes: these are checked by name.
BY_NAME = {
    "Afmoe", "AriaText", "AXK1", "AXK2", "BailingHybrid", "Beam", "Cohere2Moe", "DeepseekV32",
    "DeepseekV4", "Dots3Note", "ExaoneMoe", "Flint", "Glm4MoeLite", "GlmMoeDsa", "GraniteMoe",
    "GraniteMoeHybrid", "GraniteMoeShared", "GraniteMoeSWA", "HYV3", "HYV4", "Inkling2",
    "Jamba", "KimiLinear", "Kolibri1", "Laguna", "Mellum", "MiMoV2Flash", "MiniMaxM2",
    "MiniMaxM3VL", "Mistral4", "NemotronH", "Qwen3_5Moe", "Qwen4Exp", "SolarOpen"}
MODELS |= {name: sums for name, (sums, _) in EXPERTS.items()}
EXPERT_SIZES = {
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4,
    "num_experts_per_tok": 2, "moe_k": 2, "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
    "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24,
    "first_k_dense_replace": 0, "decoder_sparse_step": 1, "moe_layer_start_index": 0}
# Of how many numbers of each token there are further sums. Norms over the features of all
# heads want the squares of all of them, Qwen4Exp's hyper connections take a cut input, and so
# does Inkling's head, for which the norm before it is cut, too.
FURTHER = dict.fromkeys(("FlexOlmo", "MiniMaxM2", "Olmoe"), [2] * LAYERS) | {
    "Inkling": [1, SIZES["vocab_size"]], "Inkling2": [SIZES["vocab_size"]],
    "Qwen4Exp": [8] * (2 * LAYERS + 1)}
# These have as many sums as Megatron, with at most a twentieth more bytes than those and what
# words of the plan gather and split. Latent attention gathers what it compresses, and not what
# was summed; its indexers gather a mask. Two sums of Gemma4's share a gather. The biases of
# GptOss' experts are gathered. Linear attention gathers its projections. Inkling's head cuts
# what was summed.
GATHERING = {name for name, (_, sizes) in EXPERTS.items() if "kv_lora_rank" in sizes} | {
    "Gemma4", "GptOss", "Inkling", "Inkling2", "Qwen3Next", "Qwen3_5Moe", "Qwen4Exp"}
SUMS = ("all_reduce", "reduce_scatter")


def check(name, folder):
    """What is wrong with a model, or nothing."""
    kind = getattr(transformers, f"{name}ForCausalLM")
    torch.manual_seed(0)
    sizes = SIZES | (EXPERT_SIZES | EXPERTS[name][1] if name in EXPERTS else {})
    module = kind(kind.config_class(**sizes)).eval()
    tp_export.export_torch(module, to=folder,
                           kwargs={"input_ids": torch.randint(3, 64, (BATCH, TOKENS))})
    plans = {"tp_plan": module.tp_plan}
    facts = count_moved(module), bool(getattr(module.config, "tie_word_embeddings", False))
    if name not in EXPERTS:
        return check_plan(name, folder, plans, *facts)
    # Every device has a part of each expert, or experts of its own, which goes first.
    has_parts = "moe_tp_experts" in module.tp_plan.values()
    return (has_parts and check_plan(name, folder, plans, *facts)) or (
        module.ep_plan and
        check_plan(name, folder, {"ep_plan": module.ep_plan} | plans, *facts)) or None


def count_moved(module):
    """The features of a token that words of its plan gather, but logits, or split."""
    words = {name: module.tp_plan.get(re.sub(r"\d+", "*", name.removesuffix(".weight")))
             for name, _ in module.named_parameters() if name.endswith(".weight")}
    return sum(module.get_parameter(name).shape[word == "rowwise_split_input"]
               for name, word in words.items() if word == "rowwise_split_input"
               or word == "colwise_gather_output" and not name.startswith("lm_head"))


def check_plan(name, folder, plans, moved, is_tied):
    (folder / "plan.json").write_text(json.dumps(plans), encoding="utf-8")
    done = subprocess.run(
        ["tp-opt", folder / "model.mlir", f"--tp-shard=mesh=model=2 plan={folder}/plan.json",
         f"--tp-report={folder}/report.json", "-o", "/dev/null"],
        capture_output=True, text=True, check=False)
    # A plan of experts has entries for layers without, too, and a tied head is no weight of
    # its own.
    warnings = [line for line in done.stderr.splitlines()
                if "warning" in line and not (is_tied and "lm_head" in line)]
    if done.returncode or (warnings and name not in EXPERTS):
        return done.stderr[-2000:]
    (function,) = json.loads((folder / "report.json").read_text())["functions"]
    got = [(share["kind"], share["wire_bytes"]) for each in function["collectives"]
           for share in each["shares"] for _ in range(each["times"])]
    embeddings = int("embedding_rowwise" in plans["tp_plan"].values())
    wanted = [("all_reduce", BATCH * TOKENS * HIDDEN * 4)] * (
        embeddings + round(LAYERS * MODELS[name]))
    wanted += [("all_reduce", BATCH * TOKENS * count * 4) for count in FURTHER.get(name, ())]
    got = join_halves(got)
    is_same = sorted(got) == sorted(wanted)
    if name in GATHERING:
        is_same = (sum(kind in SUMS for kind, _ in got) == len(wanted) and
                   get_bytes(got) <= 1.05 * (get_bytes(wanted) + BATCH * TOKENS * moved * 2))
    return None if is_same else f"{', '.join(plans)}: {got}, Megatron has {wanted}"


def join_halves(collectives):
    """A sum may be in two halves, with what the plan leaves alone cut in between."""
    sizes = {kind: [size for each, size in collectives if each == kind]
             for kind in ("reduce_scatter", "all_gather")}
    joined = list(collectives)
    for size in sizes["reduce_scatter"]:
        if size in sizes["all_gather"]:
            sizes["all_gather"].remove(size)
            joined.remove(("reduce_scatter", size))
            joined.remove(("all_gather", size))
            joined.append(("all_reduce", 2 * size))
    return joined


def get_bytes(collectives):
    return sum(number for _, number in collectives)


def main():
    failures = 0
    names = sys.argv[1:] or [name for name in MODELS if name not in BY_NAME]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            error = check(name, pathlib.Path(folder))
        if error:
            print(f"{name}: {error}", flush=True)
            failures += 1
    print(f"{len(names)} models, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
