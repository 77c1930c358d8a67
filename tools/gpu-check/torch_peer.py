# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers in PyTorch, as who wants speed writes them: one product for query, key
and value, one for the two halves of the feed-forward, a static cache, and the fastest
of scaled_dot_product_attention's backends, which is found first.

The peer has it easier than we: it knows that the token is decoded at the end of the
cache, and so needs no mask."""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import peers

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}
MODES = ("max-autotune-no-cudagraphs", "reduce-overhead")


def attend(query, key, value, is_causal):
    return F.scaled_dot_product_attention(
        query, key, value, is_causal=is_causal, enable_gqa=query.shape[1] != key.shape[1])


def rotate(x, cosine, sine):
    first, second = x.float().chunk(2, -1)
    return torch.cat((first * cosine - second * sine,
                      second * cosine + first * sine), -1).to(x.dtype)


class Norm(nn.Module):
    def __init__(self, weight, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(weight), epsilon

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)
        return (wide * self.weight.float()).to(x.dtype)


class Layer(nn.Module):
    def __init__(self, config, prefix, read, cache):
        super().__init__()
        self.heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.features, inner = config["head_dim"], config["intermediate_size"]
        hidden = config["hidden_size"]
        rows, kv_rows = self.heads * self.features, self.kv_heads * self.features

        def get(name, *shape):
            return read(f"{prefix}.{name}.weight", shape)

        def norm(name):
            return Norm(get(name, hidden), config["rms_norm_eps"])

        self.input_norm, self.inner_norm = norm("input_layernorm"), norm("post_attention_layernorm")
        self.qkv = nn.Parameter(torch.cat((
            get("self_attn.q_proj", rows, hidden), get("self_attn.k_proj", kv_rows, hidden),
            get("self_attn.v_proj", kv_rows, hidden))))
        self.out = nn.Parameter(get("self_attn.o_proj", hidden, rows))
        self.gate_up = nn.Parameter(torch.cat((
            get("mlp.gate_proj", inner, hidden), get("mlp.up_proj", inner, hidden))))
        self.down = nn.Parameter(get("mlp.down_proj", hidden, inner))
        if cache:
            batch, positions = cache
            for name in ("keys", "values"):
                self.register_buffer(name, torch.zeros(
                    batch, self.kv_heads, positions, self.features,
                    dtype=self.qkv.dtype, device=self.qkv.device))
        self.has_cache = bool(cache)

    def split(self, x):
        """[batch, heads, tokens, features]"""
        batch, tokens, _ = x.shape
        rows, kv_rows = self.heads * self.features, self.kv_heads * self.features
        parts = F.linear(x, self.qkv).split((rows, kv_rows, kv_rows), -1)
        return [part.view(batch, tokens, -1, self.features).transpose(1, 2) for part in parts]

    def forward(self, x, cosine, sine):
        batch, tokens, _ = x.shape
        query, key, value = self.split(self.input_norm(x))
        query, key = rotate(query, cosine, sine), rotate(key, cosine, sine)
        if self.has_cache:
            self.keys[:, :, -1:] = key
            self.values[:, :, -1:] = value
            # Heads that share keys are rows of one product.
            query = query.reshape(batch, self.kv_heads, -1, self.features)
            y = attend(query, self.keys, self.values, False)
            y = y.reshape(batch, tokens, -1)
        else:
            y = attend(query, key, value, True).transpose(1, 2).reshape(batch, tokens, -1)
        x = x + F.linear(y, self.out)
        gate, up = F.linear(self.inner_norm(x), self.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


class Model(nn.Module):
    """Logits of the last token. `read` gives a weight by its name in a checkpoint."""

    def __init__(self, case, read):
        super().__init__()
        config = case["config"]
        hidden, vocabulary = config["hidden_size"], config["vocab_size"]
        is_decode = case["phase"] == "decode"
        cache = (case["batch"], case["tokens"]) if is_decode else None
        self.table = nn.Parameter(read("model.embed_tokens.weight", (vocabulary, hidden)))
        self.layers = nn.ModuleList(
            Layer(config, f"model.layers.{i}", read, cache)
            for i in range(config["num_hidden_layers"]))
        self.norm = Norm(read("model.norm.weight", (hidden,)), config["rms_norm_eps"])
        self.head = nn.Parameter(read("lm_head.weight", (vocabulary, hidden)))
        half = config["head_dim"] // 2
        device = self.table.device
        rates = config["rope_theta"] ** -(torch.arange(half, device=device) / half)
        positions = torch.arange(case["tokens"] - 1 if is_decode else 0, case["tokens"],
                                 device=device)
        angles = torch.outer(positions.float(), rates)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens):
        x = self.table[tokens]
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return F.linear(self.norm(x[:, -1]), self.head).float()


def capture(model, tokens):
    """What the model does, without a compiler, as one graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        model(tokens)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(tokens)
    return graph.replay


class Answers(peers.Ways):
    def __init__(self):
        super().__init__()
        torch.set_grad_enabled(False)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.dtypes = {"bf16": torch.bfloat16, "f32": torch.float32}

    def hello(self):
        if self.device != "cuda":
            return {"error": f"torch {torch.__version__} finds no GPU"}
        return {"is": f"torch {torch.__version__}, CUDA {torch.version.cuda}"}

    def make_weight(self, name, shape, dtype):
        if name.endswith("norm.weight"):
            return torch.ones(shape, dtype=dtype, device=self.device)
        return torch.empty(shape, dtype=dtype, device=self.device).normal_(std=0.02)

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def prepare(self, case):
        self.calls = {}
        torch.compiler.reset()
        if self.device == "cuda":
            torch.cuda.empty_cache()
        torch.manual_seed(1)
        dtype = self.dtypes[case["dtype"]]
        model = Model(case, lambda name, shape: self.make_weight(name, shape, dtype)).eval()
        length = 1 if case["phase"] == "decode" else case["tokens"]
        tokens = torch.randint(case["config"]["vocab_size"], (case["batch"], length),
                               device=self.device)
        fastest = self.choose_backend(case, dtype) if self.device == "cuda" else None

        def use():
            return sdpa_kernel(BACKENDS[fastest]) if fastest else contextlib.nullcontext()

        def in_graph():
            with use():
                return capture(model, tokens)

        def by_compiler(mode):
            compiled = torch.compile(model, mode=mode, fullgraph=True)

            def step():
                with use():
                    compiled(tokens)
            for _ in range(3):
                step()
                self.wait()
            return step

        makers = {"eager": lambda: lambda: model(tokens)}
        if self.device == "cuda":
            makers = {"graph": in_graph,
                      **{mode: lambda mode=mode: by_compiler(mode) for mode in MODES}}
        return self.make_all({f"{name}, {fastest}" if fastest else name: make
                              for name, make in makers.items()})

    def time_attention(self, backend, shapes, dtype, is_causal, runs):
        """Microseconds on random heads of these shapes."""
        query, key, value = (torch.randn(shape, dtype=dtype, device=self.device)
                             for shape in shapes)
        with sdpa_kernel(BACKENDS[backend]):
            def step():
                attend(query, key, value, is_causal)
            return peers.time_calls(step, self.wait, runs)

    def choose_backend(self, case, dtype):
        """The fastest that works; if none does, PyTorch chooses."""
        config, batch, tokens = case["config"], case["batch"], case["tokens"]
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        features, is_prefill = config["head_dim"], case["phase"] == "prefill"
        query = (batch, heads, tokens, features) if is_prefill else (
            batch, kv_heads, heads // kv_heads, features)
        key = (batch, kv_heads, tokens, features)
        times = {}
        for backend in BACKENDS:
            with contextlib.suppress(RuntimeError):
                times[backend] = self.time_attention(
                    backend, (query, key, key), dtype, is_prefill, 10)
        return min(times, key=times.get, default=None)

    def attention(self, sizes, backend, runs):
        batch, positions, heads, kv_heads, features = sizes
        key = (batch, kv_heads, positions, features)
        shapes = ((batch, heads, positions, features), key, key)
        return {"us": self.time_attention(backend, shapes, torch.bfloat16, True, runs)}


if __name__ == "__main__":
    peers.serve(Answers())
