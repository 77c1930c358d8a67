# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Crops of the two photographs that scikit-learn ships, as rows of numbers."""

import numpy
import safetensors.numpy
from sklearn.datasets import load_sample_images

SIZE = 32
STRIDE = 16


def write_crops(path):
    """Writes `crop`, f32 [crops, 32 * 32 * 3] in [-1, 1]; returns how many there are."""
    crops = []
    for photograph in load_sample_images().images:
        height, width, _ = photograph.shape
        for top in range(0, height - SIZE + 1, STRIDE):
            for left in range(0, width - SIZE + 1, STRIDE):
                crops.append(photograph[top:top + SIZE, left:left + SIZE].reshape(-1))
    numbers = numpy.stack(crops).astype(numpy.float32) / 127.5 - 1
    safetensors.numpy.save_file({"crop": numbers}, path)
    return len(crops)
