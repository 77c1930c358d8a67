# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public function of jax.lax but those below; for control flow and indexing
in the forms that models have."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import INTEGERS, NUMBERS, TRUTHS, case, cases

_NO_ARRAY = "computes no array from arrays"
_WANTS_MESH = "wants the axis of a device mesh; mapped axes are covered by psum and others"
EXCLUDED = {
    "ConvGeneralDilatedDimensionNumbers": _NO_ARRAY,
    "DotDimensionNumbers": _NO_ARRAY,
    "PrecisionLike": _NO_ARRAY,
    "after_all": _NO_ARRAY,
    "broadcast_shapes": _NO_ARRAY,
    "conv_dimension_numbers": _NO_ARRAY,
    "conv_general_permutations": _NO_ARRAY,
    "conv_general_shape_tuple": _NO_ARRAY,
    "conv_shape_tuple": _NO_ARRAY,
    "conv_transpose_shape_tuple": _NO_ARRAY,
    "create_token": _NO_ARRAY,
    "dtype": _NO_ARRAY,
    "padtype_to_pads": _NO_ARRAY,
    "reduce_window_shape_tuple": _NO_ARRAY,
    "shape_as_value": _NO_ARRAY,
    "dce_sink": _NO_ARRAY,
    "empty": "its elements have no defined value",
    "rng_uniform": "its numbers are not defined",
    "stage": "an experiment: takes a stream",
    "pbroadcast": _WANTS_MESH,
    "pcast": _WANTS_MESH,
    "precv": _WANTS_MESH,
    "psend": _WANTS_MESH,
    "ragged_all_to_all": _WANTS_MESH,
    "with_sharding_constraint": "wants a device mesh; whole models cover it",
    "scaled_dot": "wants element types of block scaling",
    "conv_general_dilated_local": "convolution without shared weights",
}

# Elementwise.
cases("jax.lax asinh atan bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erfc "
      "exp exp2 expm1 floor is_finite lgamma log log1p logistic reciprocal round rsqrt "
      "sin sinh sqrt tan tanh stop_gradient optimization_barrier", "nm")
cases("jax.lax acos asin atanh erf_inv", "nm@unit")
case("jax.lax.acosh", "nm@ge1")
cases("jax.lax abs neg sign square", "nm", dtypes=NUMBERS)
cases("jax.lax add sub mul max min eq ne ge gt le lt", "nm", "nm", dtypes=NUMBERS)
cases("jax.lax div rem", "nm", "nm@nonzero", dtypes=NUMBERS)
cases("jax.lax atan2 nextafter", "nm", "nm")
case("jax.lax.pow", "nm@pos", "nm")
case("jax.lax.pow", "nm", "nm:i32@small", form="integer")
case("jax.lax.integer_pow", "nm", call=lambda f, s, x: f(x, 3), dtypes=NUMBERS)
case("jax.lax.integer_pow", "nm@nonzero", call=lambda f, s, x: f(x, -2), form="negative")
cases("jax.lax igamma igammac random_gamma_grad igamma_grad_a", "nm@pos", "nm@pos")
case("jax.lax.betainc", "nm@pos", "nm@pos", "nm@prob")
case("jax.lax.polygamma", "nm:i32@<3", "nm@pos",
     call=lambda f, s, n, x: f(n.astype(x.dtype), x))
case("jax.lax.zeta", "nm@ge1", "nm@pos")
cases("jax.lax bitwise_and bitwise_or bitwise_xor", "nm", "nm", dtypes=TRUTHS)
case("jax.lax.bitwise_not", "nm", dtypes=TRUTHS)
cases("jax.lax shift_left shift_right_arithmetic shift_right_logical",
      "nm", "nm@small", dtypes=INTEGERS)
cases("jax.lax clz population_count", "nm", dtypes=INTEGERS)
case("jax.lax.mulhi", "nm", "nm", dtypes=("int32", "uint32"))
case("jax.lax.clamp", "()", "nm", "()", dtypes=NUMBERS)
case("jax.lax.clamp", "nm", "nm", "nm", dtypes=NUMBERS, form="arrays")
cases("jax.lax select", "nm:bool", "nm", "nm", dtypes=NUMBERS)
case("jax.lax.select_n", "nm:i32@<3", "nm", "nm", "nm", dtypes=NUMBERS)
case("jax.lax.reduce_precision", "nm", call=lambda f, s, x: f(x, 5, 7))
case("jax.lax.convert_element_type", "nm", dtypes=NUMBERS,
     call=lambda f, s, x: f(x, jnp.float16))
case("jax.lax.convert_element_type", "nm", dtypes=("float32", "bool"), form="integer",
     call=lambda f, s, x: f(x, jnp.int8))
case("jax.lax.bitcast_convert_type", "nm", dtypes=NUMBERS,
     call=lambda f, s, x: f(x, jnp.uint32))

# Complex numbers.
case("jax.lax.complex", "nm", "nm", dtypes=("float32",))
cases("jax.lax conj real imag", "nm:c64", dtypes=("float32",))
case("jax.lax.fft", "nm:c64", dtypes=("float32",),
     call=lambda f, s, x: f(x, "fft", (s.m,)))

# Shapes.
case("jax.lax.broadcast", "nm", dtypes=NUMBERS, call=lambda f, s, x: f(x, (s.k, 2)))
case("jax.lax.broadcast_in_dim", "nm", dtypes=NUMBERS,
     call=lambda f, s, x: f(x, (s.n, s.k, s.m), (0, 2)))
case("jax.lax.broadcast_like", "m", "nm", dtypes=NUMBERS)
case("jax.lax.broadcast_to_rank", "nm", rank=4)
case("jax.lax.broadcasted_iota", dtypes=NUMBERS,
     call=lambda f, s: f(s.dtype, (s.n, s.m), 1))
case("jax.lax.iota", dtypes=NUMBERS, call=lambda f, s: f(s.dtype, s.m))
case("jax.lax.full", dtypes=NUMBERS, call=lambda f, s: f((s.n, s.m), 3, s.dtype))
case("jax.lax.full_like", "nm", dtypes=NUMBERS, fill_value=3)
case("jax.lax.collapse", "nmk", call=lambda f, s, x: f(x, 1, 3))
case("jax.lax.concatenate", "nm", "km", dtypes=NUMBERS, call=lambda f, s, *x: f(x, 0))
case("jax.lax.expand_dims", "nm", dimensions=(0, 2))
case("jax.lax.pad", "nm", "()", dtypes=NUMBERS, call=lambda f, s, x, v: f(
    x, v, ((1, 2, 0), (0, 1, 2))))
case("jax.lax.pad", "nm", "()", dtypes=NUMBERS, form="negative", call=lambda f, s, x, v: f(
    x, v, ((-1, 2, 0), (1, -2, 0))))
case("jax.lax.reshape", "nm", dtypes=NUMBERS, call=lambda f, s, x: f(x, (s.m, s.n)))
case("jax.lax.rev", "nm", dtypes=NUMBERS, dimensions=(0, 1))
case("jax.lax.slice", "nm", dtypes=NUMBERS,
     call=lambda f, s, x: f(x, (1, 0), (s.n, s.m), (1, 2)))
case("jax.lax.slice_in_dim", "nm", dtypes=NUMBERS, start_index=1, limit_index=3, axis=1)
case("jax.lax.split", "nm", call=lambda f, s, x: f(x, (2, s.m - 2), axis=1))
case("jax.lax.squeeze", "n1m1", dimensions=(1, 3))
case("jax.lax.stack", "nm", "nm", call=lambda f, s, *x: f(x, axis=1))
case("jax.lax.unstack", "nm", axis=1)
case("jax.lax.tile", "nm", reps=(2, 3))
case("jax.lax.transpose", "nmk", dtypes=NUMBERS, permutation=(2, 0, 1))

# Products.
case("jax.lax.batch_matmul", "bnk", "bkm")
case("jax.lax.dot", "nk", "km", dtypes=NUMBERS)
case("jax.lax.dot_general", "bnk", "bkm",
     dimension_numbers=(((2,), (1,)), ((0,), (0,))))
case("jax.lax.dot_general", "bkn", "mbk", form="wide", preferred_element_type=jnp.float32,
     dtypes=("float32", "float16"),
     dimension_numbers=(((1,), (2,)), ((0,), (1,))))
case("jax.lax.ragged_dot", "mk", "2kn", call=lambda f, s, x, w: f(
    x, w, jnp.array([3, s.m - 3], jnp.int32)))
case("jax.lax.ragged_dot_general", "mk", "2kn", call=lambda f, s, x, w: f(
    x, w, jnp.array([3, s.m - 3], jnp.int32), lax.RaggedDotDimensionNumbers(
        (((1,), (1,)), ((), ())), [0], [0])))
case("jax.lax.conv", "b3mm", "k333", window_strides=(1, 1), padding="SAME")
case("jax.lax.conv_with_general_padding", "b3mm", "k333", window_strides=(2, 1),
     padding=((1, 1), (0, 2)), lhs_dilation=(1, 2), rhs_dilation=(1, 1))
case("jax.lax.conv_transpose", "bmm3", "333k", strides=(2, 2), padding="SAME")
case("jax.lax.conv_general_dilated", "b663", "223k", form="patches",
     window_strides=(2, 2), padding="VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
case("jax.lax.conv_general_dilated", "bm4", "324", form="depthwise", window_strides=(1,),
     padding=((2, 0),), dimension_numbers=("NWC", "WIO", "NWC"),
     feature_group_count=2)
case("jax.lax.conv_general_dilated_patches", "b3mm", filter_shape=(2, 2),
     window_strides=(2, 2), padding="VALID")

# Reductions.
cases("jax.lax reduce_sum reduce_prod reduce_max reduce_min", "nmk", dtypes=NUMBERS,
      axes=(0, 2))
cases("jax.lax reduce_and reduce_or reduce_xor", "nm", dtypes=TRUTHS, axes=(1,))
case("jax.lax.reduce", "nm", dtypes=NUMBERS, call=lambda f, s, x: f(
    x, 0 if x.dtype == jnp.int32 else 0., lax.add, (1,)))
case("jax.lax.reduce", "nm", "nm:i32", form="two", call=lambda f, s, x, i: f(
    (x, i), (jnp.zeros((), x.dtype), jnp.zeros((), jnp.int32)),
    lambda a, b: (lax.max(a[0], b[0]), lax.add(a[1], b[1])), (0,)))
cases("jax.lax argmax argmin", "nm", dtypes=NUMBERS, axis=1, index_dtype=jnp.int32)
cases("jax.lax cumsum cumprod cummax cummin", "nm", dtypes=NUMBERS, axis=1)
case("jax.lax.cumsum", "nm", form="reverse", reverse=True, axis=0)
case("jax.lax.cumlogsumexp", "nm", axis=1)
case("jax.lax.reduce_window", "nm", dtypes=NUMBERS, call=lambda f, s, x: f(
    x, -np.inf if x.dtype != jnp.int32 else -2**31, lax.max, (2, 3), (1, 2), "SAME"))
case("jax.lax.reduce_window", "nm", form="sum", call=lambda f, s, x: f(
    x, 0., lax.add, (2, 2), (2, 2), "VALID"))

# Indexing.
case("jax.lax.dynamic_slice", "nm", "():i32@<n", "():i32@<9", dtypes=NUMBERS,
     call=lambda f, s, x, i, j: f(x, (i, j), (2, 3)))
case("jax.lax.dynamic_slice_in_dim", "nm", "():i32@<m", dtypes=NUMBERS, slice_size=3, axis=1)
case("jax.lax.dynamic_index_in_dim", "nm", "():i32@<n", dtypes=NUMBERS)
case("jax.lax.dynamic_update_slice", "nm", "23", "():i32@<n", "():i32@<9", dtypes=NUMBERS,
     call=lambda f, s, x, u, i, j: f(x, u, (i, j)))
case("jax.lax.dynamic_update_slice_in_dim", "nm", "n3", "():i32@<m", dtypes=NUMBERS, axis=1)
case("jax.lax.dynamic_update_index_in_dim", "nm", "m", "():i32@<n", dtypes=NUMBERS, axis=0)
case("jax.lax.index_in_dim", "nm", index=1, axis=1)
case("jax.lax.index_take", "nm", "k:i32@<n", "k:i32@<m", call=lambda f, s, x, i, j: f(
    x, (i, j), (0, 1)))
case("jax.lax.gather", "nm", "k1:i32@<n", dtypes=NUMBERS, call=lambda f, s, x, i: f(
    x, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, s.m)))
case("jax.lax.gather", "nm", "k2:i32@<9", form="fill", call=lambda f, s, x, i: f(
    x, i, lax.GatherDimensionNumbers((1, 2), (), (0, 1)), (2, 3),
    mode=lax.GatherScatterMode.FILL_OR_DROP))
case("jax.lax.gather", "bnm", "bk1:i32@<n", form="batch", call=lambda f, s, x, i: f(
    x, i, lax.GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)), (1, 1, s.m),
    mode=lax.GatherScatterMode.CLIP))
for _name in "scatter scatter_add scatter_sub scatter_mul scatter_min scatter_max".split():
    # Rows that are written twice have no defined winner.
    case(f"jax.lax.{_name}", "nm", "21:i32@<2", "2m", dtypes=NUMBERS,
         call=lambda f, s, x, i, u: f(
             x, i if f is not lax.scatter else jnp.array([[2], [0]], jnp.int32), u,
             lax.ScatterDimensionNumbers((1,), (0,), (0,))))
case("jax.lax.scatter_add", "bnm", "bk1:i32@<9", "bkm", form="batch",
     call=lambda f, s, x, i, u: f(x, i, u, lax.ScatterDimensionNumbers(
         (2,), (1,), (1,), (0,), (0,)), mode=lax.GatherScatterMode.FILL_OR_DROP))
case("jax.lax.scatter_apply", "nm", "21:i32@<2", call=lambda f, s, x, i: f(
    x, jnp.array([[2], [0]], jnp.int32), jnp.sin,
    lax.ScatterDimensionNumbers((1,), (0,), (0,)), update_shape=(2, s.m)))
case("jax.lax.sort", "nm", dtypes=NUMBERS)
case("jax.lax.sort", "nm", "nm:i32", form="two", call=lambda f, s, *x: f(
    x, dimension=0, num_keys=2))
case("jax.lax.sort_key_val", "nm", "nm:i32", dtypes=NUMBERS)
case("jax.lax.top_k", "nm", k=2, dtypes=NUMBERS)
cases("jax.lax approx_max_k approx_min_k", "nm", k=2, dtypes=("float32",))

# Random bits.
case("jax.lax.rng_bit_generator", "4:u32", dtypes=("uint32",),
     call=lambda f, s, key: f(key, (s.n, s.m)))

# Control flow.
case("jax.lax.cond", "():bool", "nm", "nm", dtypes=NUMBERS, call=lambda f, s, p, x, y: f(
    p, lambda x, y: (x + y, x), lambda x, y: (x * y, y), x, y))
case("jax.lax.switch", "():i32@<5", "nm", "nm", dtypes=NUMBERS, call=lambda f, s, i, x, y: f(
    i, [lax.add, lax.sub, lax.mul], x, y))
case("jax.lax.fori_loop", "nm", dtypes=NUMBERS, call=lambda f, s, x: f(
    0, s.n, lambda i, x: x.at[i].add(x.sum(0)), x))
case("jax.lax.fori_loop", "nm", "():i32@<n", form="dynamic", call=lambda f, s, x, k: f(
    0, k, lambda i, x: x * 0.5 + 1, x))
case("jax.lax.while_loop", "nm@pos", call=lambda f, s, x: f(
    lambda c: jnp.max(c[0]) < 50, lambda c: (c[0] * 2, c[1] + 1), (x, 0)))
case("jax.lax.scan", "n", "mn", "nn", form="carry", call=lambda f, s, h, xs, w: f(
    lambda h, x: (jnp.tanh(h @ w + x), h.sum()), h, xs))
case("jax.lax.scan", "bn", "knn", form="layers", call=lambda f, s, x, w: f(
    lambda x, w: (x + jax.nn.silu(x @ w), None), x, w))
case("jax.lax.scan", "n", "mn", form="reverse", call=lambda f, s, h, xs: f(
    lambda h, x: (h + x, h * x), h, xs, reverse=True, unroll=2))
case("jax.lax.scan", "n", "mn", form="checkpoint", call=lambda f, s, h, xs: f(
    jax.checkpoint(lambda h, x: (jnp.sin(h) + x, h)), h, xs))
case("jax.lax.map", "nm", call=lambda f, s, x: f(lambda row: jnp.cumsum(row), x))
case("jax.lax.associative_scan", "nm", dtypes=NUMBERS,
     call=lambda f, s, x: f(lax.add, x, axis=1))
case("jax.lax.composite", "nm", call=lambda f, s, x: f(
    lambda x: jnp.sin(x) * x, name="example.sin_times")(x))
case("jax.lax.platform_dependent", "nm", call=lambda f, s, x: f(
    x, cpu=jnp.sin, default=jnp.cos))
case("jax.lax.custom_root", "n@pos", call=lambda f, s, a: f(
    lambda x: x * x - a, jnp.ones_like(a),
    lambda g, x: lax.fori_loop(0, 8, lambda _, x: x - g(x) / (2 * x), x),
    lambda g, y: y / g(jnp.ones_like(y))))
case("jax.lax.custom_linear_solve", "n@pos", "n", call=lambda f, s, d, b: f(
    lambda x: d * x, b, lambda mv, b: b / d, symmetric=True))

# Collectives of a mapped axis, which leave ordinary ops.
cases("jax.lax psum pmax pmin pmean all_gather", "nm", call=lambda f, s, x: f(x, "i"),
      mapped=True)
case("jax.lax.psum_scatter", "bm", mapped=True, call=lambda f, s, x: f(x, "i"))
case("jax.lax.all_to_all", "bm", mapped=True, call=lambda f, s, x: f(x, "i", 0, 1))
case("jax.lax.pswapaxes", "bm", mapped=True, call=lambda f, s, x: f(x, "i", 0))
case("jax.lax.ppermute", "nm", mapped=True, call=lambda f, s, x: f(
    x, "i", [(i, (i + 1) % s.b) for i in range(s.b)]))
case("jax.lax.pshuffle", "nm", mapped=True, call=lambda f, s, x: f(
    x, "i", list(reversed(range(s.b)))))
case("jax.lax.axis_index", "nm", mapped=True, call=lambda f, s, x: x + f("i").astype(x.dtype))
case("jax.lax.axis_size", "nm", mapped=True, call=lambda f, s, x: x * f("i"))
