#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the model of a golden, goldens/tiny-*.json, as Hugging Face publishes
models: config.json, and model.safetensors with weights that anybody can make
again.

A weight has the numbers of Python's `random.Random(NAME)`, which gives the same
ones in every version: uniform between -1 and 1; over the root of the number of
its rows or columns, the larger, times three, for a matrix; halved, and with 1
added to what scales a norm, for a vector."""

import array
import json
import math
import pathlib
import random
import struct
import sys


def make_weight(name, shape):
    """The elements as float32."""
    numbers = random.Random(name)
    scale, middle = 0.5, 0.0
    if len(shape) > 1:
        scale = 3 / math.sqrt(max(shape))
    elif not name.endswith("bias"):
        middle = 1.0
    return array.array("f", (middle + scale * numbers.uniform(-1, 1)
                             for _ in range(math.prod(shape))))


def write_model(golden, folder):
    header, data, offset = {}, [], 0
    for name, shape in golden["tensors"].items():
        data.append(make_weight(name, shape).tobytes())
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [offset, offset + len(data[-1])]}
        offset += len(data[-1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(golden["config"], indent=2))
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + b"".join(data))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        write_model(json.load(file), pathlib.Path(sys.argv[2]))
