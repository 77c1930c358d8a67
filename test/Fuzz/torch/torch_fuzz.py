#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random PyTorch modules on random meshes, with random cuts of weights and inputs, and
their gradients: computed by PyTorch, and by what tp-opt makes of what tp_export writes.

    torch_fuzz.py --seed=1 --count=500 --jobs=2 --out=DIR    500 modules, from seed 1 on
    torch_fuzz.py --seed=77 --print                          the module of a seed

A module that fails is made small and written to DIR/torch-SEED: model.mlir with its
weights, inputs and cuts, module.py as PyTorch has it, and verdict.txt with what is wrong
and how it was run. Exit 1 if a module fails. It takes a Python with PyTorch and torchax,
as cmake/setup.sh installs.
"""

import contextlib
import json
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "jax"), str(HERE.parents[2] / "tools/export")]

import jax_fuzz  # noqa: E402


def to_numpy(tensor):
    import ml_dtypes
    import torch
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.int64:  # As JAX has no larger integers.
        tensor = tensor.to(torch.int32)
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def get_allowed(base, noisy, has_halves):
    """How far an output may be off: by what it moves if all that rounds is moved."""
    import numpy as np
    wide, others = base.astype(np.float64), [x.astype(np.float64) for x in noisy]
    if not base.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        moved = max(np.max(np.abs(x - wide)) for x in others)
    if base.dtype.kind in "biu":  # which jump
        return np.inf if moved else 0.0
    if not np.isfinite(wide).all():
        return np.inf
    epsilon = 2.0 ** (-8 if has_halves else -23)
    return 16 * (moved + epsilon * max(np.max(np.abs(wide)), 1))


class Judge:
    """What tp-opt and tp-run make of modules, in one folder."""

    def __init__(self, tools, scratch):
        self.tools, self.folder = tools, pathlib.Path(scratch) / "program"

    def judge(self, seed, steps=None):
        """The verdict on a module and on its gradients, and the module."""
        import torch
        from judge import Ended, Verdict
        from modules import Module
        module = Module(seed, steps)
        try:
            self.judge_forward(module)
            if module.draw_factors() and any(module.get_names()):
                self.judge_gradients(module)
        except Ended as ended:
            return ended.verdict, module
        finally:
            torch.compiler.reset()
        return Verdict("right"), module

    def judge_forward(self, module):
        import tp_export
        self.clear()
        self.export("export", lambda: tp_export.export_torch(
            module.module, *module.inputs.values(), to=self.folder))
        self.compare("forward", module, module.plan, *(
            {name: to_numpy(x) for name, x in module.evaluate(noise).items()}
            for noise in (0.0, 1.0, -2.0)))

    def judge_gradients(self, module):
        import jax
        import tp_export
        from judge import Ended, Verdict
        from tp_export.naming import name_leaves
        factors = module.draw_factors()
        weights, floats = module.get_names()
        try:
            module.differentiate(factors)
        except RuntimeError as error:  # There is no derivative, as of floor_divide.
            raise Ended(Verdict("refused", "PyTorch's gradients", "torch",
                                str(error).splitlines()[0])) from None
        self.clear()
        names = {}

        def make():
            forward, params, inputs = tp_export.to_jax(module.module, *module.inputs.values())
            names["weights"] = [name for name in weights if name in params]

            def split(tree, kept):
                return ({k: v for k, v in tree.items() if k in kept},
                        {k: v for k, v in tree.items() if k not in kept})
            params, state = split(params, weights)
            inputs, data = split(inputs, floats)

            def loss(params, inputs, state, data):
                results = forward(params | state, inputs | data)
                return sum((results[k].astype("float32") * f.numpy()).sum()
                           for k, f in factors.items())
            tp_export.export(jax.value_and_grad(loss, argnums=(0, 1)), params, inputs, state,
                             data, weights=(0, 2), to=self.folder)
        self.export("export gradients", make)

        def get_wanted(noise, is_wide=False):
            value, gradients = module.differentiate(factors, noise, is_wide)
            gradients = {k: to_numpy(v) for k, v in gradients.items()}
            tree = (to_numpy(value), ({k: gradients[k] for k in names["weights"]},
                                      {k: gradients[k] for k in floats}))
            return dict(name_leaves(tree, "result"))
        plan = {(k if k not in module.inputs else f"{'inputs' if k in floats else 'data'}.{k}"):
                v for k, v in module.plan.items()}
        wanted = list(map(get_wanted, (0.0, 1.0, -2.0)))
        # Where a kernel's own sums cancel, as those of a LayerNorm of two features do, PyTorch's
        # result has no digits, however its operands are moved.
        with contextlib.suppress(RuntimeError):  # f64 beside an element type that a step asks for
            wanted.append(get_wanted(0.0, is_wide=True))
        self.compare("gradients", module, plan, *wanted)

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    @staticmethod
    def export(stage, function):
        from judge import Ended, Verdict
        try:
            function()
        except NotImplementedError as error:
            raise Ended(Verdict("refused", stage, "export", str(error).split(": ", 1)[-1])
                        ) from None
        except Exception as error:  # Whatever Python raises, it is no answer.
            raise Ended(Verdict("uncoded", stage, type(error).__name__,
                                str(error)[-300:])) from None

    def compare(self, stage, module, plan, wanted, *noisy):
        import safetensors.numpy
        import torch
        from judge import Ended, Verdict, call, compare
        text = (self.folder / "model.mlir").read_text()
        (self.folder / "plan.json").write_text(json.dumps(
            {k: v for k, v in plan.items() if f'tp.name = "{k}"' in text}))
        given = {k: to_numpy(v) for k, v in module.inputs.items()}
        given = {k: v for name, v in given.items()
                 for k in (name, f"inputs.{name}", f"data.{name}")
                 if f'tp.name = "{k}"' in text}
        safetensors.numpy.save_file(given, self.folder / "in.safetensors")
        axes = ",".join(f"{axis}={size}" for axis, size in module.axes.items())
        output = self.folder / "got.safetensors"
        command = [f"{self.tools}/tp-run", self.folder / "model.mlir",
                   f"--shard=mesh={axes} plan={self.folder}/plan.json", "--nocache",
                   f"--weights={self.folder}", "--threads=1", f"--output={output}",
                   *(f"--input={k}={self.folder}/in.safetensors" for k in given)]
        (self.folder / "command.txt").write_text(" ".join(f"'{word}'" for word in command) + "\n")
        slow = call(stage, *command)
        got = safetensors.numpy.load_file(output)
        if missing := [k for k in wanted if k.startswith("result") and k not in got]:
            raise Ended(Verdict("wrong", stage, text=f"there is no {', '.join(missing)}"))
        if unknown := got.keys() - wanted.keys():
            raise Ended(Verdict("wrong", stage, text=f"who asked for {', '.join(unknown)}"))
        halves = any(isinstance(x, torch.Tensor) and x.dtype in (torch.bfloat16, torch.float16)
                     for x in (v.tensor for v in module.values))
        for name, array in got.items():
            allowed = get_allowed(wanted[name], [x[name] for x in noisy], halves)
            if wrong := compare(array, wanted[name], allowed):
                raise Ended(Verdict("wrong", stage, text=f"{name}: {wrong}"))
        if slow:
            raise Ended(slow)

    def shrink(self, verdict, module):
        """The module with no steps that it fails without."""
        steps, changed = module.steps, True
        while changed and len(steps) > 1:
            changed = False
            for i in reversed(range(len(steps))):
                fewer = steps[:i] + steps[i + 1:]
                if self.judge(module.seed, fewer)[0].is_like(verdict):
                    steps, changed = fewer, True
                    break
        return self.judge(module.seed, steps)

    def keep(self, folder, verdict, module):
        kept = folder / f"torch-{module.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder, kept)
        (kept / "module.py").write_text(str(module.module.code))
        (kept / "verdict.txt").write_text(
            f"{verdict.kind} {verdict.stage} {verdict.code}: {verdict.text}\n")


def work(arguments):
    """Judges seeds and says so, a line of JSON before and after each."""
    import logging
    import warnings
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import torch
    torch.set_num_threads(1)
    import jax
    with tempfile.TemporaryDirectory() as scratch:
        judge = Judge(arguments.tools, scratch)
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            print(json.dumps({"seed": seed}), flush=True)
            verdict, module = judge.judge(seed)
            if verdict.is_failure:
                if not arguments.whole:
                    verdict, module = judge.shrink(verdict, module)
                judge.keep(arguments.out, verdict, module)
            print(json.dumps({"seed": seed, **vars(verdict)}), flush=True)
            jax.clear_caches()


class Campaign(jax_fuzz.Campaign):
    kind, script, share_size = "torch", __file__, 50
    flags = ["whole"]


def main():
    arguments = jax_fuzz.parse(jax_fuzz.make_parser(__doc__))
    if arguments.print:
        from modules import Module
        module = Module(arguments.seed)
        print(module.module.code, module.axes, module.plan, sep="\n")
    elif arguments.worker:
        work(arguments)
    else:
        return Campaign(arguments).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
