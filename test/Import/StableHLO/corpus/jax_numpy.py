# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public function of jax.numpy but those below, and the most used of its
submodules linalg and fft."""

import jax.numpy as jnp

from cases import INTEGERS, NUMBERS, TRUTHS, case, cases

_ONE = ("float32",)
_NO_ARRAY = "computes no array from arrays"
_FILES = "reads or writes files or other libraries' arrays"
_TAKES_FUNCTION = "turns a function into another"
EXCLUDED = {name: reason for reason, names in {
    _NO_ARRAY: "array_repr array_str broadcast_shapes can_cast einsum_path "
               "get_printoptions iscomplexobj isdtype isrealobj isscalar issubdtype "
               "iterable ndim printoptions promote_types result_type set_printoptions "
               "shape size mask_indices",
    _FILES: "from_dlpack frombuffer fromfile fromiter fromstring load save savez",
    _TAKES_FUNCTION: "frompyfunc vectorize",
    "its elements have no defined value": "empty empty_like",
    "the size of its result depends on values": "trim_zeros",
    "changes an array in place, which JAX has not": "place put_along_axis",
}.items() for name in names.split()}

# Elementwise, of one array.
cases("jax.numpy arctan arcsinh asinh atan cbrt ceil cos cosh deg2rad degrees exp exp2 "
      "expm1 floor i0 log log10 log1p log2 rad2deg radians rint sin sinc sinh sqrt "
      "tan tanh trunc isfinite isinf isnan isneginf isposinf signbit spacing modf frexp", "nm")
cases("jax.numpy acos arccos arcsin asin arctanh atanh", "nm@unit")
cases("jax.numpy acosh arccosh", "nm@ge1")
cases("jax.numpy abs absolute negative positive sign square conj conjugate real imag "
      "iscomplex isreal angle copy", "nm", dtypes=NUMBERS)
case("jax.numpy.fabs", "nm")
case("jax.numpy.reciprocal", "nm@nonzero")
case("jax.numpy.nan_to_num", "nm@nan")
cases("jax.numpy around round", "nm", decimals=1)
case("jax.numpy.astype", "nm", dtypes=NUMBERS, call=lambda f, s, x: f(x, jnp.int16))
cases("jax.numpy bitwise_count bitwise_invert bitwise_not invert", "nm", dtypes=INTEGERS)
case("jax.numpy.logical_not", "nm", dtypes=TRUTHS)
case("jax.numpy.unwrap", "nm")

# Elementwise, of two.
cases("jax.numpy add subtract multiply maximum minimum fmax fmin equal not_equal greater "
      "greater_equal less less_equal", "nm", "nm", dtypes=NUMBERS)
case("jax.numpy.add", "nm", "m", form="broadcast")
cases("jax.numpy divide true_divide floor_divide mod remainder fmod divmod", "nm",
      "nm@nonzero", dtypes=NUMBERS)
cases("jax.numpy arctan2 atan2 copysign heaviside hypot logaddexp logaddexp2 nextafter",
      "nm", "nm")
cases("jax.numpy power pow float_power", "nm@pos", "nm@small")
case("jax.numpy.power", "nm", "nm@small", form="integer", dtypes=INTEGERS)
case("jax.numpy.ldexp", "nm", "nm:i32@small")
cases("jax.numpy bitwise_and bitwise_or bitwise_xor", "nm", "nm", dtypes=TRUTHS)
cases("jax.numpy bitwise_left_shift bitwise_right_shift left_shift right_shift", "nm",
      "nm@small", dtypes=INTEGERS)
cases("jax.numpy gcd lcm", "nm", "nm", dtypes=INTEGERS)
cases("jax.numpy logical_and logical_or logical_xor", "nm", "nm", dtypes=TRUTHS)
case("jax.numpy.clip", "nm", min=-1, max=2, dtypes=NUMBERS)
case("jax.numpy.where", "nm:bool", "nm", "nm", dtypes=NUMBERS)
case("jax.numpy.select", "nm:bool", "nm:bool", "nm", "nm", dtypes=NUMBERS,
     call=lambda f, s, p, q, x, y: f([p, q], [x, y], 0))
case("jax.numpy.choose", "nm:i32@<3", "nm", "nm", "nm", dtypes=NUMBERS,
     call=lambda f, s, i, *x: f(i, x, mode="clip"))
case("jax.numpy.piecewise", "nm", call=lambda f, s, x: f(
    x, [x < 0, x >= 0], [lambda x: -x, lambda x: x * 2]))
cases("jax.numpy allclose array_equal array_equiv isclose", "nm", "nm")

# Reductions and running ones.
cases("jax.numpy sum prod max min amax amin mean ptp", "nmk", dtypes=NUMBERS, axis=1)
cases("jax.numpy sum mean", "nmk", form="all")
cases("jax.numpy std var median nanmedian", "nmk", axis=1)
cases("jax.numpy all any", "nm", dtypes=TRUTHS, axis=1)
cases("jax.numpy count_nonzero", "nm", dtypes=NUMBERS, axis=0)
case("jax.numpy.average", "nm", "m@pos", call=lambda f, s, x, w: f(x, axis=1, weights=w))
cases("jax.numpy argmax argmin", "nm", dtypes=NUMBERS, axis=1)
cases("jax.numpy nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod "
      "nanstd nansum nanvar", "nm@nan", axis=1)
cases("jax.numpy cumprod cumsum cumulative_prod cumulative_sum", "nm", dtypes=NUMBERS,
      axis=1)
case("jax.numpy.diff", "nm", dtypes=NUMBERS, n=2, axis=1)
case("jax.numpy.ediff1d", "m", dtypes=NUMBERS)
case("jax.numpy.gradient", "nm", axis=1)
case("jax.numpy.trapezoid", "nm", axis=1)
cases("jax.numpy percentile nanpercentile", "nm", q=30, axis=1)
cases("jax.numpy quantile nanquantile", "nm", q=0.4, axis=1)
case("jax.numpy.apply_along_axis", "nm", call=lambda f, s, x: f(jnp.cumsum, 1, x))
case("jax.numpy.apply_over_axes", "nmk", call=lambda f, s, x: f(jnp.sum, x, [0, 2]))

# Products.
case("jax.numpy.dot", "nk", "km", dtypes=NUMBERS)
case("jax.numpy.matmul", "bnk", "bkm", dtypes=NUMBERS)
case("jax.numpy.inner", "nk", "mk")
case("jax.numpy.outer", "n", "m", dtypes=NUMBERS)
case("jax.numpy.einsum", "bnk", "kbm", call=lambda f, s, x, y: f("bnk,kbm->nbm", x, y))
case("jax.numpy.einsum", "nm", "mk", "k", form="three",
     call=lambda f, s, x, y, z: f("nm,mk,k->n", x, y, z))
case("jax.numpy.tensordot", "nmk", "mkb", axes=2)
case("jax.numpy.kron", "nm", "2k", dtypes=NUMBERS)
case("jax.numpy.cross", "n3", "n3")
case("jax.numpy.vdot", "nm", "nm")
case("jax.numpy.vecdot", "nm", "nm")
case("jax.numpy.matvec", "nm", "m")
case("jax.numpy.vecmat", "n", "nm")
case("jax.numpy.trace", "nm", dtypes=NUMBERS)
cases("jax.numpy convolve correlate", "m", "3", dtypes=NUMBERS, mode="same")
cases("jax.numpy cov corrcoef", "nm")
case("jax.numpy.polyval", "3", "nm")

# Shapes.
case("jax.numpy.append", "nm", "nm", axis=0)
cases("jax.numpy array asarray", "nm", dtypes=NUMBERS)
cases("jax.numpy atleast_1d atleast_2d atleast_3d", "m")
case("jax.numpy.array_split", "nm", call=lambda f, s, x: f(x, 3, axis=1))
case("jax.numpy.block", "nm", "nk", call=lambda f, s, x, y: f([[x, y], [y, x]]))
case("jax.numpy.broadcast_arrays", "n1", "m", dtypes=NUMBERS)
case("jax.numpy.broadcast_to", "1m", dtypes=NUMBERS, call=lambda f, s, x: f(x, (s.n, s.m)))
cases("jax.numpy concat concatenate", "nm", "nk", call=lambda f, s, *x: f(x, axis=1))
cases("jax.numpy column_stack dstack hstack stack vstack", "nm", "nm",
      call=lambda f, s, *x: f(x))
case("jax.numpy.delete", "nm", obj=1, axis=0)
case("jax.numpy.diag", "n", dtypes=NUMBERS, k=1)
case("jax.numpy.diag", "nm", form="matrix")
case("jax.numpy.diagflat", "n2")
case("jax.numpy.diagonal", "nmk", axis1=0, axis2=1)
case("jax.numpy.dsplit", "n24", indices_or_sections=2)
case("jax.numpy.hsplit", "n4", indices_or_sections=2)
case("jax.numpy.vsplit", "4m", indices_or_sections=2)
case("jax.numpy.split", "n6", indices_or_sections=3, axis=1)
case("jax.numpy.expand_dims", "nm", axis=(0, 2))
cases("jax.numpy flip fliplr flipud", "nm", dtypes=NUMBERS)
case("jax.numpy.insert", "nm", "m", call=lambda f, s, x, v: f(x, 1, v, axis=0))
case("jax.numpy.ix_", "n:i32", "m:i32", dtypes=("int32",))
case("jax.numpy.matrix_transpose", "bnm")
case("jax.numpy.meshgrid", "n", "m", dtypes=NUMBERS)
case("jax.numpy.moveaxis", "nmk", source=0, destination=2)
case("jax.numpy.pad", "nm", dtypes=NUMBERS, pad_width=((1, 2), (0, 3)))
case("jax.numpy.pad", "nm", form="reflect", pad_width=((1, 2), (0, 1)), mode="reflect")
case("jax.numpy.permute_dims", "nmk", axes=(2, 0, 1))
case("jax.numpy.ravel", "nm", dtypes=NUMBERS)
case("jax.numpy.repeat", "nm", repeats=3, axis=1)
case("jax.numpy.repeat", "nm", form="counts", call=lambda f, s, x: f(
    x, jnp.arange(s.n), axis=0, total_repeat_length=7))
case("jax.numpy.reshape", "nm", dtypes=NUMBERS, call=lambda f, s, x: f(x, (s.m, -1)))
case("jax.numpy.resize", "nm", call=lambda f, s, x: f(x, (s.m, s.k)))
case("jax.numpy.roll", "nm", dtypes=NUMBERS, shift=2, axis=1)
case("jax.numpy.roll", "nm", "():i32@<m", form="dynamic", axis=1)
case("jax.numpy.rollaxis", "nmk", axis=2)
case("jax.numpy.rot90", "nm", dtypes=NUMBERS)
case("jax.numpy.squeeze", "n1m", axis=1)
case("jax.numpy.swapaxes", "nmk", axis1=0, axis2=2)
case("jax.numpy.tile", "nm", reps=(2, 3))
case("jax.numpy.transpose", "nmk", dtypes=NUMBERS)
cases("jax.numpy tril triu", "nm", dtypes=NUMBERS, k=1)
case("jax.numpy.unstack", "nm", axis=1)
case("jax.numpy.vander", "m", N=4)

# Arrays from nothing.
case("jax.numpy.arange", dtypes=NUMBERS, call=lambda f, s: f(1, s.m, 2, dtype=s.dtype))
cases("jax.numpy bartlett blackman hamming hanning", dtypes=_ONE, call=lambda f, s: f(s.m))
cases("jax.numpy identity eye tri", dtypes=NUMBERS,
      call=lambda f, s: f(s.m, dtype=s.dtype))
case("jax.numpy.kaiser", dtypes=_ONE, call=lambda f, s: f(s.m, 5.0))
case("jax.numpy.diag_indices", dtypes=("int32",), call=lambda f, s: f(s.n))
case("jax.numpy.diag_indices_from", "nn", dtypes=("float32", "int32"))
case("jax.numpy.fromfunction", call=lambda f, s: f(lambda i, j: i + 2 * j, (s.n, s.m),
                              dtype=s.dtype), dtypes=NUMBERS)
case("jax.numpy.full", "()", dtypes=NUMBERS, call=lambda f, s, x: f((s.n, s.m), x))
case("jax.numpy.full_like", "nm", dtypes=NUMBERS, fill_value=2)
cases("jax.numpy ones_like zeros_like", "nm", dtypes=NUMBERS)
cases("jax.numpy ones zeros", dtypes=NUMBERS, call=lambda f, s: f((s.n, s.m), s.dtype))
cases("jax.numpy linspace", "()", "()", call=lambda f, s, a, b: f(a, b, s.m))
cases("jax.numpy geomspace logspace", "()@pos", "()@pos", call=lambda f, s, a, b: f(a, b, s.m))
case("jax.numpy.indices", dtypes=("int32",), call=lambda f, s: f((s.n, s.m)))
cases("jax.numpy tril_indices triu_indices", dtypes=("int32",),
      call=lambda f, s: f(s.n))
cases("jax.numpy tril_indices_from triu_indices_from", "nn", dtypes=("float32", "int32"))

# Indexing.
case("jax.numpy.take", "nm", "k:i32@<m", axis=1, dtypes=NUMBERS)
case("jax.numpy.take", "mk", "bn:i32@<m", form="embedding", axis=0)
case("jax.numpy.take_along_axis", "nm", "nk:i32@<m", axis=1, dtypes=NUMBERS)
case("jax.numpy.put", "nm", "2:i32@<2", "2", call=lambda f, s, x, i, v: f(
    x, jnp.array([1, 0], jnp.int32), v, inplace=False))
case("jax.numpy.fill_diagonal", "nm", val=2, inplace=False)
case("jax.numpy.ravel_multi_index", "k:i32@<n", "k:i32@<m", dtypes=("int32",),
     call=lambda f, s, i, j: f((i, j), (s.n, s.m), mode="clip"))
case("jax.numpy.unravel_index", "k:i32@<9", dtypes=("int32",),
     call=lambda f, s, i: f(i, (s.n, s.m)))
case("jax.numpy.argwhere", "nm", dtypes=TRUTHS, size=5, fill_value=-1)
cases("jax.numpy flatnonzero nonzero", "nm", dtypes=TRUTHS, size=5, fill_value=0)
cases("jax.numpy compress extract", "m:bool", "m", call=lambda f, s, p, x: f(
    p, x, size=4, fill_value=0))

# Order and sets.
cases("jax.numpy sort argsort", "nm", dtypes=NUMBERS, axis=1)
case("jax.numpy.sort_complex", "m:c64", dtypes=_ONE)
cases("jax.numpy partition argpartition", "nm@distinct", kth=2, axis=1, dtypes=NUMBERS)
case("jax.numpy.lexsort", "m", "m:i32@small", call=lambda f, s, x, y: f((x, y)))
case("jax.numpy.searchsorted", "m@sorted", "nk", dtypes=NUMBERS)
case("jax.numpy.digitize", "nm", "k@sorted", dtypes=NUMBERS)
case("jax.numpy.interp", "nm", "k@sorted", "k", dtypes=("float32", "float16"))
case("jax.numpy.bincount", "m:i32@<5", dtypes=("int32",), length=6)
cases("jax.numpy histogram histogram_bin_edges", "m", bins=4, range=(-2, 2))
case("jax.numpy.histogram2d", "m", "m", bins=3, range=((-2, 2), (-2, 2)))
case("jax.numpy.histogramdd", "m2", bins=3, range=((-2, 2), (-2, 2)))
cases("jax.numpy isin", "nm", "k", dtypes=NUMBERS)
cases("jax.numpy intersect1d setdiff1d setxor1d union1d", "m:i32@small", "m:i32@<6",
      dtypes=("int32",), size=5, fill_value=-1)
cases("jax.numpy unique unique_all unique_counts unique_inverse unique_values",
      "m:i32@small", dtypes=("int32",), size=5, fill_value=-1)
case("jax.numpy.packbits", "nm", dtypes=("uint8", "bool"), axis=1)
case("jax.numpy.unpackbits", "nm:u8", dtypes=("uint8",), axis=1)

# Polynomials.
cases("jax.numpy polyadd polysub polymul", "3", "4", dtypes=NUMBERS)
case("jax.numpy.polyder", "4", dtypes=NUMBERS)
case("jax.numpy.polyint", "4", dtypes=NUMBERS)
case("jax.numpy.polydiv", "4", "2@pos")
case("jax.numpy.poly", "4")
case("jax.numpy.polyfit", "m@distinct", "m", deg=2, dtypes=_ONE)
case("jax.numpy.roots", "4@pos", dtypes=_ONE, strip_zeros=False)

# Submodules.
case("jax.numpy.linalg.norm", "nm", dtypes=_ONE, axis=1)
case("jax.numpy.linalg.matrix_power", "nn", n=3)
case("jax.numpy.linalg.multi_dot", "nk", "km", "mb", call=lambda f, s, *x: f(x))
cases("jax.numpy.linalg cholesky det eigh inv pinv qr slogdet svd", "nn@spd", dtypes=_ONE)
case("jax.numpy.linalg.solve", "nn@spd", "nm", dtypes=_ONE)
case("jax.numpy.linalg.lstsq", "mn", "m", dtypes=_ONE)
cases("jax.numpy.fft fft ifft", "nm:c64", dtypes=_ONE)
cases("jax.numpy.fft rfft fft2", "nm", dtypes=_ONE)
case("jax.numpy.fft.irfft", "nm:c64", dtypes=_ONE)
case("jax.numpy.fft.fftfreq", dtypes=_ONE, call=lambda f, s: f(s.m))
