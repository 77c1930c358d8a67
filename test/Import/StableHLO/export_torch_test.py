# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tp_export writes of PyTorch modules: inputs by name, results by path, what the
module writes to, gradients, PyTorch's values where torchax has others, and an error where
a sharding is of nothing."""

import dataclasses
import inspect
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jax
import safetensors.numpy
import safetensors.torch
import torch
from torch import nn
from torch.export.experimental import _export_forward_backward
from transformers.integrations import moe  # whose operators it registers
from transformers.models.longcat_flash import LongcatFlashConfig, modeling_longcat_flash

import tp_export


class Recorder(nn.Module):
    """Writes to a buffer and to an input."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6)
        self.register_buffer("record", torch.zeros(8, 6))

    def forward(self, x, seen=None, *, scale, at):
        hidden = self.linear(x) * scale
        self.record[at] = hidden
        seen.add_(1)
        return {"hidden": hidden, "all": [self.record.sum(), None, 3, seen * 2]}


class Viewed(nn.Module):
    """Views a result that PyTorch lays out otherwise once it is decomposed."""

    def forward(self, x):
        mixed = nn.functional.scaled_dot_product_attention(x, x, x)
        return mixed.transpose(1, 2).reshape(2, 7, 32).view(-1, 32)


class OneHot(nn.Module):
    """Asserts that numbers are below four."""

    def forward(self, x):
        return nn.functional.one_hot(x, 4)


class Experts(nn.Module):
    """Two rows for the first expert, none for the second, four for the third."""

    def __init__(self):
        super().__init__()
        self.experts = nn.Parameter(torch.randn(3, 4, 8))
        self.register_buffer("ends", torch.tensor([2, 2, 6], dtype=torch.int32))

    def forward(self, input):
        return moe._grouped_mm(input, self.experts, self.ends)


class GatedExperts(nn.Module):
    """Two products of groups, and between them what is of each row, which may count
    elsewhere, too."""

    def __init__(self, wants_between=False):
        super().__init__()
        self.wants_between = wants_between
        self.up = nn.Parameter(torch.randn(3, 4, 8))
        self.down = nn.Parameter(torch.randn(3, 4, 4))
        self.register_buffer("ends", torch.tensor([2, 2, 6], dtype=torch.int32))

    def forward(self, input):
        up = moe._grouped_mm(input, self.up, self.ends)
        gate, up = (up + 1).chunk(2, dim=-1)
        between = nn.functional.silu(gate.clamp(max=2))
        down = moe._grouped_mm(between * up, self.down, self.ends)
        return torch.cat((down, between), dim=-1) if self.wants_between else down


@torch.library.custom_op("tp_export_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class Twice(nn.Module):
    """What only its library computes."""

    def forward(self, x):
        return twice(x)


@dataclasses.dataclass
class Halves:
    """As models of the diffusers library return them."""
    low: torch.Tensor
    high: torch.Tensor | None = None
    rest: "Halves | None" = None


class Halved(nn.Module):
    def forward(self, x):
        return Halves(x / 2, rest=Halves(x / 4, x / 8))


class Turned(nn.Module):
    """Turns by complex numbers of a buffer, and writes to one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("turns", torch.polar(torch.ones(4), torch.arange(4.0)))
        self.register_buffer("last", torch.zeros(2, 4, dtype=torch.complex64))

    def forward(self, input):
        turned = torch.view_as_complex(input.unflatten(-1, (4, 2))) * self.turns
        self.last.copy_(turned)
        return torch.view_as_real(turned).flatten(-2)


class Attending(nn.Module):
    """The loss of an attention, causal or masked."""

    def __init__(self, masked):
        super().__init__()
        self.masked, self.mixed = masked, nn.Linear(8, 24)

    def forward(self, input):
        q, k, v = self.mixed(input).unflatten(-1, (6, 4)).transpose(1, 2).split(2, 1)
        mask = torch.ones(5, 5, dtype=torch.bool).triu(-1) if self.masked else None
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None)
        return (mixed ** 3).sum()


class Applied(nn.Module):
    """A function, with what it takes behind its input."""

    def __init__(self, function, *options):
        super().__init__()
        self.function, self.options = function, options

    def forward(self, input):
        return self.function(input, *self.options)


class Transformed(nn.Module):
    """By a function of torch.fft, with its options, and back to real numbers."""

    def __init__(self, function, **options):
        super().__init__()
        self.function, self.options = function, options

    def forward(self, input):
        if self.function in (torch.fft.ifft2, torch.fft.irfft, torch.fft.irfft2):
            input = torch.view_as_complex(input.unflatten(-1, (-1, 2)))
        result = self.function(input, **self.options)
        return torch.view_as_real(result) if result.is_complex() else result


class Drawn(nn.Module):
    def forward(self, x):
        return x + torch.rand(4)


class Depending(nn.Module):
    """A size, a branch or a loop that depends on numbers."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        if self.kind == "size":
            return x[x > 0]  # the size
        if self.kind == "rows":
            rows, = torch.where(x[:, 0] > 0)
            return x.index_add(0, rows, x[rows])  # the rows
        if self.kind == "key":
            return x.sum() if x[:, 0].nonzero().shape[0] in {2: None} else x  # the key
        if x.sum() > 0:  # the branch
            return x
        return -x


class Export(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def get_entry(self, *arguments, **options):
        text = tp_export.export_torch(*arguments, to=self.folder, **options).read_text()
        (entry,) = [line for line in text.splitlines() if "@main(" in line]
        return [re.findall(r"tensor<(\w+)> \{(?:jax[^,]*, )?(?:tf.aliasing_output = (\d+) : i32, )?"
                           'tp.name = "(.*?)"', part) for part in entry.split(" -> ")]

    def test_names(self):
        # Keywords in another order than the parameters'.
        arguments, results = self.get_entry(
            Recorder(), torch.ones(2, 4),
            kwargs={"at": torch.tensor([1, 3]), "scale": 2.0, "seen": torch.ones(3)})
        self.assertEqual(arguments, [
            ("6xf32", "", "linear.bias"), ("6x4xf32", "", "linear.weight"),
            ("8x6xf32", "3", "record"), ("2xi32", "", "at"), ("3xf32", "4", "seen"),
            ("2x4xf32", "", "x")])
        self.assertEqual(results, [
            ("2x6xf32", "", "result.hidden"), ("f32", "", "result.all.0"),
            ("3xf32", "", "result.all.3"), ("8x6xf32", "", "record"), ("3xf32", "", "seen")])
        stored = safetensors.numpy.load_file(self.folder / "model.safetensors")
        self.assertEqual(stored.keys(), {"linear.bias", "linear.weight", "record"})

    def test_a_lone_result_is_the_result(self):
        _, results = self.get_entry(nn.Linear(4, 6), torch.ones(2, 4))
        self.assertEqual(results, [("2x6xf32", "", "result")])

    def test_dataclasses_are_their_fields(self):
        _, results = self.get_entry(Halved(), torch.ones(2, 4))
        self.assertEqual(results, [("2x4xf32", "", "result.low"),
                                   ("2x4xf32", "", "result.rest.low"),
                                   ("2x4xf32", "", "result.rest.high")])

    def test_complex_tensors_are_two(self):
        arguments, results = self.get_entry(Turned(), torch.ones(2, 8))
        self.assertEqual(arguments, [
            ("2x4xf32", "2", "last.imag"), ("2x4xf32", "1", "last.real"),
            ("4xf32", "", "turns.imag"), ("4xf32", "", "turns.real"), ("2x8xf32", "", "input")])
        self.assertEqual(results, [("2x8xf32", "", "result"), ("2x4xf32", "", "last.real"),
                                   ("2x4xf32", "", "last.imag")])
        stored = safetensors.numpy.load_file(self.folder / "model.safetensors")
        turns = torch.complex(*(torch.tensor(stored[f"turns.{part}"]) for part in ("real", "imag")))
        torch.testing.assert_close(turns, Turned().turns)
        torch.manual_seed(0)
        self.check_values(Turned(), torch.randn(2, 8), results=3)

    def test_gradients(self):
        torch.manual_seed(0)
        module, x = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6)), torch.randn(2, 4)
        forward, weights, inputs = tp_export.to_jax(module, x)
        self.assertEqual((weights.keys(), inputs.keys()), (module.state_dict().keys(), {"input"}))
        weigh = lambda result, numbers: (result ** 2 * numbers).sum()
        value, gradients = jax.value_and_grad(lambda weights: weigh(
            forward(weights, inputs)["result"], jax.numpy.arange(6)))(weights)
        loss = weigh(module(x), torch.arange(6))
        loss.backward()
        torch.testing.assert_close(float(value), float(loss), rtol=1e-5, atol=0)
        for name, weight in module.named_parameters():
            torch.testing.assert_close(torch.tensor(gradients[name].tolist()), weight.grad,
                                       rtol=1e-4, atol=1e-5)

    def test_derivatives_at_zero(self):
        for function in (torch.sinc, torch.std):
            forward, weights, inputs = tp_export.to_jax(Applied(function), torch.zeros(3))
            gradients = jax.grad(lambda inputs: forward(weights, inputs)["result"].sum())(inputs)
            self.assertEqual(gradients["input"].tolist(), [0, 0, 0])

    def test_standard_deviations(self):
        for options in ((), (0,), ([0, 1], False), (1, True, True)):
            self.check_values(Applied(torch.std, *options), torch.randn(3, 4))

    def test_joint_graphs(self):
        torch.manual_seed(0)
        for masked in (False, True):
            module, x = Attending(masked), torch.randn(2, 5, 8)
            program = torch.export.export(module, (x,))
            joint = _export_forward_backward(program)
            _, results = self.get_entry(joint)
            self.assertEqual([name for *_, name in results],
                             ["result", "gradient.mixed.weight", "gradient.mixed.bias"])
            got = self.run_program(x)
            loss = module(x)
            loss.backward()
            wanted = [loss.detach(), *(weight.grad for weight in module.parameters())]
            for value, right in zip(got, wanted, strict=True):
                torch.testing.assert_close(value, right.flatten(), rtol=1e-4, atol=1e-6)

    def test_views_of_what_is_decomposed(self):
        _, results = self.get_entry(Viewed(), torch.ones(2, 4, 7, 8))
        self.assertEqual(results, [("14x32xf32", "", "result")])

    def test_assertions_go(self):
        _, results = self.get_entry(OneHot(), torch.tensor([1, 3]))
        self.assertEqual(results, [("2x4xi32", "", "result")])

    def run_program(self, x):
        """What the program gives of an input called `input`."""
        file = self.folder / "in.safetensors"
        safetensors.torch.save_file({"input": x.contiguous()}, file)
        stored = (self.folder / "model.safetensors").exists()
        printed = subprocess.run(
            ["tp-run", self.folder / "model.mlir", "--backend=interpreter", "--print",
             f"--input=input={file}", *([f"--weights={self.folder}"] if stored else [])],
            capture_output=True, text=True, check=True).stdout
        parts = re.split(r"^\S+: \w+\[.*\]$", printed, flags=re.M)[1:]
        return [torch.tensor([float(word) for word in part.split()]) for part in parts]

    def check_values(self, module, x, results=1):
        """That the program's first result is PyTorch's."""
        tp_export.export_torch(module, x, to=self.folder)
        values = self.run_program(x)
        self.assertEqual(len(values), results)
        with torch.no_grad():
            expected = module(x)
        if isinstance(expected, tuple):
            expected = expected[0]
        torch.testing.assert_close(values[0], expected.flatten(), rtol=0, atol=1e-5)

    def test_groups_of_transposed_convolutions(self):
        self.check_values(nn.ConvTranspose1d(6, 12, 3, 2, 1, 1, groups=3), torch.randn(2, 6, 5))
        self.check_values(nn.ConvTranspose2d(4, 2, 2, groups=2, bias=False),
                          torch.randn(4, 3, 2))

    def test_average_pools_over_the_end(self):
        x = torch.randn(2, 3, 8, 8)
        for pool in (nn.AvgPool2d(3, 2, 1, ceil_mode=True),
                     nn.AvgPool2d(3, 2, ceil_mode=True, count_include_pad=False),
                     nn.AvgPool2d(2, ceil_mode=True, divisor_override=3)):
            self.check_values(pool, x)
        self.check_values(nn.AvgPool2d(2, ceil_mode=True), x[..., :5, :5])
        self.check_values(nn.AvgPool1d(3, 2, 1, ceil_mode=True), x[0])

    def test_adaptive_pools_of_maxima(self):
        x = torch.randn(2, 3, 7, 5)
        for pool in (nn.AdaptiveMaxPool2d((3, 2)), nn.AdaptiveMaxPool2d(1),
                     nn.AdaptiveMaxPool1d(4), nn.AdaptiveMaxPool3d((2, 7, 3))):
            self.check_values(pool, x if not isinstance(pool, nn.AdaptiveMaxPool1d) else x[0])

    def test_running_reductions_from_the_end(self):
        for function, results in (
                (torch.logcumsumexp, 1), (torch.cummax, 2), (torch.cummin, 2)):
            self.check_values(Applied(function, -2), torch.randn(3, 4), results)

    def test_transforms_of_fourier(self):
        x = torch.randn(3, 5, 8)
        for function, options in (
                (torch.fft.fftn, {"dim": (1, 2)}), (torch.fft.rfft, {"dim": 1}),
                (torch.fft.rfft2, {"norm": "ortho"}), (torch.fft.ifft2, {}),
                (torch.fft.irfft, {}), (torch.fft.irfft2, {"norm": "forward"}),
                (torch.fft.irfft, {"n": 5})):
            self.check_values(Transformed(function, **options), x)

    def test_products_of_groups(self):
        x = torch.randn(6, 4)
        self.check_values(Experts(), x)
        self.check_values(GatedExperts(), x)
        self.check_values(GatedExperts(wants_between=True), x)

    def test_experts_without_a_form_of_products(self):
        """LongcatFlash loops over the tokens of each expert. Two of the five are the identity."""
        config = LongcatFlashConfig(
            hidden_size=8, expert_ffn_hidden_size=4, n_routed_experts=3, zero_expert_num=2,
            num_experts_per_tok=2, moe_topk=2, routed_scaling_factor=1.5)
        module = modeling_longcat_flash.LongcatFlashMoE(config)
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=0.5)
        self.check_values(nn.Sequential(module), torch.randn(2, 9, 8))
        self.assertNotIn("forward", vars(module.experts))  # it is as it was

    def test_experts_are_summed_once(self):
        """Devices that have experts of their own need no sum before they are done."""
        tp_export.export_torch(GatedExperts(), torch.randn(6, 4), to=self.folder)
        plan = self.folder / "plan.json"
        plan.write_text('{"up": "grouped_gemm", "down": "grouped_gemm"}')
        text = subprocess.run(
            ["tp-opt", self.folder / "model.mlir", f"--tp-shard=mesh=model=3 plan={plan}"],
            capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.findall(r"spmd\.(all_\w+|reduce_\w+|combined \w+)", text), ["all_reduce"])

    def test_programs(self):
        module, x = nn.Linear(4, 6), torch.ones(2, 4)
        program = torch.export.export(module, (x,))
        self.assertEqual(self.get_entry(program), self.get_entry(module, x))
        with self.assertRaisesRegex(ValueError, "already has its inputs"):
            self.get_entry(program, x)

    def test_shapes_are_enough(self):
        with torch.device("meta"):
            arguments, _ = self.get_entry(nn.Linear(4, 6).bfloat16(),
                                          torch.ones(2, 4, dtype=torch.bfloat16))
        self.assertEqual(arguments, [("6xbf16", "", "bias"), ("6x4xbf16", "", "weight"),
                                     ("2x4xbf16", "", "input")])
        self.assertFalse((self.folder / "model.safetensors").exists())

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "the module has no weight, buffer or input called head"):
            self.get_entry(nn.Linear(4, 6), torch.ones(2, 4), in_shardings={"head": None})
        with self.assertRaisesRegex(NotImplementedError,
                                    "tp_export_test.twice.default cannot be converted to StableHLO"):
            self.get_entry(Twice(), torch.ones(2, 4))
        with self.assertRaisesRegex(NotImplementedError, rf"^{__file__}:\d+: aten.rand.default "
                                    "draws random numbers"):
            self.get_entry(Drawn(), torch.ones(2, 4))
        for kind, text in (("size", "x[x > 0]"), ("rows", "torch.where"),
                           ("branch", "if x.sum() > 0"), ("key", "in {")):
            (line,) = [number for number, words in
                       enumerate(inspect.getsource(Depending).splitlines()) if text in words]
            line += inspect.getsourcelines(Depending)[1]
            with self.assertRaisesRegex(NotImplementedError, f"^{__file__}:{line}: a size or "
                                        "branch depends on the values of tensors"):
                self.get_entry(Depending(kind), torch.ones(2, 4))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
