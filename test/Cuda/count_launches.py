# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the kernels of a layer in what the fake GPU has recorded of a model's
prefill and of its first decode: those on the stream that computes, from one launch of
attention to the next. Collectives are on streams of their own.

count_launches.py LOG PREFILL DECODE"""

import re
import sys


def main():
    path, *expected = sys.argv[1:]
    kernels = []
    for line in open(path):
        if re.match(r"(launch (?!graph)|matmul ).* on d0\.s0( by \d+)?$", line.rstrip()):
            kernels.append(line.split()[1] if line.startswith("launch") else "matmul")
    places = [i for i, kernel in enumerate(kernels) if kernel.startswith("attention")]
    # Each run of two layers launches one kernel of attention twice.
    counts = []
    for first, second in zip(places, places[1:]):
        if kernels[first] == kernels[second] and len(counts) < len(expected):
            counts.append(second - first)
            print(" ".join(kernels[first:second]))
    # Of decodes there are several, of the same kernels.
    assert counts == [int(count) for count in expected], counts


main()
