# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Writes the attention of SmolLM2 for one token, 9 query heads and 3 key-value heads of 64
features, as JAX exports it, with its cache cut along the heads; or checks what its plan sends.

    uneven_heads.py write DEVICES free|flat > program.mlir
    uneven_heads.py check DEVICES free|flat report.json

Weights are `free`, without annotations, or cut `flat`, in equal blocks of features."""

import json
import sys

QUERIES, KEYS, FEATURES, POSITIONS = 9, 3, 64, 32
WIDTH, NARROW = QUERIES * FEATURES, KEYS * FEATURES
GROUP = QUERIES // KEYS


def tensor(*shape, element="f32"):
    return "tensor<" + "x".join(map(str, shape + (element,))) + ">"


def sharding(*dims):
    text = ", ".join("{%s}" % ('"m"' if cut else "") for cut in dims)
    return f" {{sdy.sharding = #sdy.sharding<@mesh, [{text}]>}}"


def write(devices, weights):
    x, cache = tensor(1, 1, WIDTH), tensor(1, POSITIONS, KEYS, FEATURES)
    query, key = tensor(1, 1, KEYS, GROUP, FEATURES), tensor(1, 1, KEYS, FEATURES)
    scores = tensor(1, KEYS, 1, GROUP, POSITIONS)
    rows = tensor(1, KEYS, 1, GROUP)
    out, narrow = tensor(WIDTH, WIDTH), tensor(WIDTH, NARROW)
    flat = weights == "flat"
    columns, lines = (sharding(False, True), sharding(True, False)) if flat else ("", "")
    whole, heads = sharding(False, False, False), sharding(False, False, True, False)

    def dot(name, lhs, rhs, result, batch, contract, a, b):
        batching = f"batching_dims = {batch}, " if batch else ""
        print(f"    {name} = stablehlo.dot_general {lhs}, {rhs}, {batching}contracting_dims = "
              f"{contract} : ({a}, {b}) -> {result}")

    def reduce(name, kind, init):
        print(f"    {name} = stablehlo.reduce({init[0]} init: {init[1]}) applies stablehlo.{kind} "
              f"across dimensions = [4] : ({scores}, tensor<f32>) -> {rows}")

    def repeat(name, value):
        print(f"    {name} = stablehlo.broadcast_in_dim {value}, dims = [0, 1, 2, 3] : ({rows}) "
              f"-> {scores}")

    print(f'module {{\n  sdy.mesh @mesh = <["m"={devices}]>\n  func.func public @main('
          f"%x: {x}{whole}, %wq: {out}{columns}, %wk: {narrow}{columns}, %wv: {narrow}{columns}, "
          f"%wo: {out}{lines}, %ck: {cache}{heads}, %cv: {cache}{heads}) -> ({x}{whole}, "
          f"{cache}{heads}, {cache}{heads}) {{")
    print("    %zero = stablehlo.constant dense<0> : tensor<i32>\n"
          "    %last = stablehlo.constant dense<31> : tensor<i32>\n"
          "    %none = stablehlo.constant dense<0.0> : tensor<f32>\n"
          "    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
          f"    %scale = stablehlo.constant dense<0.125> : {scores}")
    for name, width, shape in (("q", WIDTH, query), ("k", NARROW, key), ("v", NARROW, key)):
        weight = out if name == "q" else narrow
        dot(f"%{name}0", "%x", f"%w{name}", tensor(1, 1, width), "", "[2] x [0]", x, weight)
        print(f"    %{name} = stablehlo.reshape %{name}0 : ({tensor(1, 1, width)}) -> {shape}")
    for name in "kv":
        print(f"    %c{name}1 = stablehlo.dynamic_update_slice %c{name}, %{name}, %zero, %last, "
              f"%zero, %zero : ({cache}, {key}, tensor<i32>, tensor<i32>, tensor<i32>, "
              f"tensor<i32>) -> {cache}")
    dot("%s0", "%q", "%ck1", scores, "[0, 2] x [0, 2]", "[4] x [3]", query, cache)
    print(f"    %s = stablehlo.multiply %s0, %scale : {scores}")
    reduce("%m0", "maximum", ("%s", "%lowest"))
    repeat("%m", "%m0")
    print(f"    %d = stablehlo.subtract %s, %m : {scores}\n"
          f"    %e = stablehlo.exponential %d : {scores}")
    reduce("%t0", "add", ("%e", "%none"))
    repeat("%t", "%t0")
    print(f"    %p = stablehlo.divide %e, %t : {scores}")
    mixed = tensor(1, KEYS, 1, GROUP, FEATURES)
    dot("%o0", "%p", "%cv1", mixed, "[0, 1] x [0, 2]", "[4] x [1]", scores, cache)
    print(f"    %o1 = stablehlo.transpose %o0, dims = [0, 2, 1, 3, 4] : ({mixed}) -> {query}\n"
          f"    %o = stablehlo.reshape %o1 : ({query}) -> {x}")
    dot("%y", "%o", "%wo", x, "", "[2] x [0]", x, out)
    print(f"    return %y, %ck1, %cv1 : {x}, {cache}, {cache}\n  }}\n}}")


def count_moved(heads, width, devices):
    """Features that another device has, by distance: those of `heads` blocks in equal blocks."""
    own, wanted = width // devices, -(-heads // devices) * (width // heads)
    moved = {}
    for feature in range(width):
        have, need = feature // own, feature // wanted
        if have != need:
            moved.setdefault(have - need, []).append(feature % own)
    return sum(max(run) - min(run) + 1 for run in moved.values())


def check(devices, weights, path):
    with open(path) as file:
        report = json.load(file)
    collectives = [c for f in report["functions"] for c in f["collectives"]]
    sums = [c for c in collectives if c["kind"] == "all_reduce"]
    moves = [c for c in collectives if c["kind"] == "collective_permute"]
    sent = sum(c["wire_bytes"] * c["times"] for c in moves)
    limit = 0
    if weights == "flat":
        # A device's heads are those of its keys, in whole groups: q and the output, k and v.
        limit = 4 * 2 * (count_moved(KEYS, WIDTH, devices) + count_moved(KEYS, NARROW, devices))
    assert sum(c["times"] for c in sums) == 1, sums
    assert len(sums) + len(moves) == len(collectives), collectives
    assert sent <= limit, (sent, limit)
    print(f"one sum, and {sent} B of {limit} B that lie elsewhere")


if __name__ == "__main__":
    command, devices, weights = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if command == "write":
        write(devices, weights)
    else:
        check(devices, weights, sys.argv[4])
