# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs OpenVINO and onnxruntime-genai, and converts models to theirs, once, into
~/.cache/tp-opt/engines. OpenVINO's model comes from optimum-intel, stateful, with weights
in f32, which it converts to the type that it computes in when it loads; onnxruntime's is
of f32, by the builder that comes with onnxruntime-genai."""

import contextlib
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Models"))
import model_cache  # noqa: E402
import peer_environment  # noqa: E402

VERSIONS = {"openvino": "2026.4.1", "optimum-intel": "2.2.0", "onnxruntime": "1.32.0",
            "onnxruntime-genai": "0.18.0", "transformers": "5.5.4", "torch": "2.15.0"}
# Alone is what wants torch or torchvision, whose wheels are of CUDA.
ALONE = [f"torch=={VERSIONS['torch']}", f"optimum-intel=={VERSIONS['optimum-intel']}",
         "optimum==2.3.0", *peer_environment.NEEDED]
WHOLE = ["nncf==3.3.0", "numpy", "onnx", "onnx_ir", f"onnxruntime=={VERSIONS['onnxruntime']}",
         f"onnxruntime-genai=={VERSIONS['onnxruntime-genai']}",
         f"openvino=={VERSIONS['openvino']}", "openvino-tokenizers==2026.4.1.0",
         "requests", "safetensors", "setuptools", f"transformers=={VERSIONS['transformers']}"]


def prepare():
    """The Python that has both engines, and the environment it wants."""
    return peer_environment.prepare("engines", (ALONE, WHOLE))


def export_openvino(model, folder):
    """Runs in the Python of prepare(). Its CUDA libraries lack functions that the export never
    calls, so that they are bound lazily."""
    import os
    sys.setdlopenflags(os.RTLD_LAZY | os.RTLD_GLOBAL)
    import torch
    torch.cuda.is_current_stream_capturing = lambda: False
    from optimum.exporters.openvino import main_export
    from optimum.intel import OVConfig
    main_export(model, folder, task="text-generation-with-past", stateful=True,
                ov_config=OVConfig(dtype="fp32"), convert_tokenizer=False)


def convert(python, environment, model, engine):
    """The folder of that model for that engine."""
    def make(folder):
        command = {"openvino": [HERE / "engine_models.py", model, folder],
                   "onnxruntime": ["-m", "onnxruntime_genai.models.builder", "-i", model,
                                   "-o", folder, "-p", "fp32", "-e", "cpu",
                                   "-c", folder.parent / "cache"]}[engine]
        print(f"converting {model.name} for {engine}", file=sys.stderr)
        done = subprocess.run([python, *map(str, command)], env=environment, text=True,
                              capture_output=True)
        if done.returncode:
            raise RuntimeError(f"{engine} cannot convert {model}: {done.stderr[-2000:]}")
    package = {"openvino": "openvino", "onnxruntime": "onnxruntime-genai"}[engine]
    target = (peer_environment.CACHE / "engines" / "models" /
              f"{model.name}-{engine}-{VERSIONS[package]}")
    with contextlib.redirect_stdout(sys.stderr):
        model_cache.make_once(target, make)
    return target


if __name__ == "__main__":
    export_openvino(*map(pathlib.Path, sys.argv[1:]))
