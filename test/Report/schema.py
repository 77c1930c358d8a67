#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a report is one of version 1.

    schema.py REPORT.json

Every field of the contract is there, with its type; sums and products agree.
"""

import json
import math
import re
import sys

KINDS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all",
         "collective_permute"]
ROLES = ["input", "parameter", "state", "kv_cache", "gradient", "optimizer_state",
         "output"]
# What may change the price of a plan, and after which stage.
PRICES = {"plan": "partition", "loops": "partition", "weights": "partition",
          "exchanges": "partition", "manual": "partition", "steps": "collectives",
          "combined": "collectives", "localized": "localize", "other": "other",
          "compiled": "lower"}
TENSOR = re.compile(r"[a-z]+\d+\w*\[(\d+(,\d+)*)?\]$")
AXIS = re.compile(r"[^:]+(:\(\d+\)\d+)?$")


def natural(value):
    return type(value) is int and value >= 0


def number(value):
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def change(value):
    return type(value) in (int, float) and math.isfinite(value)


def integer(value):
    return type(value) is int


def string(value):
    return type(value) is str


def boolean(value):
    return type(value) is bool


def one_of(*values):
    return lambda value: value in values


def words_of(*values):
    return lambda value: all(word in values for word in value.split("+"))


def matches(pattern):
    return lambda value: string(value) and pattern.match(value) is not None


def many(check):
    def each(value):
        return type(value) is list and all(check(entry) for entry in value)
    return each


def record(**fields):
    def check(value):
        if type(value) is not dict:
            return False
        for name, field in fields.items():
            if name not in value:
                sys.exit(f"no field '{name}' in {value}")
            if not field(value[name]):
                sys.exit(f"'{name}' is not as it should be: {value[name]}")
        return True
    return check


MESH = many(record(axis=string, size=natural))
OPS = ["sum", "max", "min", "none"]
COLLECTIVE = record(
    kind=words_of(*KINDS), axes=many(matches(AXIS)),
    op=words_of(*OPS), group_size=natural, bytes=natural, wire_bytes=natural,
    shares=many(record(kind=one_of(*KINDS), op=one_of(*OPS), bytes=natural,
                       wire_bytes=natural)),
    times=natural, predicted_us=number, loc=string,
    reason=string, value=string, layer=string, requested=boolean,
    advice=string, note=string)
TENSORS = many(record(
    name=string, role=one_of(*ROLES), role_given=boolean, **{"global": matches(TENSOR)},
    local=matches(TENSOR), sharding=string, bytes=natural,
    padding_bytes=natural))
MEMORY = record(
    parameters=natural, activations=natural, kv_cache=natural, state=natural,
    gradients=natural, optimizer=natural, padding=natural, capacity=natural,
    fits=boolean, missing=natural, peak_op=string, compiled=boolean, planned=natural)
PLAN = record(unit=one_of("us", "B"), reshards=natural, merged=natural,
              optimal=boolean, gap=number)
PRICE = record(stage=one_of(*PRICES.values()), kind=one_of(*PRICES), what=string,
               sent=change, computed=change, launches=integer,
               peak_bytes=integer, count=natural)
OVERLAP = record(written_us=number, scheduled_us=number, bound_us=number,
                 exposed_us=number)
FUNCTION = record(
    name=string, mesh=string, collectives=many(COLLECTIVE), inputs=TENSORS,
    outputs=TENSORS,
    layers=many(record(name=string, comm_us=number, compute_us=number,
                       ratio=number, flops_per_device=natural,
                       replicated_flops_per_device=natural)),
    memory=MEMORY, flops_per_device=natural,
    replicated_flops_per_device=natural, input_bytes_per_device=natural,
    peak_bytes_per_device=natural, timed=boolean, comm_us=number,
    compute_us=number, comm_compute_ratio=number,
    overlap=lambda value: value is None or OVERLAP(value), verified=string,
    verify_us=number, predicted_s=number, plan=lambda value: value is None or PLAN(value),
    price=many(PRICE))
REPORT = record(
    version=one_of(1), meshes=many(record(name=string, axes=MESH)), mesh=MESH,
    machine=lambda value: value is None or string(value),
    functions=many(FUNCTION))


def check_sums(function):
    """What can be computed from other fields is what these give."""
    if overlap := function["overlap"]:
        scheduled = overlap["scheduled_us"]
        assert overlap["bound_us"] <= scheduled <= overlap["written_us"], overlap
        assert overlap["exposed_us"] <= scheduled, overlap
    for c in function["collectives"]:
        g = c["group_size"]
        for s in c["shares"]:
            factor = {"all_reduce": 2 * (g - 1) / g,
                      "collective_permute": 1}.get(s["kind"], (g - 1) / g)
            assert s["wire_bytes"] == math.ceil(factor * s["bytes"] - 1e-9), c
            assert (s["op"] != "none") == (s["kind"] in ("all_reduce", "reduce_scatter")), c
        assert c["kind"] == "+".join(dict.fromkeys(s["kind"] for s in c["shares"])), c
        ops = dict.fromkeys(s["op"] for s in c["shares"] if s["op"] != "none")
        assert c["op"] == ("+".join(ops) or "none"), c
        assert c["bytes"] == sum(s["bytes"] for s in c["shares"]), c
        sent = sum(s["wire_bytes"] for s in c["shares"])
        assert sent - len(c["shares"]) < c["wire_bytes"] <= sent, c
    time = sum(c["predicted_us"] * c["times"] for c in function["collectives"])
    assert math.isclose(time, function["comm_us"], rel_tol=1e-3, abs_tol=0.01)
    assert sum(i["bytes"] for i in function["inputs"]) == \
        function["input_bytes_per_device"]
    memory = function["memory"]
    total = sum(memory[key] for key in ("parameters", "activations", "kv_cache", "state",
                                        "gradients", "optimizer"))
    assert total == function["peak_bytes_per_device"]
    assert memory["missing"] == (max(0, total - memory["capacity"])
                                 if memory["capacity"] else 0)
    assert memory["fits"] == (memory["capacity"] == 0 or
                              total <= memory["capacity"])
    for role, key in (("parameter", "parameters"), ("state", "state"), ("kv_cache", "kv_cache"),
                      ("gradient", "gradients"), ("optimizer_state", "optimizer")):
        assert memory[key] == sum(i["bytes"] for i in function["inputs"]
                                  if i["role"] == role)
    for part in (function, *function["layers"]):
        assert part["replicated_flops_per_device"] <= part["flops_per_device"]
    assert sum(layer["comm_us"] for layer in function["layers"]) <= \
        function["comm_us"] + 0.01


def check_price(function):
    """The plan and what changed it since then add up to the report's totals."""
    price, plan = function["price"], function["plan"]
    assert bool(price) == (plan is not None), function["name"]
    if not price:
        return
    timed = function["timed"]
    assert price[0]["kind"] == "plan" and price[0]["count"] == plan["reshards"]
    assert plan["unit"] == ("us" if timed else "B")
    assert plan["optimal"] == (plan["gap"] == 0)
    for item in price:
        assert PRICES[item["kind"]] == item["stage"], item

    def check(key, total):
        found = sum(item[key] for item in price)
        assert math.isclose(found, total, rel_tol=1e-6, abs_tol=0.01), \
            (function["name"], key, found, total, price)

    collectives = function["collectives"]
    check("sent", function["comm_us"] if timed else
          sum(c["wire_bytes"] * c["times"] for c in collectives))
    check("computed", function["compute_us"])
    check("launches", sum(c["times"] for c in collectives))
    check("peak_bytes", function["memory"]["activations"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    if not REPORT(report):
        sys.exit("the report is not one object")
    for function in report["functions"]:
        check_sums(function)
        check_price(function)


if __name__ == "__main__":
    main()
