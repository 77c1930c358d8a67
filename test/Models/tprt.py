# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many steps of training by the C interface of the runtime, runtime/include/tprt/tprt.h.

    tprt.py ARTIFACT WEIGHTS BATCHES.npz RESULTS.json OUT.npz

Each array of BATCHES has a value of an input for every step. RESULTS is the element type
and the shapes of results; OUT has the loss of every step, and these results of the last.
PyTorch is not in this process: it has an oneDNN of its own.
"""

import ctypes
import json
import os
import pathlib
import shutil
import sys
import time

import numpy

DTYPES = {"float64": 0, "float32": 1, "int32": 5}


class Tensor(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("dtype", ctypes.c_uint32),
                ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("backend", ctypes.c_char_p),
                ("transport", ctypes.c_char_p), ("ranks", ctypes.c_int32),
                ("timeout_s", ctypes.c_double), ("threads", ctypes.c_int32),
                ("tf32", ctypes.c_int32)]


def find_library():
    """Beside the tp-run in PATH."""
    tool = pathlib.Path(os.path.realpath(shutil.which("tp-run")))
    library = ctypes.CDLL(str(tool.parent.parent / "lib" / "libtprt.so"))
    library.tprt_error.restype = ctypes.c_char_p
    library.tprt_error.argtypes = [ctypes.c_void_p]
    library.tprt_sync.argtypes = [ctypes.c_void_p, ctypes.c_double]
    return library


class Session:
    """An artifact whose devices are threads of this process, and compute on `threads` each;
    0 is their share of the cores."""

    def __init__(self, path, threads=0):
        self.library = find_library()
        self.handle = ctypes.c_void_p()
        options = Options(size=ctypes.sizeof(Options), threads=threads)
        self._call("open", os.fsencode(path), ctypes.byref(options),
                   ctypes.byref(self.handle), has_session=False)

    def _call(self, name, *arguments, has_session=True):
        call = getattr(self.library, f"tprt_{name}")
        status = call(*([self.handle] if has_session else []), *arguments)
        if status:
            raise RuntimeError(f"tprt_{name}: {self.library.tprt_error(self.handle).decode()}")

    def load(self, path):
        self._call("load", os.fsencode(path))

    def bind(self, name, value):
        value = numpy.asarray(value, order="C")  # a scalar stays one
        shape = (ctypes.c_int64 * value.ndim)(*value.shape)
        tensor = Tensor(ctypes.sizeof(Tensor), DTYPES[value.dtype.name], value.ndim, shape,
                        value.ctypes.data, value.nbytes)
        self._call("bind", name.encode(), ctypes.byref(tensor))

    def run(self, entry):
        self._call("run", entry.encode())
        self._call("sync", -1.0)

    def read(self, name, shape, dtype):
        value = numpy.empty(shape, dtype)
        self._call("read", name.encode(), ctypes.c_void_p(value.ctypes.data),
                   ctypes.c_size_t(value.nbytes))
        return value

    def close(self):
        self._call("close")
        self.handle = None


def main():
    artifact, weights, batches, results, out = sys.argv[1:]
    batches = dict(numpy.load(batches))
    results = json.loads(pathlib.Path(results).read_text())
    session = Session(artifact)
    session.load(weights)
    losses = []
    begin = time.perf_counter()
    for step in range(len(next(iter(batches.values())))):
        for name, values in batches.items():
            session.bind(name, values[step])
        session.run("main")
        losses.append(float(session.read("loss", (), results["loss"])))
    took = (time.perf_counter() - begin) / len(losses)
    values = {name: session.read(name, shape, results["dtype"])
              for name, shape in results["shapes"].items()}
    session.close()
    numpy.savez(out, **values, **{"train.losses": losses, "train.seconds": took})


if __name__ == "__main__":
    main()
