# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a small PyTorch model, and what PyTorch computes of it.

    torch_program.py encoder|decoder|cached|pooled FOLDER

Into FOLDER go model.mlir and model.safetensors (its weights), in.safetensors (its
inputs), out.safetensors, and plan.json, Megatron's cuts of it. The encoder is made of
torch's own layers, the decoder written as decoders are: rotary positions, grouped
queries, a causal mask. `cached` is the decoder with caches of keys and values in its
buffers, at the fourth and fifth token. `pooled` classifies images by a convolution
and a max pool, which also finds places that nobody uses."""

import json
import pathlib
import sys

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/export"))
import tp_export  # noqa: E402

VOCABULARY, HIDDEN, HEADS, KV_HEADS, FEED, LAYERS = 40, 32, 4, 2, 48, 2
CONTEXT = 9


# Of weights that are stored [out, in].
COLUMNS, ROWS, CUT = [["model"], []], [[], ["model"]], [["model"]]
# Caches are [batch, head, position, feature].
HEADS_OF_CACHE = [[], ["model"], [], []]
PLANS = {
    "encoder": {"layers.layers.*.linear1.weight": COLUMNS,
                "layers.layers.*.linear1.bias": CUT,
                "layers.layers.*.linear2.weight": ROWS,
                "tokens.weight": COLUMNS},
    "decoder": {"layers.*.q_proj.weight": COLUMNS, "layers.*.k_proj.weight": COLUMNS,
                "layers.*.v_proj.weight": COLUMNS, "layers.*.o_proj.weight": ROWS,
                "layers.*.gate_proj.weight": COLUMNS, "layers.*.up_proj.weight": COLUMNS,
                "layers.*.down_proj.weight": ROWS,
                "embed.weight": COLUMNS, "lm_head.weight": COLUMNS},
}
PLANS["pooled"] = {"0.weight": [["model"], [], [], []], "0.bias": CUT, "4.weight": ROWS}
PLANS["cached"] = PLANS["decoder"] | {"layers.*.keys": HEADS_OF_CACHE,
                                      "layers.*.values": HEADS_OF_CACHE}


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.positions = nn.Embedding(16, HIDDEN)
        layer = nn.TransformerEncoderLayer(HIDDEN, HEADS, FEED, activation="gelu",
                                           batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)

    def forward(self, tokens, mask):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.layers(x, src_key_padding_mask=mask)


def rotate(x, positions):
    """Of [batch, head, sequence, feature]."""
    half = x.shape[-1] // 2
    frequency = 1 / 10000 ** (torch.arange(half) / half)
    angle = positions[:, None] * frequency
    cos, sin = angle.cos(), angle.sin()
    x1, x2 = x[..., :half], x[..., half:]
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)


class DecoderLayer(nn.Module):
    def __init__(self, cached):
        super().__init__()
        head = HIDDEN // HEADS
        self.cached = cached
        if cached:
            for name in ("keys", "values"):
                self.register_buffer(name, torch.randn(2, KV_HEADS, CONTEXT, head))
        self.input_norm, self.post_norm = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)
        self.q_proj = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KV_HEADS * head, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KV_HEADS * head, bias=False)
        self.o_proj = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.gate_proj = nn.Linear(HIDDEN, FEED, bias=False)
        self.up_proj = nn.Linear(HIDDEN, FEED, bias=False)
        self.down_proj = nn.Linear(FEED, HIDDEN, bias=False)

    def attend(self, q, k, v, positions):
        q, k = rotate(q, positions), rotate(k, positions)
        if not self.cached:
            repeat = (t.repeat_interleave(HEADS // KV_HEADS, dim=1) for t in (k, v))
            return F.scaled_dot_product_attention(q, *repeat, is_causal=True)
        self.keys[:, :, positions] = k
        self.values[:, :, positions] = v
        seen = torch.arange(CONTEXT) <= positions[:, None]
        return F.scaled_dot_product_attention(q, self.keys, self.values, seen,
                                              enable_gqa=True)

    def forward(self, x, positions):
        y = self.input_norm(x)
        batch, sequence, _ = x.shape
        q, k, v = (p(y).view(batch, sequence, -1, HIDDEN // HEADS).transpose(1, 2)
                   for p in (self.q_proj, self.k_proj, self.v_proj))
        mixed = self.attend(q, k, v, positions)
        x = x + self.o_proj(mixed.transpose(1, 2).reshape(batch, sequence, HIDDEN))
        y = self.post_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))


class Decoder(nn.Module):
    def __init__(self, cached=False):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(DecoderLayer(cached) for _ in range(LAYERS))
        self.norm = nn.RMSNorm(HIDDEN)
        self.lm_head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, tokens, positions=None):
        if positions is None:
            positions = torch.arange(tokens.shape[1])
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, positions)
        return self.lm_head(self.norm(x))


def main():
    torch.manual_seed(1)
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    tokens = torch.randint(0, VOCABULARY, (2, 7))
    if kind == "encoder":
        # The last two tokens of the second row are padding.
        mask = torch.zeros((2, 7), dtype=torch.bool)
        mask[1, 5:] = True
        model, inputs = Encoder(), {"tokens": tokens, "mask": mask}
    elif kind == "decoder":
        model, inputs = Decoder(), {"tokens": tokens}
    elif kind == "pooled":
        model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(8 * 4 * 3, 10))
        inputs = {"input": torch.randn(2, 3, 8, 7)}
    else:
        model = Decoder(cached=True)
        inputs = {"tokens": tokens[:, :2], "positions": torch.tensor([3, 4])}
    (folder / "plan.json").write_text(json.dumps(PLANS[kind]))
    model.eval()
    # Of the module as it is now, before it writes to its buffers.
    tp_export.export_torch(model, to=folder, kwargs=inputs)
    with torch.no_grad():
        outputs = {"result": model(**inputs)} | dict(model.named_buffers())
    # As JAX has no larger integers.
    inputs = {name: value.to(torch.int32) if value.dtype == torch.int64 else value
              for name, value in inputs.items()}
    for name, tensors in (("in", inputs), ("out", outputs)):
        safetensors.torch.save_file(tensors, folder / f"{name}.safetensors")


if __name__ == "__main__":
    main()
