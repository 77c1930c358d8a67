#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the pairs NAME.whole.mlir and NAME.local.mlir beside this file.

    make.py [NAME...]

The whole program is what JAX hands to XLA, the local one what XLA's partitioner makes
of it on four devices, right behind the pass, as StableHLO. Needs JAX; the tests read
what is in the repository, made with JAX 0.10.2.
"""

import glob
import os
import pathlib
import sys
import tempfile

DUMP = tempfile.TemporaryDirectory()
os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count=4 --xla_dump_to={DUMP.name} "
                           "--xla_dump_hlo_as_proto --xla_dump_hlo_pass_re=spmd-partitioning")

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import _jax, xla_client
from jax._src.lib.mlir import ir
from jax.sharding import Mesh, NamedSharding, PartitionSpec

HEADER = """// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Written by make.py: {}.
"""
MESH = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))


def cut(*axes):
    return NamedSharding(MESH, PartitionSpec(*axes))


def mlp(x, w1, b, w2):
    return jax.nn.softmax(jnp.tanh(x @ w1 + b) @ w2)


def attention(x, wq, wk, wv, wo):
    q, k, v = (jnp.einsum("bsh,hnd->bsnd", x, w) for w in (wq, wk, wv))
    scores = jnp.einsum("bsnd,btnd->bnst", q, k) / 2
    scores = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), scores, -1e9)
    return jnp.einsum("bnst,btnd,ndh->bsh", jax.nn.softmax(scores), v, wo)


def gradient(x, w1, w2):
    return jax.grad(lambda w: (jnp.tanh(x @ w[0]) @ w[1]).sum())((w1, w2))


def layers(x, w):
    return jax.lax.scan(lambda c, layer: (jnp.tanh(c @ layer), None), x, w)[0]


# The function, how its arguments and results are cut, the arguments' shapes.
PROGRAMS = {
    "attention": (attention, (cut("x"), cut(None, "y"), cut(None, "y"), cut(None, "y"), cut("y")),
                  cut("x"), ((2, 4, 8), (8, 4, 2), (8, 4, 2), (8, 4, 2), (4, 2, 8))),
    "gradient": (gradient, (cut("x"), cut(None, "y"), cut("y")), (cut(None, "y"), cut("y")),
                 ((8, 16), (16, 32), (32, 8))),
    "layers": (layers, (cut("x"), cut(None, "y", "x")), cut("x"), ((8, 4), (3, 4, 4))),
    "mlp": (mlp, (cut("x"), cut(None, "y"), cut("y"), cut("y")), cut("x"),
            ((8, 16), (16, 32), (32,), (32, 8))),
    "reshape": (lambda x: x.reshape(12, 4), (cut(("x", "y")),), cut(None, "y"), ((8, 6),)),
    "roll": (lambda x: jnp.roll(x, 2, axis=0), (cut("x"),), cut("x"), ((8, 4),)),
    "sort": (lambda x: jnp.sort(x, -1), (cut("x", "y"),), cut("x", "y"), ((8, 8),)),
    "swap": (lambda x: x * 2, (cut("x", "y"),), cut("y", "x"), ((8, 8),)),
    "transpose": (lambda x: x.T * 3, (cut(("x", "y")),), cut(("x", "y")), ((8, 8),)),
}


def get_module(proto):
    """The HloModuleProto in a HloProto: its first field."""
    length = shift = 0
    for i, byte in enumerate(proto[1:], start=1):
        length |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return proto[i + 1:i + 1 + length]
    return b""


def main():
    folder = pathlib.Path(__file__).parent
    for name in sys.argv[1:] or PROGRAMS:
        function, ins, outs, shapes = PROGRAMS[name]
        for path in glob.glob(f"{DUMP.name}/*"):
            if os.path.isfile(path):
                os.remove(path)
        arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
        lowered = jax.jit(function, in_shardings=ins, out_shardings=outs).lower(*arguments)
        lowered.compile()
        [dump] = glob.glob(f"{DUMP.name}/*jit_*after_spmd-partitioning*.pb")
        computation = xla_client.XlaComputation(get_module(pathlib.Path(dump).read_bytes()))
        text = _jax.mlir.xla_computation_to_mlir_module(computation)
        with mlir.make_ir_context():
            local = ir.Module.parse(text).operation.get_asm(enable_debug_info=False)
        (folder / f"{name}.whole.mlir").write_text(
            HEADER.format("what JAX hands to XLA") + lowered.as_text())
        (folder / f"{name}.local.mlir").write_text(
            HEADER.format("what XLA's partitioner makes of it") + local + "\n")


if __name__ == "__main__":
    main()
