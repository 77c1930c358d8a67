# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two arrays are the same but for rounding."""

import numpy as np

# How far an element may be off: this part of itself, and this part of the largest
# of its tensor, as it may be what is left of large ones that cancelled.
TOLERANCE = {"float64": (1e-11, 1e-12), "float32": (1e-4, 1e-5),
             "float16": (1e-2, 2e-3), "bfloat16": (4e-2, 1e-2)}


def compare(got, wanted):
    """What is wrong with `got`; None if nothing is. Integers and truth values must be
    equal, NaN and infinities where they are wanted."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return (f"{got.dtype.name}{list(got.shape)} for "
                f"{wanted.dtype.name}{list(wanted.shape)}")
    if wanted.size == 0:
        return None
    name = wanted.dtype.name
    if name not in TOLERANCE:
        bad = got != wanted
    else:
        itself, largest = TOLERANCE[name]
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
        finite = np.isfinite(wanted)
        allowed = itself * np.abs(wanted, where=finite, out=np.zeros_like(wanted))
        allowed += largest * np.max(np.abs(wanted[finite]), initial=0)
        with np.errstate(invalid="ignore"):
            near = finite & (np.abs(got - wanted) <= allowed)
        bad = ~(near | (got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    if not bad.any():
        return None
    place = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
    return (f"{bad.sum()} of {bad.size} differ: at {list(place)} "
            f"{got[place]}, wanted {wanted[place]}")
