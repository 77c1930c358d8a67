#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public PyTorch models, their own modules with small sizes and random weights, against
PyTorch and against JAX's partitioner.

    public_models.py [--ranks=1,2,3] [NAME..]    numbers, beside PyTorch's
    public_models.py --bytes [NAME..]            bytes on the wire, beside JAX's

A NAME is a part of one. Without --bytes a model's weights are cut as Megatron cuts them,
where their names say what they are, else its batch; with 3 ranks most of that is uneven.
With --bytes the images and sequences of models that have a layout are cut, weights are
whole, and JAX compiles the text that tp-opt reads; those with `train` are gradients of all
weights and of the inputs. `work` is that of all devices over that of one alone. --layout=WORD
picks layouts, --keep=FOLDER keeps the files.

Prints a line for each model. Exit status 1 if one is wrong or sends more than JAX's, and
not if one is refused, by PyTorch's export or here, whose reason the line says.

No CI runs it, as it takes packages that nothing else does. In a folder of its own:

    python3 -m venv venv && venv/bin/pip install -r test/Models/requirements-public.txt
    venv/bin/pip install --no-deps torchax==0.0.13 immutabledict
    PATH=$PWD/build/release/bin:$PATH venv/bin/python test/Models/public_models.py"""

import argparse
import functools
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["HF_HUB_OFFLINE"] = "1"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools/export"), str(ROOT / "test/Bench")]

import safetensors.numpy  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import compare_outputs  # noqa: E402
import xla_program  # noqa: E402
from public_zoo import BATCH, LAYOUTS, MODELS  # noqa: E402

TOLERANCE = 1e-4

# Megatron's cuts of weights that are stored [out, in].
COLUMNS = re.compile(
    r"\.(q|k|v|qkv|[qkv]_proj|[qkv]_lin|to_[qkv]|query|key|value|q_a_proj|query_key_value|"
    r"gate_proj|up_proj|gate_up_proj|fc1|lin1|wi|wi_0|wi_1|fc_in|dense_h_to_4h|"
    r"intermediate\.dense|linear1|"
    r"in_proj|add_[qkv]_proj|net\.0\.proj|ff\.0\.0)\.(weight|bias)$")
ROWS = re.compile(
    r"\.(o|o_proj|out_proj|to_out|to_out\.0|output\.dense|proj|down_proj|fc2|lin2|wo|fc_out|"
    r"out_lin|dense_4h_to_h|linear2|net\.2|ff\.2)\.weight$")


class Refused(Exception):
    """A model that cannot be exported or compiled, and why."""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=400)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error: " in line]
        raise Refused(f"{command[0]}: " + re.sub(
            r"^\S*/", "", errors[0] if errors else done.stderr[-500:].replace("\n", " ")))
    return done


def build(model):
    """Its module, in which every number counts, and its inputs."""
    torch.manual_seed(0)
    module = model.make().eval()
    for name, tensor in module.state_dict().items():
        if name.endswith("running_var"):
            tensor.uniform_(0.5, 1.5)
        elif tensor.is_floating_point() and not name.endswith(("inv_freq", "freqs")):
            tensor.add_(torch.randn_like(tensor) * 0.05)
    return module, model.inputs()


def save(tensors, path):
    # As JAX has no larger integers.
    safetensors.torch.save_file(
        {name: (tensor.to(torch.int32) if tensor.dtype == torch.int64 else tensor).contiguous()
         for name, tensor in tensors.items()}, path)


def export(module, inputs, folder):
    import tp_export
    try:
        tp_export.export_torch(module, to=folder, kwargs=inputs)
    except Exception as error:  # whatever PyTorch, torchax and JAX raise
        (folder / "export.txt").write_text(traceback.format_exc())
        first = re.sub(r"\S*/site-packages/", "", str(error).strip()).splitlines() or [""]
        raise Refused(f"export: {type(error).__name__}: {first[0][:300]}") from error


def compute(module, inputs):
    from tp_export.module import get_fields
    from tp_export.naming import join_path
    with torch.no_grad():
        outputs = module(**inputs)
    leaves, _ = pytree.tree_flatten_with_path(get_fields(outputs))
    return {join_path("result", *path): value for path, value in leaves
            if isinstance(value, torch.Tensor)}


def cut_weights(module):
    plan = {}
    for name, weight in module.named_parameters():
        if COLUMNS.search(name):
            plan[name] = [["model"], *([] for _ in weight.shape[1:])]
        elif ROWS.search(name) and weight.dim() == 2:
            plan[name] = [[], ["model"]]
    return plan


def check(name, ranks, folder):
    """What is wrong with a model on so many ranks, and what it sends."""
    module, inputs = build(MODELS[name])
    tensors = {key: value for key, value in inputs.items() if isinstance(value, torch.Tensor)}
    save(tensors, folder / "in.safetensors")
    wanted = compute(module, inputs)
    save(wanted, folder / "out.safetensors")
    export(module, inputs, folder)
    plan = cut_weights(module) or {
        key: [["model"], *([] for _ in value.shape[1:])] for key, value in tensors.items()
        if value.dim() and value.shape[0] == BATCH}
    if not plan:
        raise ValueError("nothing of it is cut")
    (folder / "plan.json").write_text(json.dumps(plan))
    worst, sent = 0.0, []
    for count in ranks:
        shard = f"mesh=model={count} plan={folder}/plan.json"
        report, outputs = folder / "report.json", folder / "got.safetensors"
        run("tp-opt", folder / "model.mlir", f"--tp-shard={shard}", f"--tp-report={report}",
            "-o", os.devnull)
        run("tp-run", folder / "model.mlir", f"--shard={shard}", f"--weights={folder}", "--nocache",
            f"--output={outputs}",
            *(f"--input={key}={folder}/in.safetensors" for key in tensors))
        got = safetensors.numpy.load_file(outputs)
        expected = safetensors.numpy.load_file(folder / "out.safetensors")
        if expected.keys() != got.keys():
            return False, f"outputs {sorted(got)}, wanted {sorted(expected)}"
        difference = compare_outputs.get_difference(expected, got)
        if not difference <= worst:
            worst = difference
        sent.append("%d/%d" % read_report(report))
    cut = "weights" if cut_weights(module) else "batch"
    return worst <= TOLERANCE, (f"differs by {worst:.1e}; {cut} cut; launches/bytes "
                                f"{' '.join(sent)}")


def read_report(path):
    (function,) = json.loads(path.read_text())["functions"]
    collectives = function["collectives"]
    return (sum(c["times"] for c in collectives),
            sum(c["times"] * c["wire_bytes"] for c in collectives))


def make_program(name, module, inputs, layout, folder):
    """A program that carries a layout, for both: of all arguments and results."""
    import jax
    import tp_export
    from jax.sharding import NamedSharding, PartitionSpec as P
    import numpy as np
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:np.prod([*layout.mesh.values()])]).reshape(
        *layout.mesh.values()), tuple(layout.mesh))

    def place(dims):
        return NamedSharding(mesh, P(*(dim[0] if dim else None for dim in dims)))
    forward, weights, example = tp_export.to_jax(module, kwargs=inputs)
    plan = cut_weights(module) if layout.weights else {}
    plan |= {key: dims for key, dims in layout.inputs.items() if key in inputs}
    if not plan:
        raise Refused("nothing of it is cut")
    arguments = (weights, example)
    shardings = [{key: place(plan.get(key, [])) for key in tree} for tree in arguments]
    if not layout.train:
        function = forward
        shapes = jax.eval_shape(forward, *arguments)
        results = {key: place(layout.results if MODELS[name].cut and re.search(
            MODELS[name].cut, key) else []) for key in shapes}
    else:
        floating = lambda tree: {key: value for key, value in tree.items()
                                 if jax.numpy.issubdtype(value.dtype, jax.numpy.floating)}
        def function(weights, inputs):
            def loss(*some):
                values = forward(weights | some[0], inputs | some[1])
                return sum(jax.numpy.mean(jax.numpy.square(value)) for value in values.values()
                           if jax.numpy.issubdtype(value.dtype, jax.numpy.floating))
            return jax.value_and_grad(loss, argnums=(0, 1))(floating(weights), floating(inputs))
        results = (place([]), tuple({key: part[key] for key in floating(tree)}
                                    for part, tree in zip(shardings, arguments)))
    jitted = jax.jit(function, keep_unused=True, in_shardings=tuple(shardings),
                     out_shardings=results)
    program = tp_export.export(jitted, *arguments, to=folder)
    return program, jitted.lower(*arguments)


def read_flops(path):
    (function,) = json.loads(path.read_text())["functions"]
    return function["flops_per_device"]


def count_alone(program, folder):
    """The work of the program on one device."""
    text = re.sub(r"(sdy\.mesh @\w+ = <\[)(.*?)(\]>)", lambda mesh: mesh[1] + re.sub(
        r"=\d+", "=1", mesh[2]) + mesh[3], program.read_text())
    (folder / "one.mlir").write_text(text)
    run("tp-opt", folder / "one.mlir", "--tp-shard", f"--tp-report={folder}/one.json", "-o",
        os.devnull)
    return read_flops(folder / "one.json")


def compare_bytes(name, layout, folder):
    layout = LAYOUTS[layout]
    module, inputs = build(MODELS[name])
    if "inputs_embeds" in layout.inputs:
        embedded = module.get_input_embeddings()(inputs.pop("input_ids"))
        inputs["inputs_embeds"] = embedded.detach()
    try:
        program, lowered = make_program(name, module, inputs, layout, folder)
        compiled = lowered.compile()
    except Refused:
        raise
    except Exception as error:
        (folder / "export.txt").write_text(traceback.format_exc())
        first = str(error).strip().splitlines() or [""]
        raise Refused(f"export: {type(error).__name__}: {first[0][:300]}") from error
    devices = functools.reduce(int.__mul__, layout.mesh.values())
    theirs = xla_program.read_collectives(compiled.as_text(), devices)
    (folder / "jax.txt").write_text(compiled.as_text())
    run("tp-opt", program, "--tp-shard", f"--tp-report={folder}/report.json", "-o", os.devnull)
    launches, ours = read_report(folder / "report.json")
    sent = sum(c.times * c.wire_bytes for c in theirs)
    work = devices * read_flops(folder / "report.json") / count_alone(program, folder)
    line = (f"{ours} bytes in {launches}, JAX {sent:.0f} in {sum(c.times for c in theirs)}; "
            f"work {work:.2f}")
    if ours > sent:
        alone = dataclasses.replace(layout, mesh=dict.fromkeys(layout.mesh, 1))
        _, lowered = make_program(name, module, inputs, alone, folder)
        work = (devices * compiled.cost_analysis()["flops"]
                / lowered.compile().cost_analysis()["flops"])
        line += f", JAX {work:.2f}"
    return ours <= sent, line


def work(task, argument, folder, answer):
    torch.set_num_threads(1)
    try:
        answer.send(task(*argument, folder))
    except Refused as refusal:
        answer.send((None, str(refusal)))
    except Exception as error:
        answer.send((False, f"{type(error).__name__}: {traceback.format_exc()[-600:]}"))


def isolate(task, argument, folder):
    """In a process of its own, as exports that fail leave PyTorch as they please."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=work, args=(task, argument, folder, theirs))
    process.start()
    theirs.close()
    try:
        result = ours.recv()
    except EOFError:
        result = (False, "the process died")
    process.join()
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,3")
    parser.add_argument("--bytes", action="store_true")
    parser.add_argument("--layout", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = [name for name in MODELS
             if not options.names or any(part in name for part in options.names)]
    if options.bytes:
        tasks = [(compare_bytes, (name, layout)) for name in names for layout in LAYOUTS
                 if re.match("[a-z]+", layout)[0] in MODELS[name].layouts
                 and re.search(options.layout, layout)]
    else:
        ranks = [int(word) for word in options.ranks.split(",")]
        tasks = [(check, (name, ranks)) for name in names]
    counts = {True: 0, False: 0, None: 0}
    for task, argument in tasks:
        title = f"{argument[0]}-{argument[1]}" if options.bytes else argument[0]
        folder = (options.keep / title if options.keep else pathlib.Path(tempfile.mkdtemp()))
        folder.mkdir(parents=True, exist_ok=True)
        right, words = isolate(task, argument, folder)
        counts[right] += 1
        word = {True: "right", False: "MORE" if options.bytes else "WRONG", None: "refused"}
        print(f"{title}: {word[right]}: {words}", flush=True)
        if not options.keep:
            shutil.rmtree(folder)
    print(f"{len(tasks)} tried, {counts[True]} right, {counts[False]} wrong, "
          f"{counts[None]} refused")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
