# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tp-run on the GPU of this machine, in the ways that one GPU allows, and how fast
that GPU copies. As a program it prints the latter, in GB/s of what is read and
written: a process of its own, which leaves nothing on the GPU."""

import ctypes
import functools
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 3
# Of one run of a program; nothing here takes as long.
PATIENCE = 600
# How a program that is run here, or what it prints, can be wrong.
FAILURES = (subprocess.SubprocessError, OSError, ValueError, KeyError)


def call(arguments, **options):
    """What a program prints; its messages go where ours do."""
    return subprocess.run([str(a) for a in arguments], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def explain(error):
    """One line of why a program failed; all that it said goes to stderr."""
    said = getattr(error, "stderr", None) or ""
    if not isinstance(said, str):
        said = said.decode(errors="replace")
    if said:
        print(said, file=sys.stderr, flush=True)
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not done after {error.timeout:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        # The last line says where to read about the error.
        lines = [line for line in (said or str(error)).strip().splitlines()
                 if not line.startswith("note: for more about")]
        return lines[-1]
    return f"{type(error).__name__}: {error}"


def make_environment(own):
    """With libraries of this package, and NVIDIA's where pip or the toolkit put them."""
    folders = [*own, *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
    for place in sys.path:
        folders += glob.glob(f"{place}/nvidia/*/lib")
    folders += glob.glob("/usr/local/cuda/lib64") + glob.glob("/usr/local/nvidia/lib64")
    # What NCCL warns of goes where our errors go; its default is where results go.
    return {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/dev/stderr", **os.environ,
            "LD_LIBRARY_PATH": ":".join(map(str, folders))}


@functools.cache
def get_environment():
    """One in which tp-run starts: with GCC's libraries of this machine if they are new
    enough, as those that were packed may want a newer libc than there is."""
    tool = HERE / "bin/tp-run"
    if not os.access(tool, os.X_OK):
        tool.chmod(0o755)
    for own in ([HERE / "lib"], [HERE / "lib", HERE / "lib/gcc"]):
        environment = make_environment(own)
        done = subprocess.run([tool, "--help"], env=environment, text=True,
                              capture_output=True, check=False)
        if done.returncode == 0:
            return environment
    sys.exit(f"error: tp-run does not start here: {done.stderr.strip()}")


def get_command(backend, program, arguments):
    command = (HERE / "bin/tp-run", program, f"--backend={backend}", *arguments)
    return [str(word) for word in command]


def run_alone(backend, program, arguments, before=(), extra=None):
    return call([*before, *get_command(backend, program, arguments)],
                env={**get_environment(), **(extra or {})}, stderr=subprocess.PIPE,
                timeout=PATIENCE)


def run_one_by_nccl(program, arguments):
    """NCCL connects a rank to itself, by its own library and over the loopback."""
    return run_alone("cuda", program, arguments,
                     extra={"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
                            "NCCL_COMM_ID": "127.0.0.1:29517", "NCCL_SOCKET_IFNAME": "lo"})


def start_by_nccl(program, arguments, port=29518):
    """One process for each rank. NCCL takes GPUs on hosts of other names for others."""
    processes = []
    for rank in range(RANKS):
        environment = {
            **get_environment(), "RANK": str(rank), "WORLD_SIZE": str(RANKS),
            "LOCAL_RANK": str(rank), "NCCL_COMM_ID": f"127.0.0.1:{port}",
            "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0],
            "NCCL_HOSTID": f"rank-{rank}", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1",
            "NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "lo", "NCCL_NVLS_ENABLE": "0",
            "NCCL_MAX_CTAS": "2"}
        processes.append(subprocess.Popen(
            get_command("cuda", program, arguments),
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    return processes


def run_by_nccl(program, arguments):
    processes = start_by_nccl(program, ["--timeout=60", *arguments])
    try:
        results = [(process.communicate(timeout=PATIENCE), process.returncode)
                   for process in processes]
    finally:
        for process in processes:
            process.kill()
    for (_, errors), code in results:
        if code != 0:
            raise subprocess.CalledProcessError(code, "tp-run", stderr=errors)
    return results[0][0][0]


def read_bench(text):
    """Microseconds by name, of what --bench printed: min, median, and each kind's."""
    times = {name: float(time) for name, time in re.findall(r"(min|median) ([\d.]+) us", text)}
    times |= {kind: float(time) for kind, time in
              re.findall(r"^  (\w+) +\d+ steps +([\d.]+) us", text, re.MULTILINE)}
    return times


def bench(program, runs, warm_up, *arguments):
    return read_bench(run_alone(
        "cuda", program, [f"--bench={runs}", f"--warmup={warm_up}", *arguments]))


def read_trace(path):
    """The kind and the microseconds of each step of a run, in order."""
    events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
    return [(event["cat"], event["dur"]) for event in events if event["ph"] == "X"]


class Driver:
    """Calls of libcuda that fail when they fail."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        def checked(*arguments):
            if code := getattr(self.library, name)(*arguments):
                raise OSError(f"{name}: error {code}")
        return checked


def describe():
    """The GPU and the versions of its libraries, as they say themselves."""
    driver = Driver()
    device, name, version = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_int()
    driver.cuInit(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetName(name, 256, device)
    driver.cuDriverGetVersion(ctypes.byref(version))
    said = [name.value.decode(), f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"]
    for title, library, symbol in (("cuBLASLt", "libcublasLt.so.13", "cublasLtGetVersion"),
                                   ("cuBLASLt", "libcublasLt.so.12", "cublasLtGetVersion"),
                                   ("NCCL", "libnccl.so.2", "ncclGetVersion")):
        try:
            ask = getattr(ctypes.CDLL(find_library(library)), symbol)
        except (OSError, AttributeError):
            continue
        if title == "NCCL":
            ask(ctypes.byref(version))
            said.append(f"NCCL {version.value}")
        elif not said[-1].startswith(title):
            ask.restype = ctypes.c_size_t
            said.append(f"{title} {ask()}")
    return ", ".join(said)


def find_library(name):
    """Where tp-run finds it: this process was started with another search path."""
    for folder in get_environment()["LD_LIBRARY_PATH"].split(":"):
        if folder and os.path.exists(path := os.path.join(folder, name)):
            return path
    return name


def measure_copy(size, warm_up, repeats=10, rounds=5):
    """The best of some rounds of copies within the GPU, between two events, after so many
    seconds of them."""
    driver = Driver()
    device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    driver.cuInit(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    driver.cuCtxSetCurrent(context)
    driver.cuStreamCreateWithPriority(ctypes.byref(stream), 1, 0)
    buffers = [ctypes.c_uint64() for _ in range(2)]
    events = [ctypes.c_void_p() for _ in range(2)]
    for buffer in buffers:
        driver.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(size))
        driver.cuMemsetD8Async(buffer, ctypes.c_ubyte(1), ctypes.c_size_t(size), stream)
    for event in events:
        driver.cuEventCreate(ctypes.byref(event), 0)
    best = float("inf")
    begin = time.monotonic()
    while rounds > 0:
        driver.cuEventRecord(events[0], stream)
        for _ in range(repeats):
            driver.cuMemcpyDtoDAsync_v2(buffers[1], buffers[0], ctypes.c_size_t(size), stream)
        driver.cuEventRecord(events[1], stream)
        while driver.library.cuStreamQuery(stream) == 600:  # not ready
            time.sleep(1e-4)
        milliseconds = ctypes.c_float()
        driver.cuEventElapsedTime(ctypes.byref(milliseconds), *events)
        if time.monotonic() - begin >= warm_up:
            best = min(best, milliseconds.value)
            rounds -= 1
    return 2 * size * repeats / best / 1e6


if __name__ == "__main__":
    print(measure_copy(int(sys.argv[1]), float(sys.argv[2])))
