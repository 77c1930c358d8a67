# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a function's arguments and results: paths in trees, with dots."""

import inspect

import jax


def join_path(*keys):
    """`("state", GetAttrKey("mu"), DictKey("h"), SequenceKey(0))` as state.mu.h.0."""
    words = []
    for key in keys:
        for kind in ("key", "name", "idx"):  # of dicts; dataclasses; lists
            if hasattr(key, kind):
                key = getattr(key, kind)
                break
        words.append(str(key))
    return ".".join(word for word in words if word)


def get_parameters(function, count):
    """What a function calls its first `count` arguments."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for i in range(count):
        if i < len(parameters) and parameters[i].kind in (
                inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameters[i].name)
        else:
            names.append(f"arg{i}")
    return names


def name_leaves(tree, prefix):
    """Names of a tree's leaves in JAX's order, and the leaves."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(join_path(prefix, *path), leaf) for path, leaf in leaves]
