#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that are joined of stored tensors, and what NumPy makes of them.

    joined_weights.py --write GOLDENS.json     asks NumPy
    joined_weights.py --prepare DIR            DIR/weights/model.safetensors
    joined_weights.py --compare OUT.safetensors GOLDENS.json
"""

import json
import math
import pathlib
import struct
import sys

# As stored: the type, the shape. Values count from 1 on, each tensor from another one.
STORED = {"q": ("F32", [8, 6]), "k": ("F16", [4, 6]), "v": ("F32", [3, 6]),
          "qs": ("F32", [12, 5]), "ks": ("F32", [6, 5]), "vs": ("F32", [6, 5]),
          "packed": ("F32", [24, 5])}
FORMAT = {"F32": "f", "F16": "e"}


def values(name):
    first = 100 * list(STORED).index(name) + 1
    return [float(first + i) for i in range(math.prod(STORED[name][1]))]


def write(path):
    import numpy as np
    stored = {name: np.array(values(name)).reshape(STORED[name][1]) for name in STORED}
    # q|k|v of one product, each stored [out, in].
    qkv = np.concatenate([stored[name].T for name in "qkv"], axis=1)
    # [kv, group | key | value, head, hidden].
    heads = np.concatenate([stored["qs"].reshape(2, 2, 3, 5), stored["ks"].reshape(2, 1, 3, 5),
                            stored["vs"].reshape(2, 1, 3, 5)], axis=1)
    # The queries of a tensor that is packed so, as [head, hidden, kv, group].
    queries = stored["packed"].reshape(2, 4, 3, 5)[:, :2].transpose(2, 3, 0, 1)
    goldens = {"qkv": qkv, "heads": heads, "queries": queries,
               "y": np.arange(1.0, 13.0).reshape(2, 6) @ qkv}
    pathlib.Path(path).write_text("{" + ",\n".join(
        f'"{name}": {json.dumps(array.ravel().tolist())}' for name, array in goldens.items()) + "}\n")


def prepare(folder):
    header, data = {}, b""
    for name, (dtype, shape) in STORED.items():
        begin, numbers = len(data), values(name)
        data += struct.pack(f"<{len(numbers)}{FORMAT[dtype]}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    (folder / "weights").mkdir()
    (folder / "weights" / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def compare(path, goldens):
    goldens = json.loads(pathlib.Path(goldens).read_text())
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    failures = 0
    for name, wanted in goldens.items():
        begin, end = header[name]["data_offsets"]
        got = list(struct.unpack(f"<{len(wanted)}f", data[8 + size + begin:8 + size + end]))
        if got != wanted:
            failures += 1
            print(f"{name}: {got}, NumPy {wanted}")
    print(f"{len(goldens)} results, {failures} differ")
    return 1 if failures else 0


def main():
    mode, *operands = sys.argv[1:]
    if mode == "--write":
        write(*operands)
    elif mode == "--prepare":
        prepare(pathlib.Path(*operands))
    else:
        return compare(*operands)
    return 0


if __name__ == "__main__":
    sys.exit(main())
