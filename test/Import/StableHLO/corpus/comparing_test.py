# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the corpus takes for the same number, and how it reads a program's names."""

import sys
import unittest

import ml_dtypes
import numpy as np

from comparing import compare
from running import get_names


def are_same(got, wanted, dtype):
    return compare(np.array(got, dtype), np.array(wanted, dtype)) is None


class Compares(unittest.TestCase):
    def test_integers_are_exact(self):
        self.assertTrue(are_same([1, 2], [1, 2], np.int32))
        self.assertFalse(are_same([1, 2], [1, 3], np.int32))
        self.assertFalse(are_same([True], [False], np.bool_))

    def test_rounding_is_allowed(self):
        self.assertTrue(are_same([1, 1000.01], [1, 1000], np.float32))
        self.assertFalse(are_same([1, 1001], [1, 1000], np.float32))
        self.assertTrue(are_same([1, 1.03], [1, 1], ml_dtypes.bfloat16))
        self.assertFalse(are_same([1, 1.1], [1, 1], ml_dtypes.bfloat16))

    def test_what_large_addends_leave(self):
        self.assertTrue(are_same([1e-3, 1000], [2e-3, 1000], np.float32))
        self.assertFalse(are_same([1e-3, 1], [2e-3, 1], np.float32))

    def test_places_of_nan_and_infinity(self):
        nan, inf = np.nan, np.inf
        self.assertTrue(are_same([nan, inf, -inf, 1], [nan, inf, -inf, 1], np.float32))
        for got in ([1, 1], [nan, nan], [1, nan]):
            self.assertFalse(are_same(got, [nan, 1], np.float32))
        self.assertFalse(are_same([-inf], [inf], np.float32))
        self.assertFalse(are_same([1e38], [inf], np.float32))
        self.assertFalse(are_same([inf], [1e38], np.float32))

    def test_shape_and_type(self):
        self.assertIsNotNone(compare(np.zeros(3, np.float32), np.zeros((3, 1), np.float32)))
        self.assertIsNotNone(compare(np.zeros(3, np.float32), np.zeros(3, np.int32)))
        self.assertTrue(are_same([], [], np.float32))


class Names(unittest.TestCase):
    def test_names(self):
        self.assertEqual(get_names(
            'func.func public @main(%arg0: tensor<2x3xf32> {spmd.sharding = '
            '#spmd.sharding<@m, [{}, {"x"}]>, tp.name = "a, (\\22b\\\\"}, %arg1: tensor<i32>) -> '
            '(tensor<2xf32> {tp.name = "y"}, tensor<f32>) {\n'),
            (['a, ("b\\', "arg1"], ["y", "result1"]))
        self.assertEqual(get_names("func.func @main() -> tensor<2xf32> {\n"),
                         ([], ["result0"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
