#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tp-run --train does, done by hand: a run of the program for each step, with the
step's rows and what the run before has left given by --input.

    by_hand.py write FOLDER             writes data sets into the folder
    by_hand.py train PROGRAM DATA STEPS SEED LOG PARAMETERS STATES
                                        checks the log and the parameters of
                                        tp-run --train; states have commas between them
    by_hand.py same LOG OTHER TOLERANCE the losses are the same, up to that share of them
    by_hand.py equal FILE OTHER         tensors of the same names, types and bytes
    by_hand.py list FILE                prints names, types and shapes
"""

import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

MASK = (1 << 64) - 1
SIZES = {"F32": 4, "I32": 4}


def read_tensors(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header, body = json.loads(data[8:8 + length]), data[8 + length:]
    return {name: (place["dtype"], place["shape"], body[slice(*place["data_offsets"])])
            for name, place in header.items()}


def write_tensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


def write(folder):
    folder = pathlib.Path(folder)
    draw = random.Random(1)
    rows = [draw.gauss(0, 1) for _ in range(21 * 4)]
    write_tensors(folder / "rows.safetensors", {
        "x": ("F32", [21, 4], struct.pack("<84f", *rows)),
        "y": ("F32", [21], struct.pack("<21f", *(sum(rows[4 * i:4 * i + 4]) for i in range(21))))})
    tokens = [draw.randrange(61) for _ in range(200)]
    ids = struct.pack("<200i", *tokens)
    write_tensors(folder / "tokens.safetensors", {
        "tokens": ("I32", [25, 8], ids), "labels": ("I32", [25, 8], ids)})
    raw = struct.pack("<200H", *tokens)
    wide = struct.pack("<200I", *tokens)

    def put(name, magic, version, count, data):
        (folder / name).write_bytes(struct.pack("<256I", magic, version, count, *[0] * 253) + data)

    (folder / "raw.bin").write_bytes(raw)
    put("gpt2.bin", 20240520, 1, 200, raw)
    put("llama3.bin", 20240801, 7, 200, wide)
    put("cut.bin", 20240520, 1, 200, raw[:-2])
    put("version.bin", 20240520, 2, 200, raw)
    put("questions.bin", 20240522, 1, 200, raw)
    (folder / "odd.bin").write_bytes(raw[:-1])
    (folder / "short.bin").write_bytes(raw[:30])
    (folder / "text.txt").write_bytes(raw)
    (folder / "count.bin").write_bytes(struct.pack("<17H", *range(17)))
    # 8-bit integers hold ids up to 127.
    (folder / "large.bin").write_bytes(struct.pack("<17H", *range(120, 137)))
    rows[5] = math.inf
    write_tensors(folder / "infinite.safetensors", {
        "x": ("F32", [21, 4], struct.pack("<84f", *rows)),
        "y": ("F32", [21], bytes(84))})
    write_tensors(folder / "uneven.safetensors", {
        "x": ("F32", [21, 4], bytes(21 * 16)), "y": ("F32", [20], bytes(80))})
    write_tensors(folder / "wide.safetensors", {
        "x": ("F32", [21, 5], bytes(21 * 20)), "y": ("F32", [21], bytes(84))})
    write_tensors(folder / "half.safetensors", {"x": ("F32", [21, 4], bytes(21 * 16))})


def mix(x):
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def get_sample(place, samples, seed):
    """As tools/tp-run/SampleOrder.h says."""
    half = 1
    while samples - 1 >> 2 * half:
        half += 1
    low = (1 << half) - 1
    key = (mix(seed + 1) + place // samples) & MASK
    key, sample = mix(key), place % samples
    while True:
        left, right = sample >> half, sample & low
        for turn in range(8):
            left, right = right, left ^ mix(mix(key + turn & MASK) + right & MASK) & low
        sample = left << half | right
        if sample < samples:
            return sample


def take_rows(data, shapes, step, seed):
    """The rows of a step, in the shapes that the program takes."""
    rows = {}
    for name, shape in shapes.items():
        dtype, stored, values = data[name]
        size = len(values) // stored[0]
        count = math.prod(shape) * SIZES[dtype] // size
        picked = [get_sample(step * count + i, stored[0], seed) for i in range(count)]
        rows[name] = (dtype, shape, b"".join(values[i * size:(i + 1) * size] for i in picked))
    return rows


def train(program, data, steps, seed, log, parameters, states):
    data = read_tensors(data)
    lines = [json.loads(line) for line in pathlib.Path(log).read_text().splitlines()]
    wanted = read_tensors(parameters)
    states = states.split(",")
    # name=shape, as in x=8x4, behind the states.
    shapes = {name: [int(size) for size in shape.split("x")]
              for name, shape in (state.split("=") for state in states if "=" in state)}
    kept = [state for state in states if "=" not in state] + list(wanted)
    assert [line["step"] for line in lines] == list(range(1, steps + 1)), lines
    with tempfile.TemporaryDirectory() as folder:
        rows, left = pathlib.Path(folder, "rows.safetensors"), pathlib.Path(folder, "0.safetensors")
        given = []
        for step in range(steps):
            write_tensors(rows, take_rows(data, shapes, step, seed))
            command = ["tp-run", program, f"--seed={seed}", f"--output={folder}/{step + 1}.safetensors",
                       *(f"--input={name}={rows}" for name in shapes), *given]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            left = pathlib.Path(folder, f"{step + 1}.safetensors")
            found = read_tensors(left)
            loss = struct.unpack("<f", found["loss"][2])[0]
            assert loss == lines[step]["loss"], f"step {step + 1}: {lines[step]}, by hand {loss}"
            given = [f"--input={name}={left}" for name in kept]
        for name, (dtype, shape, values) in wanted.items():
            assert found[name] == (dtype, shape, values), f"{name} differs"
    print(f"{steps} steps are as by hand")


def same(log, other, tolerance):
    first, second = ([json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
                     for path in (log, other))
    assert len(first) == len(second) > 0
    for a, b in zip(first, second):
        assert abs(a["loss"] - b["loss"]) <= tolerance * abs(a["loss"]), f"{a} {b}"
        for line in (a, b):
            parts = line["compute_s"] + line["communication_s"] + line["waiting_s"]
            assert 0 < parts <= line["seconds"], line
    print(f"{len(first)} losses are the same")


def main():
    word, *rest = sys.argv[1:]
    if word == "write":
        write(rest[0])
    elif word == "train":
        program, data, steps, seed, log, parameters, states = rest
        train(program, data, int(steps), int(seed), log, parameters, states)
    elif word == "same":
        same(rest[0], rest[1], float(rest[2]))
    elif word == "list":
        for name, (dtype, shape, _) in sorted(read_tensors(rest[0]).items()):
            print(f"{name}: {dtype}{shape}")
    else:
        assert read_tensors(rest[0]) == read_tensors(rest[1]), "the tensors differ"


if __name__ == "__main__":
    main()
