# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists what an artifact holds for GPUs, as runtime/Core/ArtifactFormat.h lays it
out: artifact.py FILE.tpx

Kernels are launched as the first image says, but for what is below another."""

import struct
import sys

KERNELS, LAUNCHES, IMAGES, COMBINES, RANDOMS, TEXT, CODE = 11, 23, 24, 25, 26, 64, 71
EM_CUDA = 190


def main():
    data = open(sys.argv[1], "rb").read()
    count = struct.unpack_from("<I", data, 12)[0]
    sections = {}
    for i in range(count):
        kind, _, offset, size = struct.unpack_from("<IIQQ", data, 64 + 32 * i)
        sections[kind] = data[offset:offset + size]

    def rows(kind, form):
        return struct.iter_unpack(form, sections.get(kind, b""))

    def text(offset, size):
        return sections[TEXT][offset:offset + size].decode()

    kernels = [text(*name) for name in rows(KERNELS, "<II")]
    launches = list(rows(LAUNCHES, "<qII"))
    for i, (_, _, name, length, offset, size) in enumerate(rows(IMAGES, "<IIIIQQ")):
        code = sections[CODE][offset:offset + size]
        if code.startswith(b"\x7fELF"):
            kind = "cubin" if struct.unpack_from("<H", code, 18)[0] == EM_CUDA else "?"
        else:
            target = f".target {text(name, length)}\n".encode()
            kind = "ptx" if target in code and sections[CODE][offset + size] == 0 else "?"
        print(f"image {text(name, length)} {kind}")
        for k, kernel in enumerate(kernels):
            launch = launches[i * len(kernels) + k]
            if i > 0 and launch != launches[k]:
                print("  launches {}: {} x {}, {} bytes".format(kernel, *launch))
    for kernel, launch in zip(kernels, launches):
        print("kernel {}: {} x {}, {} bytes".format(kernel, *launch))
    for kernel, dtype, reduction, group in rows(COMBINES, "<IIII"):
        print(f"combine {dtype} {reduction} of {group}: kernel {kernel}")
    for kernel, dtype in rows(RANDOMS, "<II"):
        print(f"random {dtype}: kernel {kernel}")


if __name__ == "__main__":
    main()
