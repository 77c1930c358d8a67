# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how far outputs are from those wanted: the largest difference of a tensor, over
its largest number, of all tensors.

    compare_outputs.py WANTED.safetensors GOT.safetensors|GOT.txt [LIMIT]

GOT.txt is what `tp-run --print` prints. Tensors go together by name. Exit status 1 if
the difference is above LIMIT."""

import pathlib
import re
import sys

import ml_dtypes  # noqa: F401  teaches NumPy bfloat16
import numpy as np
import safetensors.numpy


def read_printed(text):
    """The tensors that tp-run prints, by name."""
    tensors, name = {}, None
    for line in text.splitlines():
        if header := re.fullmatch(r"(\S+): \w+\[([\d, ]*)\]", line):
            name = header[1]
            tensors[name] = []
        else:
            tensors[name] += line.split()
    return {name: np.array(words, np.float64) for name, words in tensors.items()}


def get_difference(wanted, got):
    """The largest, over the largest number of its tensor; names must be the same."""
    largest = 0.0
    for name, tensor in wanted.items():
        tensor = tensor.astype(np.float64).ravel()
        ours = got[name].astype(np.float64).ravel()
        if tensor.size:
            difference = np.max(np.abs(ours - tensor)) / max(np.max(np.abs(tensor)), 1e-30)
            # max() drops a NaN that is not its first argument.
            largest = difference if np.isnan(difference) else max(largest, difference)
            if np.isnan(largest):
                break
    return largest


def main():
    wanted = safetensors.numpy.load_file(sys.argv[1])
    path = pathlib.Path(sys.argv[2])
    got = (safetensors.numpy.load_file(path) if path.suffix == ".safetensors"
           else read_printed(path.read_text(encoding="utf-8")))
    if wanted.keys() != got.keys():
        sys.exit(f"outputs {sorted(got)}, wanted {sorted(wanted)}")
    largest = get_difference(wanted, got)
    print(largest)
    return 1 if len(sys.argv) > 3 and not largest <= float(sys.argv[3]) else 0


if __name__ == "__main__":
    sys.exit(main())
