# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchax, with a PyTorch that is newer than it.

torchax 0.0.13 names operators that PyTorch has no more since 2.13, such as
aten.all.dimname: no graph has them, but importing torchax looks them up."""

import contextlib

import torch._ops


class Gone:
    """An operator, or a version of one, that PyTorch has no more."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, version):
        if version.startswith("__"):
            raise AttributeError(version)
        return Gone(f"{self._name}.{version}")

    def name(self):
        return self._name


@contextlib.contextmanager
def finding_gone():
    """Operators of PyTorch's own that are looked up and not there are `Gone`."""
    kinds = torch._ops._OpNamespace, torch._ops.OpOverloadPacket
    lookups = [kind.__getattr__ for kind in kinds]

    def make(lookup):
        def find(owner, name):
            try:
                return lookup(owner, name)
            except AttributeError:
                space = (owner.name if isinstance(owner, kinds[0]) else
                         owner._qualified_op_name.partition("::")[0])
                if name.startswith("__") or space != "aten":
                    raise
                return Gone(name)
        return find
    for kind, lookup in zip(kinds, lookups):
        kind.__getattr__ = make(lookup)
    try:
        yield
    finally:
        for kind, lookup in zip(kinds, lookups):
            kind.__getattr__ = lookup


with finding_gone():
    import torchax
    import torchax.export
    environment = torchax.default_env()  # which knows torchax's operators, too
