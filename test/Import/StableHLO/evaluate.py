#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs StableHLO programs and compares with what Python computes.

    evaluate.py FILE.mlir

The file has programs separated by `// -----`, each with a function @main without
arguments. `// EXPECT: EXPRESSION` is what its results are, in order: numbers in
row-major order, as an expression of Python that knows `math`. Floats are equal to six
digits. tp-opt is the one in PATH.
"""

import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h",
           "I8": "b", "U64": "Q", "U32": "I", "U16": "H", "U8": "B", "BOOL": "?"}


def read_tensors(data):
    """The tensors of a safetensors file, as flat lists."""
    import json
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            words = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
            values = [struct.unpack("<f", struct.pack("<I", w << 16))[0] for w in words]
        else:
            code = FORMATS[entry["dtype"]]
            count = (end - begin) // struct.calcsize(code)
            values = list(struct.unpack(f"<{count}{code}", data[begin:end]))
        tensors[name] = values
    return tensors


def is_same(got, wanted):
    if isinstance(got, float):
        wanted = float(wanted)
        if math.isnan(wanted) or math.isinf(wanted):
            return str(got) == str(wanted)
        return abs(got - wanted) <= 2e-6 * max(1.0, abs(wanted))
    return got == wanted


def flatten(values):
    if isinstance(values, (list, tuple, range)):
        return [number for value in values for number in flatten(value)]
    return [values]


def run(program, folder):
    """The results of @main, in order."""
    (folder / "in.mlir").write_text(program)
    (folder / "empty.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    command = ["tp-opt", str(folder / "in.mlir"), "--pass-pipeline=builtin.module("
               "tp-import-stablehlo,tp-inline-calls,tp-interpret-entry{"
               f"inputs={folder}/empty.safetensors outputs={folder}/out.safetensors}})",
               "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        return done.stderr
    tensors = read_tensors((folder / "out.safetensors").read_bytes())
    return [tensors[f"result{i}"] for i in range(len(tensors))]


def main():
    failures = 0
    text = pathlib.Path(sys.argv[1]).read_text()
    with tempfile.TemporaryDirectory() as name:
        for program in re.split(r"^// -----$", text, flags=re.MULTILINE):
            expressions = re.findall(r"// EXPECT: (.*)", program)
            wanted = [flatten(eval(e, {"math": math})) for e in expressions]
            got = run(program, pathlib.Path(name))
            title = re.search(r"// (.*)", program).group(1)
            if isinstance(got, str):
                print(f"{title}: {got}")
                failures += 1
                continue
            if len(got) != len(wanted):
                print(f"{title}: {len(got)} results, {len(wanted)} expected")
                failures += 1
            for i, (values, numbers) in enumerate(zip(got, wanted)):
                if len(values) != len(numbers) or not all(map(is_same, values, numbers)):
                    print(f"{title}: result {i} is {values}, not {numbers}")
                    failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
