#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds plans of whole schemes against closed forms, for many meshes.

  oracle.py TP_OPT [SCHEME...]

Writes the graph of each scheme of section 9 of exam.md, with its backward pass
by hand, for t and d of 2, 3, 4 and 8, has it sharded, and compares what is
sent with the formula: kind, axes, payload and launches. Prints a line for each
and at last `same N, better M, worse 0`; `better` sends less, or as much in
fewer launches. Graphs of at most nine devices also run on simulated ones. Exits
with 1 if one is worse.
"""

import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import sys
import tempfile

from run import KINDS, SHARE, Failure, group_size, run

SIZES = (2, 3, 4, 8)


class Graph:
    """A program under construction; a value is (name, shape)."""

    def __init__(self, **mesh):
        self.mesh = mesh
        self.arguments, self.lines, self.results = [], [], []

    @staticmethod
    def type(shape, element="f32"):
        return f"tensor<{'x'.join(map(str, [*shape, element]))}>"

    @staticmethod
    def sharding(dims):
        lists = ", ".join("{" + ", ".join(f'"{axis}"' for axis in dim.split())
                          + "}" for dim in dims)
        return f"<@mesh, [{lists}]>"

    def argument(self, name, shape, dims, element="f32"):
        """`dims`: for each dimension its axes, `"d t"` or `""`."""
        self.arguments.append(
            f'%{name}: {self.type(shape, element)} {{tp.name = "{name}", '
            f"spmd.sharding = #spmd.sharding{self.sharding(dims)}}}")
        return name, tuple(shape)

    def result(self, value, dims):
        self.results.append((value, self.sharding(dims)))

    def op(self, text, shape, element="f32"):
        name = f"v{len(self.lines)}"
        self.lines.append(f"  %{name} = {text}")
        return name, tuple(shape)

    def einsum(self, equation, a, b):
        inputs, out = equation.split("->")
        size = {}
        for letters, (_, shape) in zip(inputs.split(","), (a, b)):
            size.update(zip(letters, shape))
        shape = [size[letter] for letter in out]
        return self.op(
            f'tp.einsum "{equation}" %{a[0]}, %{b[0]} : ({self.type(a[1])}, '
            f"{self.type(b[1])}) -> {self.type(shape)}", shape)

    def unary(self, name, a):
        return self.op(f"tp.{name} %{a[0]} : {self.type(a[1])}", a[1])

    def binary(self, name, a, b):
        return self.op(f"tp.{name} %{a[0]}, %{b[0]} : {self.type(a[1])}", a[1])

    def constant(self, value, shape):
        return self.op(f"tp.constant dense<{value}> : {self.type(shape)}", shape)

    def reduce(self, a, dims, kind="sum"):
        shape = [n for i, n in enumerate(a[1]) if i not in dims]
        return self.op(f"tp.reduce {kind} %{a[0]} dims = {list(dims)} : "
                       f"{self.type(a[1])} -> {self.type(shape)}", shape)

    def broadcast(self, a, dims, shape):
        return self.op(f"tp.broadcast %{a[0]} dims = {list(dims)} : "
                       f"{self.type(a[1])} -> {self.type(shape)}", shape)

    def softmax(self, a, dim):
        return self.op(f"tp.softmax %{a[0]} dim = {dim} : {self.type(a[1])}", a[1])

    def constrain(self, a, dims):
        return self.op(f"spmd.constraint %{a[0]} {self.sharding(dims)} : "
                       f"{self.type(a[1])}", a[1])

    def __str__(self):
        axes = ", ".join(f'"{name}"={size}' for name, size in self.mesh.items())
        types = ", ".join(f"{self.type(value[1])} {{spmd.sharding = "
                          f"#spmd.sharding{sharding}}}"
                          for value, sharding in self.results)
        values = ", ".join(f"%{value[0]}" for value, _ in self.results)
        plain = ", ".join(self.type(value[1]) for value, _ in self.results)
        arguments = ",\n    ".join(self.arguments)
        body = "\n".join(self.lines)
        return (f"spmd.mesh @mesh <[{axes}]>\nfunc.func @main({arguments})\n"
                f"    -> ({types}) {{\n{body}\n"
                f"  return {values} : {plain}\n}}\n")


# -- layers, forward and backward ----------------------------------------------


class MLP:
    """y = tanh(x w1) w2."""

    def __init__(self, graph, h, f, s1, s2):
        self.graph, self.shardings = graph, (s1, s2)
        self.w1 = graph.argument("w1", (h, f), s1)
        self.w2 = graph.argument("w2", (f, h), s2)

    def forward(self, x):
        g = self.graph
        self.x = x
        self.a = g.unary("tanh", g.einsum("bsi,io->bso", x, self.w1))
        return g.einsum("bso,oi->bsi", self.a, self.w2)

    def backward(self, dy):
        """The gradient of x; those of the weights are results."""
        g = self.graph
        square = g.binary("mul", self.a, self.a)
        slope = g.binary("sub", g.constant("1.0", square[1]), square)
        dh = g.binary("mul", g.einsum("bsi,oi->bso", dy, self.w2), slope)
        g.result(g.einsum("bsi,bso->io", self.x, dh), self.shardings[0])
        g.result(g.einsum("bso,bsi->oi", self.a, dy), self.shardings[1])
        return g.einsum("bso,io->bsi", dh, self.w1)


class Attention:
    """Softmax attention over n heads of e features."""

    def __init__(self, graph, h, n, e, sharding, out, heads=None):
        """`heads`: what to constrain queries, keys, values and results to."""
        self.graph, self.shardings, self.heads = graph, (sharding, out), heads
        self.w = [graph.argument(name, (h, n, e), sharding)
                  for name in ("wq", "wk", "wv")]
        self.wo = graph.argument("wo", (n, e, h), out)

    def constrain(self, value):
        return self.graph.constrain(value, self.heads) if self.heads else value

    def forward(self, x):
        g = self.graph
        self.x = x
        self.q, self.k, self.v = (
            self.constrain(g.einsum("bsh,hne->bsne", x, w)) for w in self.w)
        self.p = g.softmax(g.einsum("bsne,btne->bnst", self.q, self.k), 3)
        self.o = self.constrain(g.einsum("bnst,btne->bsne", self.p, self.v))
        self.sent = self.o
        if self.heads:
            self.sent = g.constrain(self.o, ("", self.heads[2], "", ""))
        return g.einsum("bsne,neh->bsh", self.sent, self.wo)

    def backward(self, dy):
        g = self.graph
        do = self.constrain(g.einsum("bsh,neh->bsne", dy, self.wo))
        g.result(g.einsum("bsne,bsh->neh", self.sent, dy), self.shardings[1])
        dp = g.einsum("bsne,btne->bnst", do, self.v)
        row = g.reduce(g.binary("mul", self.p, dp), (3,))
        shifted = g.binary("sub", dp, g.broadcast(row, (0, 1, 2), dp[1]))
        ds = g.binary("mul", self.p, shifted)
        gradients = (g.einsum("bnst,btne->bsne", ds, self.k),
                     g.einsum("bnst,bsne->btne", ds, self.q),
                     g.einsum("bnst,bsne->btne", self.p, do))
        dx = None
        for gradient, w in zip(gradients, self.w):
            if self.heads:
                gradient = g.constrain(gradient, ("", self.heads[2], "", ""))
            g.result(g.einsum("bsh,bsne->hne", self.x, gradient),
                     self.shardings[0])
            part = g.einsum("bsne,hne->bsh", gradient, w)
            dx = g.binary("add", dx, part) if dx else part
        return dx


class Norm:
    """y = x / rms(x) * scale."""

    def __init__(self, graph, name, h, sharding):
        self.graph, self.sharding = graph, sharding
        self.scale = graph.argument(name, (h,), sharding)

    def mean(self, value):
        g = self.graph
        total = g.reduce(value, (2,))
        size = g.constant(f"{value[1][2]}.0", total[1])
        return g.binary("div", total, size)

    def spread(self, value):
        return self.graph.broadcast(value, (0, 1), self.shape)

    def forward(self, x):
        g = self.graph
        self.shape = x[1]
        mean = self.mean(g.binary("mul", x, x))
        epsilon = g.constant("0.1", mean[1])
        self.r = self.spread(g.unary("rsqrt", g.binary("add", mean, epsilon)))
        self.normal = g.binary("mul", x, self.r)
        self.wide = g.broadcast(self.scale, (2,), self.shape)
        return g.binary("mul", self.normal, self.wide)

    def backward(self, dy):
        g = self.graph
        g.result(g.reduce(g.binary("mul", dy, self.normal), (0, 1)),
                 self.sharding)
        d = g.binary("mul", dy, self.wide)
        mean = self.spread(self.mean(g.binary("mul", d, self.normal)))
        return g.binary("mul", self.r, g.binary(
            "sub", d, g.binary("mul", self.normal, mean)))


def layer(graph, shape, n, f, outer, attention, mlp, norm):
    """A pre-norm layer, forward and backward, with these shardings."""
    h = shape[2]
    x, dy = graph.argument("x", shape, outer), graph.argument("dy", shape, outer)
    norms = [Norm(graph, name, h, norm) for name in ("n1", "n2")]
    blocks = [Attention(graph, h, n, h // n, *attention), MLP(graph, h, f, *mlp)]
    y = x
    for scale, block in zip(norms, blocks):
        y = graph.binary("add", y, block.forward(scale.forward(y)))
    graph.result(y, outer)
    for scale, block in reversed(list(zip(norms, blocks))):
        dy = graph.binary("add", dy, scale.backward(block.backward(dy)))
    graph.result(dy, outer)


def alone(graph, shape, outer, block):
    """One block, forward and backward."""
    x, dy = graph.argument("x", shape, outer), graph.argument("dy", shape, outer)
    graph.result(block.forward(x), outer)
    graph.result(block.backward(dy), outer)


# -- schemes: a graph and what it may send -------------------------------------
#
# A row is (kind, axes, payload of all launches, launches). What does not wait
# for each other is one launch: all weights that are gathered, all gradients.

H, HEADS, F = 48, 24, 192  # divisible by all sizes
W_ATTENTION, W_MLP = 4 * H * H, 2 * H * F
W = W_ATTENTION + W_MLP


def megatron_mlp(t, d):
    g = Graph(d=d, t=t)
    alone(g, (2 * d, 24, H), ("d", "", ""), MLP(g, H, F, ("", "t"), ("t", "")))
    return g, [("AR", "t", 2 * 48 * H, 1), ("AR", "d", W_MLP // t, 1)]


def megatron_attention(t, d):
    g = Graph(d=d, t=t)
    alone(g, (2 * d, 24, H), ("d", "", ""),
          Attention(g, H, HEADS, H // HEADS, ("", "t", ""), ("t", "", "")))
    return g, [("AR", "t", 2 * 48 * H, 1), ("AR", "d", W_ATTENTION // t, 1)]


TENSOR = ((("", "t", ""), ("t", "", "")), (("", "t"), ("t", "")))


def tensor_parallel(t, d):
    g = Graph(d=d, t=t)
    layer(g, (2 * d, 24, H), HEADS, F, ("d", "", ""), *TENSOR, ("",))
    return g, [("AR", "t", 4 * 48 * H, 4), ("AR", "d", W // t + 2 * H, 1)]


def sequence_parallel(t, d):
    g = Graph(d=d, t=t)
    layer(g, (2 * d, 24, H), HEADS, F, ("d", "t", ""), *TENSOR, ("",))
    return g, [("AG", "t", 4 * 48 * H, 4), ("RS", "t", 4 * 48 * H, 4),
               ("AR", "t", 2 * H, 1), ("AR", "d", W // t + 2 * H, 1)]


def fsdp(d):
    g = Graph(d=d)
    layer(g, (8 * d, 48, H), HEADS, F, ("d", "", ""),
          (("d", "", ""), ("d", "", "")), (("d", ""), ("d", "")), ("d",))
    return g, [("AG", "d", W + 2 * H, 1), ("RS", "d", W + 2 * H, 1)]


def two_dimensional(t, d):
    g = Graph(d=d, t=t)
    layer(g, (3 * d, 24, H), HEADS, F, ("d", "", "t"),
          (("d", "t", ""), ("t", "", "d")), (("d", "t"), ("t", "d")), ("t",))
    tokens = 3 * 24
    return g, [("AG", "t", 4 * tokens * H, 4), ("RS", "t", 4 * tokens * H, 4),
               ("AG", "d", W // t, 1), ("RS", "d", W // t, 1),
               ("AR", "t", 2 * 2 * tokens, 4), ("AR", "d", 2 * H // t, 1)]


def experts(e):
    g = Graph(e=e)
    groups, tokens, number, capacity, f = e, 96, 24, 2, 96
    split = ("e", "", "")
    x, dy = (g.argument(name, (groups, tokens, H), split) for name in ("x", "dy"))
    masks = [g.argument(name, (groups, tokens, number, capacity), ("e", "", "", ""))
             for name in ("dispatch", "combine")]
    w1 = g.argument("w1", (number, H, f), split)
    w2 = g.argument("w2", (number, f, H), split)
    t = g.einsum("gsec,gsm->egcm", masks[0], x)
    a = g.unary("tanh", g.einsum("egcm,emf->egcf", t, w1))
    y = g.einsum("egcf,efm->egcm", a, w2)
    g.result(g.einsum("gsec,egcm->gsm", masks[1], y), split)
    do = g.einsum("gsec,gsm->egcm", masks[1], dy)
    square = g.binary("mul", a, a)
    slope = g.binary("sub", g.constant("1.0", a[1]), square)
    dh = g.binary("mul", g.einsum("egcm,efm->egcf", do, w2), slope)
    g.result(g.einsum("egcm,egcf->emf", t, dh), split)
    g.result(g.einsum("egcf,egcm->efm", a, do), split)
    dt = g.einsum("egcf,emf->egcm", dh, w1)
    g.result(g.einsum("gsec,egcm->gsm", masks[0], dt), split)
    return g, [("A2A", "e", 4 * number * groups * capacity * H // e, 4)]


def vocabulary(t):
    """Embedding, and head with cross-entropy; the gradient of the head."""
    g = Graph(t=t)
    tokens, v = 24, 960
    table = g.argument("table", (v, H), ("t", ""))
    ids = g.argument("ids", (tokens,), ("",), "i32")
    labels = g.argument("labels", (tokens,), ("",), "i32")
    w = g.argument("w", (H, v), ("", "t"))
    shape, it = (tokens, v), f"tensor<{tokens}x{v}xi32>"
    x = g.op(f"tp.embedding %{table[0]}, %{ids[0]} : ({g.type(table[1])}, "
             f"{g.type(ids[1], 'i32')}) -> {g.type((tokens, H))}",
             (tokens, H))
    g.result(x, ("", ""))
    logits = g.einsum("th,hv->tv", x, w)

    def spread(value):
        return g.broadcast(value, (0,), shape)

    top = g.reduce(logits, (1,), "max")
    exp = g.unary("exp", g.binary("sub", logits, spread(top)))
    total = g.reduce(exp, (1,))
    places = g.op(f"tp.iota dim = 1 : {it}", shape)
    wanted = g.op(f"tp.broadcast %{labels[0]} dims = [0] : "
                  f"{g.type(labels[1], 'i32')} -> {it}", shape)
    hit = g.op(f"tp.compare eq %{places[0]}, %{wanted[0]} : ({it}, {it}) -> "
               f"{g.type(shape, 'i1')}", shape)
    zero, one = g.constant("0.0", shape), g.constant("1.0", shape)

    def select(a, b):
        return g.op(f"tp.select %{hit[0]}, %{a[0]}, %{b[0]} : "
                    f"({g.type(shape, 'i1')}, {g.type(shape)}, {g.type(shape)})"
                    f" -> {g.type(shape)}", shape)

    target = g.reduce(select(logits, zero), (1,))
    loss = g.binary("sub", g.binary("add", g.unary("log", total), top), target)
    g.result(loss, ("",))
    p = g.binary("div", exp, spread(total))
    dlogits = g.binary("sub", p, select(one, zero))
    g.result(g.einsum("tv,hv->th", dlogits, w), ("", ""))
    g.result(g.einsum("th,tv->hv", x, dlogits), ("", "t"))
    return g, [("AR", "t", 2 * tokens * H + 3 * tokens, 4)]


def ulysses(c):
    g = Graph(c=c)
    tokens = 192
    alone(g, (1, tokens, H), ("", "c", ""),
          Attention(g, H, HEADS, H // HEADS, ("", "", ""), ("", "", ""),
                    heads=("", "", "c", "")))
    return g, [("A2A", "c", 8 * tokens * H // c, 4), ("AR", "c", W_ATTENTION, 1)]


def decode(s):
    g = Graph(s=s)
    b, n, length, e = 2, 24, 480, 32
    q = g.argument("q", (b, 1, n, 1, e), ("",) * 5)
    keys, values = (g.argument(name, (b, length, n, e), ("", "s", "", ""))
                    for name in ("keys", "values"))
    g.result(g.op(f"tp.attention %q, %keys, %values {{scale = 0.01 : f64}} : "
                  f"({g.type(q[1])}, {g.type(keys[1])}, {g.type(values[1])})"
                  f" -> {g.type(q[1])}", q[1]), ("",) * 5)
    return g, [("AR", "s", 2 * b * n + b * n * e, 3)]


GRID = (megatron_mlp, megatron_attention, tensor_parallel, sequence_parallel,
        two_dimensional)
LINE = (fsdp, experts, vocabulary, ulysses, decode)


def judge(tp_opt, scheme, sizes):
    """(name, expected rows, rows of the plan, verdict)."""
    graph, expected = scheme(*sizes)
    name = scheme.__name__ + " " + " ".join(
        f"{axis}{size}" for axis, size in graph.mesh.items())
    devices = math.prod(sizes)
    with tempfile.TemporaryDirectory() as folder:
        path, local = f"{folder}/whole.mlir", f"{folder}/local.mlir"
        pathlib.Path(path).write_text(str(graph), encoding="utf-8")
        try:
            run(tp_opt, path, "--tp-shard", f"--tp-report={folder}/report.json",
                "-o", local)
            if devices <= 9:
                run(tp_opt, local, f"--tp-verify-against=whole={path}", "-o",
                    os.devnull)
        except Failure as failure:
            return name, expected, str(failure), "worse"
        report = json.loads(pathlib.Path(f"{folder}/report.json").read_text())
    rows = {}
    for collective in report["functions"][0]["collectives"]:
        for i, share in enumerate(collective["shares"]):
            key = KINDS[share["kind"]][0], ",".join(collective["axes"])
            volume, launches = rows.get(key, (0, 0))
            # A launch counts as one of its first kind.
            rows[key] = (volume + share["bytes"] // 4 * collective["times"],
                         launches + (collective["times"] if i == 0 else 0))
    got = [(*key, *value) for key, value in sorted(rows.items())]

    def weigh(rows):
        return (round(sum(SHARE[kind](group_size(axes, graph.mesh)) * volume
                          for kind, axes, volume, _ in rows), 6),
                sum(launches for *_, launches in rows))

    want, have = weigh(expected), weigh(got)
    return name, expected, got, (
        "worse" if have[0] > want[0] or have[0] == want[0] and have[1] > want[1]
        else "same" if have == want else "better")


def write(rows):
    if isinstance(rows, str):
        return rows
    return ", ".join(f"{kind}{{{axes}}} V={volume} x{launches}"
                     for kind, axes, volume, launches in sorted(rows)) or "none"


def main():
    tp_opt, *names = sys.argv[1:]
    jobs = [(scheme, sizes)
            for schemes, places in ((GRID, 2), (LINE, 1))
            for scheme in schemes
            for sizes in itertools.product(SIZES, repeat=places)
            if not names or scheme.__name__ in names]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: judge(tp_opt, *job), jobs))
    count = {"same": 0, "better": 0, "worse": 0}
    for name, expected, got, verdict in results:
        count[verdict] += 1
        print(f"{verdict:6} {name:30} {write(expected)}" +
              ("" if write(got) == write(expected) else f"\n{'':38}got {write(got)}"))
    print(", ".join(f"{verdict} {number}" for verdict, number in count.items()))
    return 1 if count["worse"] else 0


if __name__ == "__main__":
    sys.exit(main())
