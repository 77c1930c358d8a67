#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports models of the transformers library, small and with random weights, and checks
that two ranks compute what PyTorch does, that attention is raised, and that by Megatron's
plan no more is sent than Megatron would: a sum of activations for every attention and
every feed-forward layer. tp-opt and tp-run are those in PATH.

Run with names, only those models are checked."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import compare_outputs
import safetensors.numpy
import safetensors.torch
import torch
import transformers
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

import tp_export

# A machine without a device has no stream that could be captured.
torch.cuda.is_current_stream_capturing = lambda: False

BATCH, TOKENS, TARGETS = 2, 7, 5
SIZES = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2,
         "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 32}
GROUPED = SIZES | {"num_key_value_heads": 2}
SEQ2SEQ = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
           "encoder_attention_heads": 4, "decoder_attention_heads": 4,
           "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}

COLUMNS = re.compile(r"\.([qkv]|[qkv]_proj|qkv_proj|gate_up_proj|query|key|value|gate_proj|up_proj|fc1|wi|"
                     r"intermediate\.dense)\.weight$")
ROWS = re.compile(r"\.(o|o_proj|out_proj|output\.dense|down_proj|fc2|wo)\.weight$")


def make_tokens(count):
    return torch.randint(3, SIZES["vocab_size"], (BATCH, count))


def make_padding():
    """Of which the second row has two tokens."""
    mask = torch.ones(BATCH, TOKENS, dtype=torch.int64)
    mask[1, 5:] = 0
    return mask


# For each: the class, its configuration, inputs, and of how many rows of every sequence an
# expert has how many sums. What comes before the layers of ViT and Whisper is shared out
# here, too, and gathered, which is half a sum. Numbers of f32; of bf16 each is half of one.
ZOO = {
    # A step at the fourth token, with caches in buffers that are cut by heads. It is first,
    # as torch.export's strict mode fails once torchax is imported.
    "llama-cached": ("LlamaForCausalLM", GROUPED, (), {0.5: 4}),
    "llama": ("LlamaForCausalLM", GROUPED, ("input_ids", "attention_mask"), {TOKENS: 4}),
    "llama-eager": ("LlamaForCausalLM", GROUPED | {"attn_implementation": "eager"},
                    ("input_ids", "attention_mask"), {TOKENS: 4}),
    "llama-bf16": ("LlamaForCausalLM", GROUPED, ("input_ids", "attention_mask"),
                   {TOKENS: 2}),
    "qwen3": ("Qwen3ForCausalLM", GROUPED | {"head_dim": 8}, ("input_ids",), {TOKENS: 4}),
    # q, k and v are one matrix, and so are gate and up.
    "phi3": ("Phi3ForCausalLM", GROUPED | {"pad_token_id": 0}, ("input_ids", "attention_mask"),
             {TOKENS: 4}),
    "mistral": ("MistralForCausalLM", GROUPED | {"sliding_window": 4}, ("input_ids",),
                {TOKENS: 4}),
    # Its scores go through tanh, which tp.attention has not.
    "gemma2": ("Gemma2ForCausalLM", GROUPED | {"head_dim": 8, "sliding_window": 4},
               ("input_ids",), {TOKENS: 4}),
    # Only its attention is cut.
    "mixtral": ("MixtralForCausalLM", GROUPED | {"num_local_experts": 4,
                "experts_implementation": "batched_mm"}, ("input_ids",), {TOKENS: 2}),
    # Experts by products of groups; norms over all heads want a number of each token.
    "olmoe": ("OlmoeForCausalLM", GROUPED | {"num_experts": 4, "num_experts_per_tok": 2},
              ("input_ids",), {TOKENS: 4, TOKENS / 32: 4}),
    # Rotates by complex numbers.
    "llama4": ("Llama4ForCausalLM", GROUPED | {
        "head_dim": 8, "num_local_experts": 4, "intermediate_size_mlp": 48,
        "attention_chunk_size": 4}, ("input_ids",), {TOKENS: 4}),
    "bert": ("BertModel", SIZES, ("input_ids", "attention_mask"), {TOKENS: 4}),
    "bert-bf16": ("BertModel", SIZES, ("input_ids", "attention_mask"), {TOKENS: 2}),
    # A bias of positions is added to its scores, but for those of the other sequence.
    "t5": ("T5Model", {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 48,
                       "num_layers": 2, "num_heads": 4},
           ("input_ids", "decoder_input_ids"), {TOKENS: 4, TARGETS: 6}),
    "whisper": ("WhisperModel", SEQ2SEQ | {
        "vocab_size": 64, "num_mel_bins": 8, "max_source_positions": 10,
        "max_target_positions": 16, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2, "decoder_start_token_id": 1},
        ("input_features", "decoder_input_ids"), {10: 4.5, TARGETS: 6}),
    "vit": ("ViTModel", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                         "intermediate_size": 48, "image_size": 32, "patch_size": 8},
            ("pixel_values",), {17: 4, 16: 0.5}),
}
# Softmaxes that are no attention's, or that of one which tp.attention has not.
UNRAISED = {"gemma2": 2, "mixtral": 2, "olmoe": 2, "t5": 4}
CONTEXT = 16
INPUTS = {"input_ids": lambda: make_tokens(TOKENS),
          "decoder_input_ids": lambda: make_tokens(TARGETS), "attention_mask": make_padding,
          "pixel_values": lambda: torch.randn(BATCH, 3, 32, 32),
          "input_features": lambda: torch.randn(BATCH, 8, 20)}


def make(name):
    """A module and its inputs by name."""
    kind, sizes, inputs, _ = ZOO[name]
    sizes = dict(sizes)
    attention = sizes.pop("attn_implementation", None)
    model_class = getattr(transformers, kind)
    config = model_class.config_class(use_cache=False, **sizes)
    if attention:
        config._attn_implementation = attention
    torch.manual_seed(0)
    module = model_class(config).eval()
    # Larger than they are at the start of training, so that all of it counts.
    for weight in module.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.2)
    if name.endswith("-bf16"):
        module = module.to(torch.bfloat16)
    return module, {name: INPUTS[name]() for name in inputs}


def make_cached(name):
    """A module that decodes with a static cache, a program of it, and its inputs."""
    module, _ = make(name)
    for config in (module.config, module.generation_config):
        config.use_cache = True
    module.generation_config.cache_implementation = "static"
    module = TorchExportableModuleWithStaticCache(module, batch_size=1, max_cache_len=CONTEXT,
                                                  device="cpu").eval()
    for key, cache in get_caches(module).items():
        if cache.dim() == 4:
            cache.normal_()
    inputs = {"input_ids": torch.tensor([[5]]), "cache_position": torch.tensor([3])}
    # Caches that are written to in place want no gradients.
    with torch.no_grad():
        return module, torch.export.export(module, (), inputs, strict=True), inputs


def get_caches(module):
    return {key: value for key, value in module.named_buffers()
            if re.match("(key|value)_cache|cumulative_length", key)}


def write(name, folder):
    if name.endswith("-cached"):
        module, program, inputs = make_cached(name)
        tp_export.export_torch(program, to=folder)
    else:
        module, inputs = make(name)
        tp_export.export_torch(module, to=folder, kwargs=inputs)
    with torch.no_grad():
        outputs = module(**inputs)
    if isinstance(outputs, torch.Tensor):
        outputs = {"result": outputs} | get_caches(module)
    else:
        outputs = {f"result.{key}": value for key, value in outputs.items()}
    for file, tensors in (("in", inputs), ("out", outputs)):
        # As JAX has no larger integers.
        tensors = {key: value.to(torch.int32) if value.dtype == torch.int64 else value
                   for key, value in tensors.items()}
        safetensors.torch.save_file({key: value.contiguous() for key, value in tensors.items()},
                                    folder / f"{file}.safetensors")
    plan = {key: [["model"], []] if COLUMNS.search(key) else [[], ["model"]]
            for key, value in module.named_parameters()
            if value.dim() == 2 and (COLUMNS.search(key) or ROWS.search(key))}
    plan |= {key: [[], ["model"], [], []] for key, value in module.named_buffers()
             if key.startswith(("key_cache", "value_cache"))}
    (folder / "plan.json").write_text(json.dumps(plan))
    return list(inputs)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done


def check(name, folder):
    """What is wrong with a model, or nothing."""
    inputs = write(name, folder)
    program, shard = folder / "model.mlir", f"mesh=model=2 plan={folder}/plan.json"
    sharded = run("tp-opt", program, f"--tp-shard={shard}", f"--tp-report={folder}/report.json",
                  "-o", "-").stdout
    (function,) = json.loads((folder / "report.json").read_text())["functions"]
    expert = sum(sums * rows for rows, sums in ZOO[name][3].items()) * BATCH * 32 * 4
    sent = sum(c["times"] * c["wire_bytes"] for c in function["collectives"])
    if sent > expert:
        return f"{sent} bytes are sent, by an expert {expert}"
    softmaxes = len(re.findall(r"= tp\.softmax ", sharded))
    if softmaxes != UNRAISED.get(name, 0):
        return f"{softmaxes} softmaxes remain"
    printed = run("tp-run", program, f"--shard={shard}", f"--weights={folder}", "--print",
                  *(f"--input={key}={folder}/in.safetensors" for key in inputs)).stdout
    wanted = safetensors.numpy.load_file(folder / "out.safetensors")
    got = compare_outputs.read_printed(printed)
    if wanted.keys() != got.keys():
        return f"outputs {sorted(got)}, wanted {sorted(wanted)}"
    difference = compare_outputs.get_difference(wanted, got)
    if not difference <= (3e-2 if name.endswith("-bf16") else 1e-4):
        return f"outputs differ by {difference} of their largest"
    return None


def main():
    failures = 0
    names = sys.argv[1:] or ZOO
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
