# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch in f64, all of it: models of transformers compute norms, angles and losses in
f32, whatever the type of their weights."""

import contextlib

# It keeps a table of torch's types, from when it is imported.
import safetensors.torch
import torch


@contextlib.contextmanager
def widened(dtype):
    """In f64, what transformers writes f32 for is f64: norms, angles and losses."""
    if dtype == "f32":
        yield
        return
    old = torch.float32, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32, torch.Tensor.float = old
        torch.float = torch.float32
        torch.set_default_dtype(torch.float32)
