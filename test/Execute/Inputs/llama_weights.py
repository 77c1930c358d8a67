#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes DIR/model.safetensors for the Llama of DIR/config.json: random numbers,
always the same, large enough that every layer has a say in the next token."""

import array
import json
import pathlib
import random
import sys

folder = pathlib.Path(sys.argv[1])
config = json.loads((folder / "config.json").read_text())
hidden, ffn = config["hidden_size"], config["intermediate_size"]
head = config["head_dim"]
queries = config["num_attention_heads"] * head
keys = config["num_key_value_heads"] * head
shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden],
          "model.norm.weight": [hidden]}
for layer in range(config["num_hidden_layers"]):
    for name, shape in {
            "input_layernorm": [hidden], "post_attention_layernorm": [hidden],
            "self_attn.q_proj": [queries, hidden],
            "self_attn.k_proj": [keys, hidden],
            "self_attn.v_proj": [keys, hidden],
            "self_attn.o_proj": [hidden, queries],
            "mlp.gate_proj": [ffn, hidden], "mlp.up_proj": [ffn, hidden],
            "mlp.down_proj": [hidden, ffn]}.items():
        shapes[f"model.layers.{layer}.{name}.weight"] = shape

draw = random.Random(1)
header, data = {}, array.array("f")
for name, shape in shapes.items():
    begin, scale = 4 * len(data), shape[-1] ** -0.5 * 2 if len(shape) > 1 else 1
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    data.extend(draw.gauss(0, scale) for _ in range(count))
    header[name] = {"dtype": "F32", "shape": shape,
                    "data_offsets": [begin, 4 * len(data)]}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
(folder / "model.safetensors").write_bytes(
    len(text).to_bytes(8, "little") + text + data.tobytes())
