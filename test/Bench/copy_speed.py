# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the GB/s that a copy of 256 MiB on THREADS threads reads and writes.

    copy_speed.py THREADS
"""

import concurrent.futures
import sys
import time

import numpy


def main():
    threads = int(sys.argv[1])
    source = numpy.ones(1 << 26, numpy.float32)
    target = numpy.empty_like(source)
    blocks = list(zip(numpy.array_split(source, threads), numpy.array_split(target, threads)))
    times = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(8):
            begin = time.perf_counter()
            list(pool.map(lambda block: numpy.copyto(block[1], block[0]), blocks))
            times.append(time.perf_counter() - begin)
    print(2 * source.nbytes / min(times) / 1e9)


if __name__ == "__main__":
    main()
