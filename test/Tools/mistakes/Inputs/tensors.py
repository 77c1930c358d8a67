# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tensors of a type and of a shape that the MLP does not take: tensors.py FOLDER."""
import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
for name, dtype, shape, size in (("i64", "I64", [8, 512], 8), ("turned", "F32", [512, 8], 4)):
    count = 8 * 512 * size
    tensor = {"dtype": dtype, "shape": shape, "data_offsets": [0, count]}
    header = json.dumps({key: tensor for key in ("x",)}).encode()
    path = folder / f"{name}.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(count))
