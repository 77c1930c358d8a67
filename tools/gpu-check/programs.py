# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is packed to be measured: layers, attention alone, one large product; and
what each of their steps has to move and to compute.

A layer is measured in a model of a few of them with a vocabulary of 128, whose share
of the time is a thousandth, on both sides. One rank's shard of a sharded layer is the
layer of a smaller model: 64 heads on 8 ranks are 8 heads, and of 28,672 features of
the feed-forward 3,584 are left, while the hidden size stays. So its two all-reduces,
which one GPU cannot show, are left out, and nothing else."""

import dataclasses
import math
import re

from peers import WARM_UP

MODEL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
         "vocab_size": 128, "hidden_act": "silu", "rms_norm_eps": 1e-5,
         "rope_theta": 500000.0, "max_position_embeddings": 131072,
         "tie_word_embeddings": False}
BYTES = {"bf16": 2, "f16": 2, "f32": 4, "i32": 4, "i64": 8, "f64": 8, "i1": 1, "i8": 1}


def get_shard(hidden, heads, kv_heads, features, inner, layers):
    return {**MODEL, "hidden_size": hidden, "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "head_dim": features,
            "intermediate_size": inner, "num_hidden_layers": layers}


@dataclasses.dataclass
class Sizes:
    shards: dict       # name: config
    prefill: tuple     # tokens
    decode: tuple      # sequences
    cache: int         # positions, all of which are attended to
    attention: tuple   # (sequences, positions, heads, heads of keys, features)
    square: int        # rows and columns of the product that measures the GPU
    copied: int        # bytes of the copy that does
    telling: int       # bytes; a kernel that moves less is not judged by its speed
    too_large: int     # sequences whose cache no GPU holds
    warm_up: float     # seconds before times are taken


FULL = Sizes(
    {"8B": get_shard(4096, 32, 8, 128, 14336, 4),
     "70B/8": get_shard(8192, 8, 1, 128, 3584, 4)},
    (2048, 8192), (1, 8, 64), 8192,
    # As much to do in each, so that starting it does not count.
    ((8, 2048, 32, 8, 64), (1, 8192, 32, 8, 64),
     (4, 2048, 32, 8, 128), (1, 8192, 32, 8, 128)), 8192, 1 << 30, 1 << 26, 1 << 16, WARM_UP)
# For a GPU that is none.
TINY = Sizes(
    {"tiny": get_shard(64, 4, 2, 16, 96, 2)}, (24,), (2,), 32,
    ((1, 24, 4, 2, 16),), 32, 1 << 20, 0, 1 << 20, 0.01)


@dataclasses.dataclass
class Case:
    """A layer to measure, as peers are told, too."""
    shard: str
    config: dict
    phase: str
    batch: int
    tokens: int  # of each sequence: the prompt's, or what the cache holds
    dtype: str = "bf16"

    @property
    def name(self):
        what = f"{self.tokens}" if self.phase == "prefill" else f"batch {self.batch}"
        return f"{self.shard} {self.phase} {what}"

    @property
    def file(self):
        return "layer-" + re.sub(r"\W+", "-", self.name)

    @property
    def options(self):
        """Of the import."""
        length = (f"logits=last sequence={self.tokens}" if self.phase == "prefill"
                  else f"cache={self.tokens}")
        return f"phase={self.phase} batch={self.batch} {length} dtype={self.dtype}"

    @property
    def inputs(self):
        """Of tp-run: a token is decoded at the end of the cache."""
        return [] if self.phase == "prefill" else [f"--input=position={self.tokens - 1}"]

    def get_layer_cost(self):
        """The bytes that have to be moved for one layer, and its operations."""
        c = self.config
        hidden, features = c["hidden_size"], c["head_dim"]
        heads, kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        size = BYTES[self.dtype]
        weights = hidden * (features * (2 * heads + 2 * kv_heads) + 3 * c["intermediate_size"])
        rows = self.batch * (self.tokens if self.phase == "prefill" else 1)
        keys = (self.tokens + 1) / 2 if self.phase == "prefill" else self.tokens
        moved = weights + 2 * rows * hidden  # what comes in and goes out
        if self.phase == "decode":
            moved += 2 * self.batch * self.tokens * kv_heads * features
        return moved * size, 2 * rows * (weights + 2 * keys * heads * features)


def get_cases(sizes):
    """The most telling first: time may run out."""
    phases = [("decode", 1, sizes.cache)] if 1 in sizes.decode else []
    phases += [("prefill", 1, tokens) for tokens in sizes.prefill]
    phases += [("decode", batch, sizes.cache) for batch in sizes.decode if batch != 1]
    return [Case(name, config, *phase)
            for phase in phases for name, config in sizes.shards.items()]


def get_attention_name(attention):
    return "attention-" + "x".join(map(str, attention))


def get_attention(batch, positions, heads, kv_heads, features):
    """Causal attention of whole sequences, by itself."""
    query = f"tensor<{batch}x{positions}x{kv_heads}x{heads // kv_heads}x{features}xbf16>"
    key = f"tensor<{batch}x{positions}x{kv_heads}x{features}xbf16>"
    return f"""
func.func @main(%q: {query} {{tp.name = "q"}}, %k: {key} {{tp.name = "k"}},
                %v: {key} {{tp.name = "v"}}) -> ({query} {{tp.name = "y"}}) {{
  %y = tp.attention %q, %k, %v {{causal, scale = {1 / math.sqrt(features)} : f64}}
      : ({query}, {key}, {key}) -> {query}
  return %y : {query}
}}
"""


# As little as a program can do.
NEGATION = """
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> (tensor<8xf32> {tp.name = "y"}) {
  %y = tp.neg %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
"""


# One of each kind that cuBLASLt has: with a bias and a relu, with a residual, of one
# row and a weight that is brought along k, and in batches.
FLOAT8 = """
func.func @main(%x: tensor<37x512xf8E4M3FN> {tp.name = "x"},
                %w: tensor<1024x512xf8E4M3FN> {tp.name = "w"}, %b: tensor<1024xbf16> {tp.name = "b"},
                %v: tensor<256x512xf8E4M3FN> {tp.name = "v"}, %r: tensor<37x256xf32> {tp.name = "r"},
                %u: tensor<512x48xf8E4M3FN> {tp.name = "u"},
                %q: tensor<3x37x64xf8E4M3FN> {tp.name = "q"}, %k: tensor<3x80x64xf8E4M3FN> {tp.name = "k"})
    -> (tensor<37x1024xbf16> {tp.name = "bias"}, tensor<37x256xf32> {tp.name = "residual"},
        tensor<1x48xf32> {tp.name = "row"}, tensor<3x37x80xf16> {tp.name = "batch"}) {
  %0 = tp.einsum "md,ed->me" %x, %w : (tensor<37x512xf8E4M3FN>, tensor<1024x512xf8E4M3FN>) -> tensor<37x1024xbf16>
  %1 = tp.broadcast %b dims = [1] : tensor<1024xbf16> -> tensor<37x1024xbf16>
  %2 = tp.add %0, %1 : tensor<37x1024xbf16>
  %bias = tp.relu %2 : tensor<37x1024xbf16>
  %3 = tp.einsum "md,ed->me" %x, %v : (tensor<37x512xf8E4M3FN>, tensor<256x512xf8E4M3FN>) -> tensor<37x256xf32>
  %residual = tp.add %3, %r : tensor<37x256xf32>
  %4 = tp.slice %x starts = [5, 0] strides = [1, 1] : tensor<37x512xf8E4M3FN> -> tensor<1x512xf8E4M3FN>
  %row = tp.einsum "md,de->me" %4, %u : (tensor<1x512xf8E4M3FN>, tensor<512x48xf8E4M3FN>) -> tensor<1x48xf32>
  %batch = tp.einsum "hmd,hed->hme" %q, %k : (tensor<3x37x64xf8E4M3FN>, tensor<3x80x64xf8E4M3FN>) -> tensor<3x37x80xf16>
  return %bias, %residual, %row, %batch : tensor<37x1024xbf16>, tensor<37x256xf32>, tensor<1x48xf32>, tensor<3x37x80xf16>
}
"""


# Each form of kernel that sorts fall into: counting, tiles, parts, and both merges.
SORTS = """
func.func @main(%x: tensor<3x10007xf32> {tp.name = "x"}, %e: tensor<64x32xbf16> {tp.name = "e"},
                %m: tensor<64x200xf64> {tp.name = "m"})
    -> (tensor<3x50xf32> {tp.name = "top"}, tensor<3x50xi32>,
        tensor<3x10007xf32> {tp.name = "all"}, tensor<3x10007xi32>,
        tensor<64x4xbf16> {tp.name = "experts"}, tensor<64x4xi32>,
        tensor<64x8xf64> {tp.name = "few"}, tensor<64x8xi32>) {
  %0, %1 = tp.top_k %x : tensor<3x10007xf32> -> tensor<3x50xf32>, tensor<3x50xi32>
  %2, %3 = tp.sort %x dim = 1 : tensor<3x10007xf32> -> tensor<3x10007xf32>, tensor<3x10007xi32>
  %4, %5 = tp.top_k %e : tensor<64x32xbf16> -> tensor<64x4xbf16>, tensor<64x4xi32>
  %6, %7 = tp.top_k %m : tensor<64x200xf64> -> tensor<64x8xf64>, tensor<64x8xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7
      : tensor<3x50xf32>, tensor<3x50xi32>, tensor<3x10007xf32>, tensor<3x10007xi32>,
        tensor<64x4xbf16>, tensor<64x4xi32>, tensor<64x8xf64>, tensor<64x8xi32>
}
"""


# Steps of one rank with a communicator, which the compiler would leave out: NCCL makes a
# group, registers its memory, and sums in a graph of two streams.
ONE_RANK_SUM = """
module attributes {tp.plan = #tp.plan<target = "cuda">} {
  spmd.mesh @mesh <["model"=1]>
  step.program @main on @mesh
      inputs [#step.input<"x", input, tensor<4096xf32, #spmd.local<@mesh, [{"model"}], global=[4096]>>>]
      outputs [#step.output<"y", tensor<4096xf32, #spmd.local<@mesh, [{}], global=[4096]>>>] arena 16384 {
  ^bb0(%x: memref<4096xf32>, %y: memref<4096xf32>):
    %partial = step.alloc at 0 : memref<4096xf32>
    step.rows [4096] reads(%x : memref<4096xf32>) writes(%partial : memref<4096xf32>) {
    ^bb0(%from: memref<4096xf32>, %to: memref<4096xf32>):
      %0 = step.load %from : memref<4096xf32>
      %1 = math.tanh %0 : f32
      step.store %1 to %to : f32, memref<4096xf32>
    }
    %sum = step.collective_start all_reduce sum <{"model"}> %partial to %partial : memref<4096xf32> to memref<4096xf32>
    step.collective_done %sum
    step.rows [4096] reads(%partial : memref<4096xf32>) writes(%y : memref<4096xf32>) {
    ^bb0(%from: memref<4096xf32>, %to: memref<4096xf32>):
      %0 = step.load %from : memref<4096xf32>
      %1 = math.tanh %0 : f32
      step.store %1 to %to : f32, memref<4096xf32>
    }
  }
}
"""
# What it computes.
TANH_OF_TANH = """
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> (tensor<4096xf32> {tp.name = "y"}) {
  %0 = tp.tanh %x : tensor<4096xf32>
  %y = tp.tanh %0 : tensor<4096xf32>
  return %y : tensor<4096xf32>
}
"""


def get_typed_product(dtype):
    return f"""
func.func @main(%a: tensor<48x64x{dtype}> {{tp.name = "a"}}, %b: tensor<64x80x{dtype}> {{tp.name = "b"}})
    -> (tensor<48x80x{dtype}> {{tp.name = "y"}}) {{
  %y = tp.einsum "mk,kn->mn" %a, %b : (tensor<48x64x{dtype}>, tensor<64x80x{dtype}>) -> tensor<48x80x{dtype}>
  return %y : tensor<48x80x{dtype}>
}}
"""


def get_product(size):
    square = f"tensor<{size}x{size}xbf16>"
    return f"""
func.func @main(%a: {square} {{tp.name = "a"}}, %b: {square} {{tp.name = "b"}})
    -> ({square} {{tp.name = "y"}}) {{
  %y = tp.einsum "mk,nk->mn" %a, %b : ({square}, {square}) -> {square}
  return %y : {square}
}}
"""


def read_buffer(text):
    """Of `memref<8x64xbf16, strided<..>>`: its sizes, those of them that are not one
    element again and again, and the bytes of an element."""
    shape, _, layout = text[len("memref<"):].partition(", strided<[")
    *sizes, dtype = shape.rstrip(">").split("x")
    sizes = [int(size) for size in sizes]
    strides = ([int(stride) for stride in layout.partition("]")[0].split(", ")]
               if layout else [1] * len(sizes))
    return sizes, [n for n, stride in zip(sizes, strides) if stride], BYTES[dtype]


MEMREF = re.compile(r"memref<[^<>]*(?:<[^<>]*>)?[^<>]*>")
# Not in the body of another.
STEP = re.compile(r"^    (?:%\w+(?:, %\w+)* = )?step\.(\w+) ?(.*)$", re.MULTILINE)
# A row program of a step.together.
PART = re.compile(r"^      step\.rows (.*)$", re.MULTILINE)
NO_WORK = {"constant", "view", "alloc", "bundle", "return"}


def get_rows_cost(text):
    """A value that many elements share is read once. What is looked up, or written at
    a place that is computed, is as much as there are elements to do."""
    shape = [int(n) for n in re.match(r"\[([\d, ]*)\]", text)[1].split(", ")]
    moved = 0
    for memref in MEMREF.findall(text):
        sizes, distinct, size = read_buffer(memref)
        moved += min(math.prod(distinct), math.prod(shape)) * size
    return f"rows {shape}", moved, 0


def get_together_cost(text):
    parts = [get_rows_cost(part) for part in PART.findall(text)]
    return " and ".join(label for label, _, _ in parts), sum(moved for _, moved, _ in parts), 0


def get_matmul_cost(text):
    buffers = [read_buffer(memref) for memref in MEMREF.findall(text)]
    (*batches, m, k), n = buffers[-3][0], buffers[-1][0][-1]
    batch = math.prod(batches)
    # A residual or a bias among them.
    moved = sum(math.prod(distinct) * size for _, distinct, size in buffers)
    return f"matmul {m}x{k}x{n}", moved, 2 * batch * m * n * k


def get_attention_cost(text):
    """Of the whole cache, where there is one: it is measured at its end."""
    query, key, value, _ = map(read_buffer, MEMREF.findall(text)[-4:])
    batch, rows, kv_heads, group, features = query[0]
    keys = key[0][1]
    is_whole = rows == keys and "causal" in text
    moved = sum(math.prod(sizes) * size for _, sizes, size in (query, query, key, value))
    seen = (keys + 1) / 2 if is_whole else keys
    return (f"attention {query[0]}", moved,
            4 * batch * rows * kv_heads * group * features * seen)


COSTS = {"rows": get_rows_cost, "matmul": get_matmul_cost, "attention": get_attention_cost}


def read_costs(text):
    """Of a program of steps: each step's label, bytes and operations, in order."""
    costs = []
    steps = list(STEP.finditer(text))
    ends = [step.start() for step in steps[1:]] + [len(text)]
    for step, end in zip(steps, ends):
        kind, rest = step.groups()
        if kind == "together":  # a kernel of rows, like others
            costs.append(("rows", *get_together_cost(text[step.start():end])))
        elif kind in COSTS:
            costs.append((kind, *COSTS[kind](rest)))
        elif kind not in NO_WORK:
            costs.append((kind, kind, 0, 0))
    return costs
