# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the program of scan.mlir, as JAX 0.10 exported it."""

import jax
import jax.numpy as jnp


def layer(x, w):
    h = jax.nn.relu(x @ w)
    return h / jnp.sqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6)


def step(carry, w):
    x, covariance = carry
    x = jax.nn.silu(x @ w)
    covariance = jnp.linalg.cholesky(covariance + x.T @ x + 1e-3 * jnp.eye(8))
    return (x, covariance), x.sum()


def f(params, x):
    for w in params["layers"]:
        x = layer(x, w)
    (x, covariance), sums = jax.lax.scan(step, (x, jnp.eye(8)), params["stack"])
    return jax.nn.softmax(x @ covariance), sums


def shape(*sizes):
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


print(jax.jit(f).lower({"layers": [shape(8, 8)] * 2, "stack": shape(3, 8, 8)}, shape(4, 8)).as_text())
