#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every element type converted to every other, compared with what JAX computes.

    conversions.py --write GOLDENS.json     asks JAX, on its CPU
    conversions.py --prepare DIR            DIR/convert.mlir and DIR/in.safetensors
    conversions.py --compare OUT.safetensors GOLDENS.json

Values are bits: `in` has those of each type, `out` what becomes of them in each
other type, under `from.to`. NaNs are one value.
"""

import json
import pathlib
import struct
import sys

# The name in MLIR, in NumPy and in safetensors, and the bits of a float's exponent and
# mantissa.
TYPES = {
    "f64": ("float64", "F64", 11, 52), "f32": ("float32", "F32", 8, 23),
    "bf16": ("bfloat16", "BF16", 8, 7), "f16": ("float16", "F16", 5, 10),
    "f8E4M3FN": ("float8_e4m3fn", "F8_E4M3", 4, 3), "f8E5M2": ("float8_e5m2", "F8_E5M2", 5, 2),
    "i1": ("bool", "BOOL", 0, 0),
    **{f"i{n}": (f"int{n}", f"I{n}", 0, 0) for n in (8, 16, 32, 64)},
    **{f"ui{n}": (f"uint{n}", f"U{n}", 0, 0) for n in (8, 16, 32, 64)}}

# JAX takes numbers below the normal ones of f32 (and so of bf16) and f64 for zero.
FLUSHED = ("f64", "f32", "bf16")


def width(name):
    return 1 if name == "i1" else int(name.lstrip("bfui").split("E")[0])


def storage(name):
    return "BHIQ"[max(width(name), 8).bit_length() - 4]


def encode(number, name):
    """The bits of the float that is nearest to `number` towards zero."""
    exponent, mantissa = TYPES[name][2:]
    bits = struct.unpack("<Q", struct.pack("<d", number))[0]
    sign, power, rest = bits >> 63, (bits >> 52) & 2047, bits & ((1 << 52) - 1)
    top = (1 << exponent) - 1
    power += (top >> 1) - 1023 if name != "f64" else 0
    if power < 1:  # below the normal numbers, or zero
        power, rest = 0, 0
    magnitude = (power << mantissa) | (rest >> (52 - mantissa))
    return (sign << (exponent + mantissa)) | min(magnitude, largest(name))


def largest(name):
    exponent, mantissa = TYPES[name][2:]
    all_ones = (1 << (exponent + mantissa)) - 1
    return all_ones - 1 if name == "f8E4M3FN" else all_ones - (1 << mantissa)


def is_nan(bits, name):
    exponent, mantissa = TYPES[name][2:]
    magnitude = bits & ((1 << (exponent + mantissa)) - 1)
    if name == "f8E4M3FN":
        return magnitude == 127
    return exponent > 0 and magnitude > ((1 << exponent) - 1) << mantissa


def is_flushed(bits, name):
    """Whether the float is neither zero nor normal."""
    exponent, mantissa = TYPES[name][2:]
    magnitude = bits & ((1 << (exponent + mantissa)) - 1)
    return name in FLUSHED and 0 < magnitude < 1 << mantissa


def inputs(name):
    if name == "i1":
        return [0, 1]
    bits = width(name)
    if not TYPES[name][2]:
        edges = {0, 1, 3, -1, -2}
        for n in (7, 8, 9, 11, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64):
            # Around powers of two, and half-way between two narrow floats.
            edges |= {(1 << n) + d for d in (-1, 0, 1)}
            edges |= {-(1 << n) + d for d in (-1, 0, 1)}
            edges |= {(1 << n) + (1 << n >> s) + d for s in (3, 8, 9, 11, 24) for d in (-1, 0, 1)}
        least = -(1 << (bits - 1)) if name[0] == "i" else 0
        mask = (1 << bits) - 1
        return sorted({e & mask for e in edges if least <= e <= least + mask})
    exponent, mantissa = TYPES[name][2:]
    sign, top = 1 << (exponent + mantissa), ((1 << exponent) - 1) << mantissa
    special = {0, 1, (1 << mantissa) - 1, 1 << mantissa, largest(name), (1 << (exponent + mantissa)) - 1}
    if name != "f8E4M3FN":
        special |= {top}
    numbers = [0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 5.5, 300.7, 448.0, 464.0, 465.0, 480.0, 57344.0,
               61440.0, 65504.0, 65520.0, 3e9, 1e20, 1e-5, 2.0 ** -10, 3.4e38, 3.4028236e38]
    numbers += [2.0 ** n for n in (7, 8, 15, 16, 31, 32, 63, 64)]
    special |= {encode(number, name) for number in numbers}
    # And the floats on both sides of each.
    near = {b + d for b in special for d in (-1, 0, 1) if 0 <= b + d <= max(special)}
    return sorted(near | {b | sign for b in near})


def cases():
    return [(a, b) for a in TYPES for b in TYPES if a != b]


def write(path):
    import jax
    import ml_dtypes  # noqa: F401 (makes NumPy know the narrow floats)
    import numpy
    jax.config.update("jax_enable_x64", True)
    goldens = {"in": {name: inputs(name) for name in TYPES}, "out": {}}
    for a, b in cases():
        words = numpy.array(goldens["in"][a], dtype=f"uint{max(width(a), 8)}")
        x = jax.numpy.array(words.view(jax.numpy.dtype(TYPES[a][0])))
        y = jax.jit(lambda x: jax.lax.convert_element_type(x, TYPES[b][0]))(x)
        out = numpy.asarray(y).view(f"uint{max(width(b), 8)}")
        goldens["out"][f"{a}.{b}"] = out.tolist()
    lines = [f'"{key}": {json.dumps(values, separators=(",", ":"))}'
             for part in ("in", "out") for key, values in goldens[part].items()]
    pathlib.Path(path).write_text("{" + ",\n".join(lines) + "}\n")


def prepare(folder):
    header, data, arguments = {}, b"", []
    for name in TYPES:
        values = inputs(name)
        begin = len(data)
        data += struct.pack(f"<{len(values)}{storage(name)}", *values)
        header[name] = {"dtype": TYPES[name][1], "shape": [len(values)],
                        "data_offsets": [begin, len(data)]}
        arguments.append(f'%{name}: tensor<{len(values)}x{name}> {{tp.name = "{name}"}}')
    text = json.dumps(header).encode()
    (folder / "in.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    lines, results, values = [], [], []
    for i, (a, b) in enumerate(cases()):
        from_type, to_type = (f"tensor<{len(inputs(a))}x{t}>" for t in (a, b))
        lines.append(f"  %r{i} = stablehlo.convert %{a} : ({from_type}) -> {to_type}")
        results.append(f'{to_type} {{tp.name = "{a}.{b}"}}')
        values.append((f"%r{i}", to_type))
    (folder / "convert.mlir").write_text(
        f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n"
        + "\n".join(lines) + "\n  return " + ", ".join(v for v, _ in values) + " : "
        + ", ".join(t for _, t in values) + "\n}\n")


def compare(path, goldens):
    goldens = json.loads(pathlib.Path(goldens).read_text())
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    count = failures = 0
    for a, b in cases():
        begin, end = header[f"{a}.{b}"]["data_offsets"]
        got = struct.unpack(f"<{len(inputs(a))}{storage(b)}", data[8 + size + begin:8 + size + end])
        for x, y, wanted in zip(goldens[a], got, goldens[f"{a}.{b}"], strict=True):
            if is_flushed(x, a) or is_flushed(y, b):
                continue
            count += 1
            if y != wanted and not (is_nan(y, b) and is_nan(wanted, b)):
                failures += 1
                print(f"{a} {x:#x} to {b}: {y:#x}, JAX {wanted:#x}")
    print(f"{count} conversions, {failures} differ")
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
