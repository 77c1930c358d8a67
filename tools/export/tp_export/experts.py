# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The experts of LongcatFlash, of the transformers library. They compute expert by expert,
whatever `experts_implementation` says, as some of them are the identity."""

import contextlib
import types


def compute(experts, hidden_states, top_k_index, top_k_weights):
    """What they compute, as products of groups."""
    from transformers.integrations import moe
    count = experts.num_routed_experts
    real = types.SimpleNamespace(
        gate_up_proj=experts.gate_up_proj[:count], down_proj=experts.down_proj,
        act_fn=experts.act_fn, num_experts=count, has_gate=True, has_bias=False,
        has_post_expert_norm=False, is_transposed=False, _is_expert_parallel=False)
    real._apply_gate = types.MethodType(moe._default_apply_gate, real)
    # As another expert's, with a weight of zero.
    is_identity = top_k_index >= count
    computed = moe.grouped_mm_experts_forward(
        real, hidden_states, top_k_index.masked_fill(is_identity, 0),
        top_k_weights.masked_fill(is_identity, 0))
    kept = top_k_weights.masked_fill(~is_identity, 0).sum(-1, keepdim=True)
    return computed + (hidden_states * kept).to(hidden_states.dtype)


@contextlib.contextmanager
def without_loops(module):
    """The module's experts compute as `compute` does."""
    changed = [each for each in module.modules()
               if type(each).__name__ == "LongcatFlashExperts" and each.num_routed_experts > 0]
    for each in changed:
        each.forward = types.MethodType(compute, each)
    try:
        yield
    finally:
        for each in changed:
            del each.forward
