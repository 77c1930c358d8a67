#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a JSON report has every field of version 1, of the right type.

  schema.py REPORT.json
"""

import json
import sys

NUMBER = (int, float)
COLLECTIVE = {
    "kind": str, "axes": list, "op": str, "group_size": int, "bytes": int,
    "wire_bytes": NUMBER, "times": int, "predicted_us": NUMBER, "loc": str,
    "reason": str,
}
INPUT = {
    "name": str, "role": str, "global": str, "local": str, "sharding": str,
    "padding_bytes": int,
}
LAYER = {"name": str, "comm_us": NUMBER, "compute_us": NUMBER, "ratio": NUMBER}
MEMORY = {
    "parameters": int, "activations": int, "kv_cache": int, "gradients": int,
    "optimizer": int, "padding": int, "capacity": NUMBER, "fits": bool,
}
FUNCTION = {
    "name": str, "collectives": [COLLECTIVE], "inputs": [INPUT],
    "outputs": list, "layers": [LAYER], "memory": MEMORY,
    "flops_per_device": NUMBER, "input_bytes_per_device": int,
    "peak_bytes_per_device": int, "comm_us": NUMBER, "compute_us": NUMBER,
    "comm_compute_ratio": NUMBER, "verified": str, "verify_us": NUMBER,
}
REPORT = {
    "version": int, "meshes": [{"name": str}],
    "mesh": [{"axis": str, "size": int}], "functions": [FUNCTION],
}
KINDS = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
    "collective_permute",
}


def check(value, schema, path):
    if isinstance(schema, dict):
        assert isinstance(value, dict), f"{path} is no object"
        for key, inner in schema.items():
            # An all_gather reduces nothing and has no op.
            if key == "op" and value.get("kind") not in ("all_reduce", "reduce_scatter"):
                continue
            assert key in value, f"{path}.{key} is missing"
            check(value[key], inner, f"{path}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list), f"{path} is no list"
        for i, element in enumerate(value):
            check(element, schema[0], f"{path}[{i}]")
    else:
        assert isinstance(value, schema), f"{path} is {value!r}"


report = json.load(open(sys.argv[1]))
check(report, REPORT, "report")
assert report["version"] == 1
for function in report["functions"]:
    for collective in function["collectives"]:
        assert collective["kind"] in KINDS, collective["kind"]
