#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the rank at each place of the mesh, as FILE.tpx has it; see ArtifactFormat.h."""

import pathlib
import struct
import sys

DEVICES = 27
data = pathlib.Path(sys.argv[1]).read_bytes()
for i in range(struct.unpack_from("<I", data, 12)[0]):
    kind, _, offset, size = struct.unpack_from("<IIQQ", data, 64 + 32 * i)
    if kind == DEVICES:
        print(*struct.unpack_from(f"<{size // 4}I", data, offset))
        break
else:
    print("each has its number")
