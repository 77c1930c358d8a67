#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes an artifact that carries other programs than it was made of.

    take_programs.py CODE.tpx PROGRAMS.tpx OUT.tpx SECTION...

A section is the number of one that only the compiler reads: 68 the local program, 69
the whole one (runtime/Core/ArtifactFormat.h).
"""

import pathlib
import struct
import sys

MASK = (1 << 64) - 1
PRIME = 0x9e3779b97f4a7c15
HEADER, ROW = "<8sIIQQ32s", "<IIQQQ"


def mix(x):
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def hash_bytes(data):
    """As runtime/Core/Hash.h."""
    lanes = [1, 2, 3, 4]
    whole = len(data) // 32 * 32
    for at in range(0, whole, 32):
        for lane, word in enumerate(struct.unpack_from("<4Q", data, at)):
            value = (lanes[lane] ^ word) * PRIME & MASK
            lanes[lane] = value ^ value >> 32
    tail = struct.unpack("<4Q", data[whole:].ljust(32, b"\0"))
    result = mix(len(data) * PRIME & MASK)
    for lane, word in zip(lanes, tail):
        result = (mix(result ^ lane) + mix((result + word) & MASK)) & MASK
    return result


def read(path):
    data = pathlib.Path(path).read_bytes()
    header = struct.unpack_from(HEADER, data)
    sections = {}
    for i in range(header[2]):
        kind, row_size, offset, size, _ = struct.unpack_from(ROW, data, 64 + 32 * i)
        sections[kind] = (row_size, data[offset:offset + size])
    return header, sections


def write(path, header, sections):
    table, body, start = b"", b"", (64 + 32 * len(sections) + 63) // 64 * 64
    for kind, (row_size, data) in sorted(sections.items()):
        table += struct.pack(ROW, kind, row_size, start + len(body), len(data),
                             hash_bytes(data))
        body += data + bytes(-len(data) % 64)
    first = struct.pack(HEADER, header[0], header[1], len(sections), start + len(body),
                        hash_bytes(table), header[5])
    pathlib.Path(path).write_bytes((first + table).ljust(start, b"\0") + body)


def main():
    header, sections = read(sys.argv[1])
    _, others = read(sys.argv[2])
    for number in map(int, sys.argv[4:]):
        sections[number] = others[number]
    write(sys.argv[3], header, sections)


if __name__ == "__main__":
    main()
