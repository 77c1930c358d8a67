#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the steps that --tp-train makes send by the words of a plan, beside what JAX's
partitioner makes of the same step.

    jax_plan_steps.py [--all] [NAME...]

The step is that of a model of --tp-import: of two layers of Llama and of GPT-2, as
test/Exam/plans.py has them, with AdamW. Beside it stands the step of the same model in JAX
and Optax, over the same parameters by the same names. One after the other is computed whole,
and both have to give the same loss and parameters. Then both are partitioned, by the same
shardings: JAX is given those that the plan gives to parameters, states and batches, those of
batches and of `sp` also between the blocks, and those of zero=2 at gradients.

A NAME is a part of model and plan, as in `gpt2 FSDP`; --all adds batches, meshes and words. For
each are printed launches and the bytes that a device sends, in rings. XLA writes no
reduce-scatter for CPUs: a sum of which only slices are read is counted as one. Exit status 1
if tp-opt sends more than JAX, or if values differ. It takes what requirements-jax.txt lists,
and tp-opt on PATH."""

import argparse
import collections
import concurrent.futures
import dataclasses
import math
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile

DEVICES = 8
# What LLVM makes of it is not looked at.
os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count={DEVICES} "
                           "--xla_backend_optimization_level=0")
os.environ["JAX_PLATFORMS"] = "cpu"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test/Bench"), str(ROOT / "test/Exam")]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
import safetensors.numpy  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402

import plans  # noqa: E402
import xla_program  # noqa: E402
from run import run  # noqa: E402

LAYERS = 2
IGNORED = -100  # a label
TOLERANCE = 1e-5
OPTIMIZER = optax.adamw(1e-3, weight_decay=1e-2)  # as torch's, and --tp-train's, is
# Of XLA's text; what only moves elements.
COMPUTATION = re.compile(r"^(?:ENTRY )?%([\w.\-]+) \([^\n]*\{\n(.*?)^\}", re.M | re.S)
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*)$", re.M)
MOVES = ("bitcast", "copy", "get-tuple-element", "reshape", "transpose")


def keep(x, spec):
    return x if spec is None else jax.lax.with_sharding_constraint(x, spec)


def attend(q, k, v):
    """Of [batch, position, kv, group, head] and [batch, position, kv, head]."""
    scores = jnp.einsum("bqkgh,bskh->bkgqs", q, k) / np.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf))
    return jnp.einsum("bkgqs,bskh->bqkgh", weights, v)


def rotate(x):
    """The second dimension is the position; pairs lie half a head apart."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] * 1e4 ** (-jnp.arange(half) / half)
    angle = angle.reshape(x.shape[1], *[1] * (x.ndim - 3), half)
    x1, x2 = x[..., :half], x[..., half:]
    return jnp.concatenate([x1 * jnp.cos(angle) - x2 * jnp.sin(angle),
                            x2 * jnp.cos(angle) + x1 * jnp.sin(angle)], -1)


def llama(params, tokens, between):
    weight = lambda name: params[f"model.{name}.weight"]
    norm = lambda x, name: (x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)
                            * weight(name))
    x = keep(weight("embed_tokens")[tokens], between)
    for i in range(LAYERS):
        own = lambda name: weight(f"layers.{i}.{name}")
        y = norm(x, f"layers.{i}.input_layernorm")
        q, k, v = (jnp.tensordot(y, own(f"self_attn.{part}_proj"), 1) for part in "qkv")
        mixed = attend(rotate(q), rotate(k), v)
        x = keep(x + jnp.tensordot(mixed, own("self_attn.o_proj"), 3), between)
        y = norm(x, f"layers.{i}.post_attention_layernorm")
        y = jax.nn.silu(y @ own("mlp.gate_proj")) * (y @ own("mlp.up_proj"))
        x = keep(x + y @ own("mlp.down_proj"), between)
    return norm(x, "norm") @ params["lm_head.weight"].T


def gpt2(params, tokens, between):
    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)
        return x * params[f"{name}.weight"] + params[f"{name}.bias"]
    x = params["wte.weight"][tokens] + params["wpe.weight"][:tokens.shape[1]]
    x = keep(x, between)
    for i in range(LAYERS):
        own = lambda name: params[f"h.{i}.{name}"]
        y = norm(x, f"h.{i}.ln_1")
        q, k, v = (jnp.tensordot(y, own(f"attn.c_attn.weight#{part}"), 1)
                   + own(f"attn.c_attn.bias#{part}") for part in "qkv")
        y = jnp.tensordot(attend(q, k, v), own("attn.c_proj.weight"), 3)
        x = keep(x + y + own("attn.c_proj.bias"), between)
        y = norm(x, f"h.{i}.ln_2") @ own("mlp.c_fc.weight") + own("mlp.c_fc.bias")
        y = jax.nn.gelu(y) @ own("mlp.c_proj.weight") + own("mlp.c_proj.bias")
        x = keep(x + y, between)
    return norm(x, "ln_f") @ params["wte.weight"].T


MODELS = {"llama": llama, "gpt2": gpt2}


def make_step(model, between=None, on_gradients=None):
    def get_loss(params, tokens, labels):
        last = jnp.full_like(labels[:, :1], IGNORED)
        labels = jnp.concatenate([labels[:, 1:], last], 1)
        is_label = labels != IGNORED
        each = optax.softmax_cross_entropy_with_integer_labels(
            MODELS[model](params, tokens, between), jnp.where(is_label, labels, 0))
        return jnp.where(is_label, each, 0).sum() / is_label.sum()

    def step(params, state, tokens, labels):
        loss, gradients = jax.value_and_grad(get_loss)(params, tokens, labels)
        if on_gradients:
            gradients = jax.lax.with_sharding_constraint(gradients, on_gradients)
        updates, state = OPTIMIZER.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss
    return step


@dataclasses.dataclass
class Case:
    """A plan on a mesh."""
    name: str
    options: str
    mesh: dict
    batch: tuple
    often: bool = True  # without --all, too

    @property
    def cuts_sequence(self):
        return "+sp" in self.options

    @property
    def cuts_gradients(self):
        return "zero=2" in self.options


FEW, SOME, MANY = (2, 16), (4, 32), (8, 64)
MODEL, DATA, BOTH = dict(model=4), dict(data=4), dict(data=2, model=4)
CASES = [
    Case("tensor", "plan=megatron", MODEL, FEW),
    Case("sequence", "plan=megatron+sp", MODEL, FEW),
    Case("data", "plan=ddp", DATA, MANY),
    Case("ZeRO-1", "plan=ddp zero=1", DATA, MANY),
    Case("FSDP", "plan=fsdp", DATA, MANY),
    Case("tensor and FSDP", "plan=megatron+fsdp", BOTH, SOME),
    Case("sequence and FSDP", "plan=megatron+sp+fsdp", BOTH, SOME),
    # With --all.
    Case("tensor, many tokens", "plan=megatron", MODEL, MANY, often=False),
    Case("sequence, many tokens", "plan=megatron+sp", MODEL, MANY, often=False),
    Case("data, few tokens", "plan=ddp", DATA, (4, 8), often=False),
    Case("FSDP, few tokens", "plan=fsdp", DATA, (4, 8), often=False),
    Case("ZeRO-2", "plan=ddp zero=2", DATA, MANY, often=False),
    *(Case(f"{name}, {data} by {model}, {batch[0]} by {batch[1]}", options,
           dict(data=data, model=model), batch, often=False)
      for data, model, batch in ((2, 2, SOME), (2, 4, SOME), (4, 2, SOME), (2, 4, MANY))
      for name, options in (("tensor and data", "plan=megatron+ddp"),
                            ("tensor and ZeRO-1", "plan=megatron+ddp zero=1"),
                            ("tensor and FSDP", "plan=megatron+fsdp"),
                            ("sequence and data", "plan=megatron+sp+ddp"),
                            ("sequence and ZeRO-2", "plan=megatron+sp+ddp zero=2"),
                            ("sequence and FSDP", "plan=megatron+sp+fsdp"))),
]


@dataclasses.dataclass
class Sent:
    launches: int
    bytes: float
    kinds: str

    @classmethod
    def add(cls, collectives):
        """Of (kind, times, wire bytes)."""
        collectives = list(collectives)
        kinds = sorted({kind for kind, *_ in collectives})
        return cls(sum(times for _, times, _ in collectives),
                   sum(times * sent for _, times, sent in collectives),
                   ", ".join(f"{sum(t for own, t, _ in collectives if own == kind)} {kind}"
                             for kind in kinds))

    def __str__(self):
        return f"{self.bytes:.0f} bytes in {self.launches} launches ({self.kinds})"


def read_spec(text):
    """A PartitionSpec of a sharding as reports write it."""
    dims = re.findall(r"\{([^{}]*)\}", text.split("]")[0])
    axes = [re.findall(r'"([^"]*)"(:\(\d+\)\d+)?', dim) for dim in dims]
    if any(part for dim in axes for _, part in dim):
        raise ValueError(f"JAX has no parts of axes: {text}")
    return P(*(tuple(axis for axis, _ in dim) or None for dim in axes))


def get_shapes(report, role):
    return {entry["name"]: tuple(map(int, re.findall(r"\d+", entry["global"].split("[")[1])))
            for entry in report["inputs"] if entry["role"] == role}


class Readers:
    """Who reads what in a program of XLA."""

    def __init__(self, text):
        self.made = {}    # shape, op and what stands behind it, by name
        self.readers = collections.defaultdict(list)
        self.parameters = {}    # by computation and number
        for name, body in COMPUTATION.findall(text):
            for own, shape, op, rest in INSTRUCTION.findall(body):
                self.made[own] = (shape, op, rest)
                operands = rest.split(")")[0]
                if op == "parameter":
                    self.parameters[name, int(operands)] = own
                for i, operand in enumerate(re.findall(r"%([\w.\-]+)", operands)):
                    self.readers[operand].append((own, i))

    def is_sliced(self, name):
        """Whether nothing but slices of a value is read."""
        def reads_slice(reader, i):
            _, op, rest = self.made[reader]
            if op == "fusion":
                callee = re.search(r"calls=%([\w.\-]+)", rest)[1]
                return self.is_sliced(self.parameters[callee, i])
            return op == "dynamic-slice" or op in MOVES and self.is_sliced(reader)
        return bool(self.readers[name]) and all(reads_slice(*pair)
                                                for pair in self.readers[name])

    def get_scattered(self, devices):
        """The bytes that a device saves if sums of which only slices are read are
        reduce-scatters."""
        saved = 0
        for name, (shape, op, rest) in self.made.items():
            if op != "all-reduce":
                continue
            # Of several sums in one, each is looked at.
            parts = ([part for part, _ in self.readers[name]] if shape.startswith("(")
                     else [name])
            group = xla_program.get_group(rest, devices)
            saved += sum(xla_program.get_bytes(self.made[part][0]) * (group - 1) / group
                         for part in parts if self.is_sliced(part))
        return saved


def compile_jax(model, case, report):
    """The text of the step that JAX compiles for one device of the mesh."""
    devices = np.array(jax.devices()[:np.prod([*case.mesh.values()])])
    mesh = jax.sharding.Mesh(devices.reshape(*case.mesh.values()), tuple(case.mesh))
    specs = {entry["name"]: NamedSharding(mesh, read_spec(entry["sharding"]))
             for entry in report["inputs"]}
    whole, batch = NamedSharding(mesh, P()), "data" if "data" in mesh.shape else None
    shapes = get_shapes(report, "parameter")
    params = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
    state = jax.eval_shape(OPTIMIZER.init, params)
    of = lambda prefix: {name: specs[prefix + name] for name in shapes}
    moments, *rest = state
    on_state = (moments._replace(count=whole, mu=of("adamw.exp_avg/"),
                                 nu=of("adamw.exp_avg_sq/")), *rest)
    tokens = jax.ShapeDtypeStruct(case.batch, jnp.int32)
    between = NamedSharding(mesh, P(batch, "model" if case.cuts_sequence else None))
    step = make_step(model, between, of("adamw.exp_avg/") if case.cuts_gradients else None)
    kept = (of(""), on_state)
    jitted = jax.jit(step, in_shardings=(*kept, specs["tokens"], specs["labels"]),
                     out_shardings=(*kept, whole))
    return jitted.lower(params, state, tokens, tokens).compile().as_text()


def make_numbers(shapes, batch):
    """Parameters, states in the midst of a training, tokens and labels, by their names."""
    rng = np.random.default_rng(0)
    draw = lambda shape, size: rng.normal(0, size, shape).astype(np.float32)
    numbers = {name: draw(shape, 0.2) for name, shape in shapes.items()}
    numbers |= {f"adamw.exp_avg/{name}": draw(shape, 0.01) for name, shape in shapes.items()}
    numbers |= {f"adamw.exp_avg_sq/{name}": draw(shape, 0.01) ** 2 + np.float32(1e-4)
                for name, shape in shapes.items()}
    numbers["train.step"] = np.array(5, np.int32)
    tokens = rng.integers(0, plans.VOCABULARY, batch, np.int32)
    numbers["tokens"] = tokens
    numbers["labels"] = np.where(rng.random(batch) < 0.2, np.int32(IGNORED), tokens)
    return numbers


def is_same_model(model, steps, folder):
    """Whether the whole step is JAX's."""
    case = CASES[0]
    shapes = get_shapes(steps.report(case, LAYERS, ""), "parameter")
    numbers = make_numbers(shapes, case.batch)
    inputs, outputs = folder / "in.safetensors", folder / "out.safetensors"
    safetensors.numpy.save_file(numbers, inputs)
    run("tp-opt", steps.make(LAYERS, case.batch, ""),
        f"--tp-interpret-entry=entry=main inputs={inputs} outputs={outputs}", "-o", os.devnull)
    ours = safetensors.numpy.load_file(outputs)
    params = {name: numbers[name] for name in shapes}
    of = lambda prefix: {name: numbers[prefix + name] for name in shapes}
    moments, *rest = OPTIMIZER.init(params)
    state = (moments._replace(count=numbers["train.step"], mu=of("adamw.exp_avg/"),
                              nu=of("adamw.exp_avg_sq/")), *rest)
    params, (moments, *_), loss = jax.jit(make_step(model))(
        params, state, numbers["tokens"], numbers["labels"])
    theirs = {"loss": loss, "train.step": moments.count, **params}
    for prefix, tree in (("adamw.exp_avg/", moments.mu), ("adamw.exp_avg_sq/", moments.nu)):
        theirs |= {prefix + name: value for name, value in tree.items()}
    different = [name for name, value in theirs.items()
                 if not np.allclose(value, ours[name], rtol=TOLERANCE, atol=TOLERANCE)]
    print(f"{model}: " + (f"{len(different)} DIFFER, {different[0]} among them" if different
                          else f"the loss is {loss:.6f} in both, and so are "
                               f"{len(theirs) - 1} parameters and states"), flush=True)
    return not different


def compare(job):
    """Prints the figures of a model and a case; whether tp-opt's are no worse."""
    model, case = job
    with tempfile.TemporaryDirectory() as folder:
        report = plans.Steps("tp-opt", model, pathlib.Path(folder)).report(case, LAYERS, "")
    text = compile_jax(model, case, report)
    devices = math.prod(case.mesh.values())
    ours = Sent.add((c["kind"], c["times"], c["wire_bytes"]) for c in report["collectives"])
    theirs = Sent.add((c.kind, c.times, c.wire_bytes)
                      for c in xla_program.read_collectives(text, devices))
    scattered = Readers(text).get_scattered(devices)
    right = ours.bytes <= theirs.bytes - scattered
    print(f"{'right' if right else 'WORSE'} {model} {case.name}\n    tp-opt {ours}\n    JAX    "
          f"{theirs}; {scattered:.0f} bytes less by reduce-scatters", flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*", default=[""])
    options = parser.parse_args()
    jobs = [(model, case) for model in MODELS for case in CASES
            if (options.all or case.often or options.names != [""])
            and any(name in f"{model} {case.name}" for name in options.names)]
    with tempfile.TemporaryDirectory() as folder:
        for model in sorted({model for model, _ in jobs}):
            own = pathlib.Path(folder) / model
            own.mkdir()
            if not is_same_model(model, plans.Steps("tp-opt", model, own), own):
                return 1
    # One process compiles on one core.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), spawn) as pool:
        right = sum(pool.map(compare, jobs))
    print(f"{len(jobs)} steps, {right} right")
    return right < len(jobs)


if __name__ == "__main__":
    sys.exit(main())
