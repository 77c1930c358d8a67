# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import glob
import os
import shutil

import lit.formats
from lit.llvm import llvm_config

config.name = "tp-opt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Unit", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tp_obj_root, "test")
config.substitutions.append(
    ("%tp_plugin", os.path.join(config.tp_obj_root, "lib", "TPOptPlugin.so"))
)
config.substitutions.append(("%tp_source", config.tp_source_root))
config.substitutions.append(("%tp_build", config.tp_obj_root))
config.substitutions.append(("%cxx", config.cxx))
config.substitutions.append(("%python", '"' + config.python_executable + '"'))
# In a container, on fewer cores than ranks. Open MPI itself leaks, which a build
# with sanitizers would take for an error of ours. Each test has session folders of
# its own: of two that start at once, one fails to make what the other has made.
config.substitutions.append(
    ("%mpirun", "env ASAN_OPTIONS=detect_leaks=0 mpirun --mca orte_tmpdir_base %t.mpi "
                "--allow-run-as-root --oversubscribe")
)
# NVIDIA's libraries, pretended.
config.substitutions.append(("%fake_gpu", f"{config.tp_obj_root}/test/Cuda"))
# Put before MPI, it fails as it is told.
config.substitutions.append(
    ("%mpi_faults", f"{config.tp_obj_root}/test/Faults/libMpiFaults.so"))
# What cmake/setup.sh makes. Too large for code with sanitizers.
models = os.path.expanduser("~/.cache/tp-opt/models")
config.substitutions.append(("%models", models))
# Pythons with JAX, with PyTorch and torchax, and with photographs. The folders of their
# `python`, which go before the PATH of programs that are called as users call them.
for feature, folder in (("jax", "jax"), ("torch", "torch-export"), ("photos", "photos")):
    folder = os.path.expanduser(f"~/.cache/tp-opt/{folder}/bin")
    config.substitutions.append((f"%{feature}_python", f"{folder}/python"))
    config.substitutions.append((
        f"%with_{feature}", f"env PYTHONPATH={config.tp_source_root}/tools/export "
                            f"PATH={folder}:{config.tp_obj_root}/bin:/usr/bin:/bin"))
    if os.path.exists(f"{folder}/python") and not config.tp_sanitize:
        config.available_features.add(feature)
# NVIDIA's assembler, of a toolkit or of the wheel that cmake/setup.sh installs; tp-opt
# finds it by itself.
cuda = os.path.expanduser("~/.cache/tp-opt/cuda")
ptxas = shutil.which("ptxas") or next(iter(
    glob.glob("/usr/local/cuda/bin/ptxas") +
    glob.glob(f"{cuda}/lib/python3*/site-packages/nvidia/*/bin/ptxas")), None)
if ptxas:
    config.available_features.add("cuda-toolkit")
    config.substitutions.append(("%ptxas", ptxas))
if config.tp_sanitize:
    config.available_features.add("sanitizer")
elif all(os.path.isdir(os.path.join(models, name))
         for name in ("smollm2-135m", "minilm-l6")):
    config.available_features.add("models")
# With sanitizers everything is some twenty times slower.
config.substitutions.append(
    ("%fuzz_programs", "100" if config.tp_sanitize else "2000"))
config.substitutions.append(
    ("%fuzz_compiled", "20" if config.tp_sanitize else "200"))
config.substitutions.append(
    ("%fuzz_files", "300" if config.tp_sanitize else "6000"))
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.tp_obj_root + "/bin", append_path=True)
llvm_config.with_environment("PATH", f"{cuda}/bin", append_path=True)
llvm_config.add_tool_substitutions(
    ["tp-opt", "tp-run", "tp-lsp-server", "tp-reduce", "tpopt-capi-test",
     "tprt-mpi-collectives", "tprt-ranks-differ",
     "tp-fuzz", "tp-fuzz-readers", "tp-emulate-kernels",
     "mlir-opt", "FileCheck", "not", "split-file", "count"],
    [config.tp_obj_root + "/bin", config.tp_obj_root + "/test/Fuzz",
     config.tp_obj_root + "/test/Faults",
     config.tp_obj_root + "/test/Emulation",
     config.llvm_tools_dir],
)
