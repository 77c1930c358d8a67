// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Concatenation: a sum of adjacent parts, each of which is zero everywhere
// else. Gradients of slices have this form, for example if q, k and v are
// slices of one product, or if a rotary embedding uses two halves of a value.

#include "Patterns.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// `whole` is zero except for `input`, at `begin` .. `end` along `dim`.
struct Part {
  Value whole, input;
  int64_t dim, begin, end;

  bool isBefore(const Part &o) const { return dim == o.dim && end == o.begin; }
};

struct Sum {
  SmallVector<SmallVector<Part, 3>> neighbours;
  SmallVector<Value> others;
};

} // namespace

static std::optional<Part> getPart(Value value) {
  auto pad = value.getDefiningOp<PadOp>();
  if (!pad || !BroadcastOperand::of(pad.getValue()).isNumber(0))
    return std::nullopt;
  std::optional<Part> part;
  ArrayRef<int64_t> inner = typeOf(pad.getInput()).getShape(),
                    outer = pad.getType().getShape();
  for (auto [dim, low] : llvm::enumerate(pad.getLow())) {
    if (inner[dim] == outer[dim])
      continue;
    if (part || inner[dim] == 0)
      return std::nullopt;
    part = {value, pad.getInput(), int64_t(dim), low, low + inner[dim]};
  }
  return part;
}

/// Returns the terms of a sum. An inner sum that has other uses is kept as one
/// term.
static Sum getSum(Operation *root) {
  constexpr size_t kMost = 64;
  Sum sum;
  SmallVector<Part> parts;
  SmallVector<Value> open(root->getOperands());
  for (size_t count = 0; !open.empty(); ++count) {
    Value value = open.pop_back_val();
    auto add = value.getDefiningOp<AddOp>();
    if (add && add->hasOneUse() && count < kMost)
      llvm::append_range(open, add->getOperands());
    else if (std::optional<Part> part = getPart(value))
      parts.push_back(*part);
    else
      sum.others.push_back(value);
  }
  llvm::sort(parts, [](const Part &a, const Part &b) {
    return std::pair(a.dim, a.begin) < std::pair(b.dim, b.begin);
  });
  for (const Part &part : parts) {
    if (sum.neighbours.empty() || !sum.neighbours.back().back().isBefore(part))
      sum.neighbours.emplace_back();
    sum.neighbours.back().push_back(part);
  }
  return sum;
}

static Value join(Emitter &emit, ArrayRef<Part> neighbours) {
  const Part &first = neighbours.front();
  if (neighbours.size() == 1)
    return first.whole;
  SmallVector<Value> inputs;
  for (const Part &part : neighbours)
    inputs.push_back(part.input);
  return emit.pad(emit.concat(inputs, first.dim), first.dim, first.begin,
                  typeOf(first.whole).getDimSize(first.dim));
}

std::optional<Match> tp::raise::matchConcatenation(Operation *root) {
  if (!isa<AddOp>(root))
    return std::nullopt;
  Sum sum = getSum(root);
  if (llvm::all_of(sum.neighbours,
                   [](const auto &parts) { return parts.size() == 1; }))
    return std::nullopt;
  // The order of terms does not change a sum of two. A longer 16-bit sum is
  // rounded after each addition, so its order must stay the same.
  Type element = elementOf(root->getResult(0));
  if (isa<FloatType>(element) && !isWide(element) &&
      sum.neighbours.size() + sum.others.size() > 2)
    return std::nullopt;

  Match match{"concat", root, {}, {}};
  llvm::append_range(match.inputs, sum.others);
  for (ArrayRef<Part> parts : sum.neighbours)
    for (const Part &part : parts)
      match.inputs.push_back(parts.size() == 1 ? part.whole : part.input);
  match.build = [sum = std::move(sum)](OpBuilder &builder,
                                       Location loc) -> Value {
    Emitter emit(builder, loc);
    Value result;
    auto add = [&](Value value) {
      result = result ? emit.binary<AddOp>(result, value) : value;
    };
    llvm::for_each(sum.others, add);
    for (ArrayRef<Part> parts : sum.neighbours)
      add(join(emit, parts));
    return result;
  };
  return match;
}
