# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tp_export writes: names by path, weights with their source, shardings, and errors
where names clash or arguments have gone."""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import safetensors.numpy  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

import tp_export  # noqa: E402

State = collections.namedtuple("State", "mu count")
MATRIX = jax.ShapeDtypeStruct((4, 6), jnp.float32)


class Export(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "made"

    def export(self, function, *arguments, **options):
        path = tp_export.export(function, *arguments, to=self.folder, **options)
        self.assertEqual(path, self.folder / "model.mlir")
        return path.read_text()

    def test_names_are_paths(self):
        def step(params, state, x):
            return x @ params["h"][0]["w"], State(state.mu, state.count + 1)
        text = self.export(step, {"h": [{"w": MATRIX}]},
                           State({"w": MATRIX}, jax.ShapeDtypeStruct((), jnp.int32)),
                           jax.ShapeDtypeStruct((2, 4), jnp.float32))
        (entry,) = [line for line in text.splitlines() if "@main(" in line]
        arguments, results = entry.split(" -> ")
        self.assertRegex(arguments, '"h.0.w", tp.source = #tp.source<"h.0.w", '
                         r"stored=\[4, 6\].*"
                         '"state.mu.w"}.*"state.count"}.*"x"}')
        self.assertEqual(arguments.count("tp.source"), 2)  # name and mnemonic, once
        self.assertRegex(results, '"result.0"}.*"result.1.mu.w"}.*"result.1.count"}')

    def test_weights_are_stored(self):
        weights = {"a": jnp.arange(6.).reshape(2, 3),
                   "b": jnp.ones((3,), jnp.bfloat16)}
        self.export(lambda p, x: x @ p["a"] + p["b"], weights, np.ones((1, 2), np.float32))
        stored = safetensors.numpy.load_file(self.folder / "model.safetensors")
        self.assertEqual(stored.keys(), weights.keys())
        for name, value in weights.items():
            np.testing.assert_array_equal(stored[name], np.asarray(value))

    def test_typed_keys_are_their_numbers(self):
        keys = {"layer": {"key": jax.random.key(3), "w": jnp.ones((4, 6))},
                "keys": jax.random.split(jax.random.key(4, impl="rbg"), 3)}

        def step(weights, state, x):
            def draw(key, _):
                key, own = jax.random.split(key)
                return key, x * jax.random.bernoulli(own, 0.5, x.shape) @ weights["layer"]["w"]
            key, drawn = jax.lax.scan(draw, state["rng"], length=2)
            drawn += jax.random.uniform(weights["layer"]["key"], drawn.shape)
            return {"rng": key, "own": weights["keys"]}, drawn
        text = self.export(step, keys, {"rng": jax.random.key(5)}, jnp.ones((2, 4)))
        (entry,) = [line for line in text.splitlines() if "@main(" in line]
        self.assertEqual(
            re.findall(r'tensor<(\w+ui32)> [^%]*?tp.name = "(.*?)"', entry),
            [("3x4xui32", "keys"), ("2xui32", "layer.key"), ("2xui32", "state.rng"),
             ("3x4xui32", "result.0.own"), ("2xui32", "result.0.rng")])
        stored = safetensors.numpy.load_file(self.folder / "model.safetensors")
        for name, key in (("keys", keys["keys"]), ("layer.key", keys["layer"]["key"])):
            np.testing.assert_array_equal(stored[name], jax.random.key_data(key))
        shapes = jax.eval_shape(lambda: (keys, {"rng": jax.random.key(5)}, jnp.ones((2, 4))))
        self.assertEqual(self.export(step, *shapes), text)

    def test_typed_keys_compute(self):
        """Two devices draw what JAX does, and give the next key."""
        def step(weights, rng, x):
            rng, own = jax.random.split(rng)
            x = jnp.where(jax.random.bernoulli(own, 0.5, x.shape), x, 0)
            return rng, x + jax.random.uniform(weights["key"], x.shape)
        arguments = {"key": jax.random.key(3)}, jax.random.key(5), jnp.ones((4, 6))
        program, given, got = (self.folder / name for name in
                               ("model.mlir", "in.safetensors", "out.safetensors"))
        self.export(step, *arguments)
        safetensors.numpy.save_file({"rng": np.asarray(jax.random.key_data(arguments[1])),
                                     "x": np.ones((4, 6), np.float32)}, given)
        (self.folder / "plan.json").write_text('{"x": [["model"], []]}')
        subprocess.run(
            ["tp-run", program, f"--shard=mesh=model=2 plan={self.folder}/plan.json",
             f"--weights={self.folder}", f"--input=rng={given}", f"--input=x={given}",
             f"--output={got}"], check=True)
        key, x = step(*arguments)
        got = safetensors.numpy.load_file(got)
        np.testing.assert_array_equal(got["result.0"], jax.random.key_data(key))
        np.testing.assert_allclose(got["result.1"], x, rtol=1e-6)

    def test_shapes_are_enough(self):
        self.export(lambda p: p["w"] * 2, {"w": MATRIX})
        self.assertFalse((self.folder / "model.safetensors").exists())

    def test_a_lone_array_has_its_parameters_name(self):
        self.assertIn('tp.name = "w", tp.source', self.export(lambda w: w * 2, MATRIX))

    def test_unused_arguments_stay(self):
        self.assertIn('tp.name = "y"', self.export(lambda p, y: p["w"], {"w": MATRIX}, 1.0))

    def test_unused_arguments_that_jit_drops_are_none(self):
        text = self.export(jax.jit(lambda p, y, x: p["w"] + x), {"v": MATRIX, "w": MATRIX},
                           1.0, MATRIX)
        names = re.findall('tp.name = "(.*?)"', text.split("->")[0])
        self.assertEqual(names, ["w", "x"])

    def test_shardings_stay(self):
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("model",))
        cut = NamedSharding(mesh, PartitionSpec(None, "model"))
        wanted = r'sdy.sharding = #sdy.sharding<@mesh, \[\{\}, \{"model"\}\]>, tp.name = "w"'
        double = lambda p: p["w"] * 2
        self.assertRegex(self.export(double, {"w": MATRIX}, in_shardings=({"w": cut},)),
                         wanted)
        self.assertRegex(self.export(jax.jit(double, in_shardings=({"w": cut},)),
                                     {"w": MATRIX}), wanted)

    def test_what_jax_compiles_stays(self):
        double = jax.jit(lambda p: p["w"] * 2)
        traced = double.trace({"w": MATRIX})
        lowered = traced.lower()
        named = [("w", MATRIX, True)]
        tp_export.function.write(lowered, named, ["result"], self.folder)
        self.assertNotIn("tp.name", lowered.as_text())

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "two arguments are called x"):
            self.export(lambda p, x: p["x"] + x, {"x": MATRIX}, MATRIX)
        with self.assertRaisesRegex(ValueError, "already a result of jax.jit"):
            self.export(jax.jit(lambda x: x), MATRIX, in_shardings=(None,))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
