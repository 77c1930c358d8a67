# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists what an artifact holds for GPUs, as runtime/Core/ArtifactFormat.h lays it
out: artifact.py FILE.tpx

Kernels are launched as the first image says, but for what is below another."""

import collections
import struct
import sys

KERNELS, LAUNCHES, IMAGES, COMBINES, RANDOMS, TEXT, CODE = 11, 23, 24, 25, 26, 64, 71
EM_CUDA = 190


Image = collections.namedtuple("Image", "chip kind code launches")


class Artifact:
    """Its kernels' names, its images and what else it has for GPUs."""

    def __init__(self, path):
        data = open(path, "rb").read()
        count = struct.unpack_from("<I", data, 12)[0]
        self.sections = {}
        for i in range(count):
            kind, _, offset, size = struct.unpack_from("<IIQQ", data, 64 + 32 * i)
            self.sections[kind] = data[offset:offset + size]
        self.kernels = [self.text(*name) for name in self.rows(KERNELS, "<II")]
        launches = list(self.rows(LAUNCHES, "<qII"))
        self.images = []
        for i, row in enumerate(self.rows(IMAGES, "<IIIIQQ")):
            first = i * len(self.kernels)
            self.images.append(self.read_image(row, launches[first:first + len(self.kernels)]))

    def rows(self, kind, form):
        return struct.iter_unpack(form, self.sections.get(kind, b""))

    def text(self, offset, size):
        return self.sections[TEXT][offset:offset + size].decode()

    def read_image(self, row, launches):
        _, _, name, length, offset, size = row
        chip = self.text(name, length)
        code = self.sections[CODE][offset:offset + size]
        if code.startswith(b"\x7fELF"):
            kind = "cubin" if struct.unpack_from("<H", code, 18)[0] == EM_CUDA else "?"
        else:
            target = f".target {chip}\n".encode()
            kind = "ptx" if target in code and self.sections[CODE][offset + size] == 0 else "?"
        return Image(chip, kind, code, launches)


def main():
    artifact = Artifact(sys.argv[1])
    first = artifact.images[0].launches
    for image in artifact.images:
        print(f"image {image.chip} {image.kind}")
        for kernel, launch, usual in zip(artifact.kernels, image.launches, first):
            if launch != usual:
                print("  launches {}: {} x {}, {} bytes".format(kernel, *launch))
    for kernel, launch in zip(artifact.kernels, first):
        print("kernel {}: {} x {}, {} bytes".format(kernel, *launch))
    for kernel, dtype, reduction, group in artifact.rows(COMBINES, "<IIII"):
        print(f"combine {dtype} {reduction} of {group}: kernel {kernel}")
    for kernel, dtype in artifact.rows(RANDOMS, "<II"):
        print(f"random {dtype}: kernel {kernel}")


if __name__ == "__main__":
    main()
