// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "JoinParts.h"

#include "dialects/TP/Interface.h"
#include "lib/Interpreter/Interpreter.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {
/// An argument that holds the elements [begin, end) of a stored tensor along
/// one of its dimensions.
struct Part {
  StringAttr name;
  RankedTensorType type;
  unsigned dim;
  int64_t begin, end;
};
} // namespace

/// Describes an argument or a result of type `value` as a part of the tensor
/// named `tensor`, which has type `whole`. Returns none if it is no such part,
/// or if it is reshaped or permuted.
static std::optional<Part> getPart(SourceAttr source, StringAttr name,
                                   Type value, StringAttr tensor,
                                   RankedTensorType whole) {
  auto own = dyn_cast<RankedTensorType>(value);
  if (!source || !own || source.getTensor() != tensor || name == tensor)
    return std::nullopt;
  RankedTensorType type = Program::getWholeType(own);
  if (source.getStored() != whole.getShape() ||
      source.getView() != type.getShape() ||
      source.getSize() != type.getShape() ||
      !llvm::equal(source.getPermutation(),
                   llvm::seq<int64_t>(0, type.getRank())))
    return std::nullopt;
  std::optional<Part> part;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (type.getDimSize(dim) == whole.getDimSize(dim))
      continue;
    if (part)
      return std::nullopt;
    int64_t begin = source.getStart()[dim];
    part = {name, type, unsigned(dim), begin, begin + type.getDimSize(dim)};
  }
  return part;
}

/// Returns the parts in order, or nothing if they do not cover the tensor.
static SmallVector<Part> sortParts(SmallVector<Part> parts,
                                   RankedTensorType whole) {
  llvm::sort(parts,
             [](const Part &a, const Part &b) { return a.begin < b.begin; });
  int64_t end = 0;
  for (const Part &part : parts) {
    if (part.dim != parts.front().dim || part.begin != end)
      return {};
    end = part.end;
  }
  if (parts.empty() || end != whole.getDimSize(parts.front().dim))
    return {};
  return parts;
}

static SmallVector<Part> getArgumentParts(func::FuncOp function,
                                          StringAttr tensor,
                                          RankedTensorType whole) {
  SmallVector<Part> parts;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (std::optional<Part> part =
            getPart(function.getArgAttrOfType<SourceAttr>(i, kSourceAttr),
                    getInputName(function, i), function.getArgumentTypes()[i],
                    tensor, whole))
      parts.push_back(*part);
  return sortParts(std::move(parts), whole);
}

static SmallVector<Part> getResultParts(func::FuncOp function,
                                        StringAttr tensor,
                                        RankedTensorType whole) {
  SmallVector<Part> parts;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (std::optional<Part> part =
            getPart(function.getResultAttrOfType<SourceAttr>(i, kSourceAttr),
                    getOutputName(function, i), function.getResultTypes()[i],
                    tensor, whole))
      parts.push_back(*part);
  return sortParts(std::move(parts), whole);
}

static void joinArguments(func::FuncOp whole, func::FuncOp local) {
  for (unsigned index = whole.getNumArguments(); index-- > 0;) {
    StringAttr name = getInputName(whole, index);
    auto type = dyn_cast<RankedTensorType>(whole.getArgumentTypes()[index]);
    if (!type)
      continue;
    SmallVector<Part> parts = getArgumentParts(local, name, type);
    if (parts.empty())
      continue;
    BlockArgument argument = whole.getArgument(index);
    SmallVector<Value> values;
    for (auto [number, part] : llvm::enumerate(parts)) {
      NamedAttrList attributes;
      attributes.set(kNameAttr, part.name);
      unsigned place = index + 1 + number;
      (void)whole.insertArgument(place, part.type,
                                 attributes.getDictionary(whole.getContext()),
                                 argument.getLoc());
      values.push_back(whole.getArgument(place));
    }
    OpBuilder builder = OpBuilder::atBlockBegin(&whole.front());
    argument.replaceAllUsesWith(ConcatOp::create(
        builder, argument.getLoc(), type, values, int64_t(parts.front().dim)));
    (void)whole.eraseArgument(index);
  }
}

/// Makes `whole` return the parts instead of the joined tensors. Drops
/// donations, which the comparison ignores.
static void sliceResults(func::FuncOp whole, func::FuncOp local) {
  Operation *back = whole.front().getTerminator();
  OpBuilder builder(back);
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](Value value, StringAttr name) {
    values.push_back(value);
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(kNameAttr, name)));
  };
  for (unsigned index = 0; index < whole.getNumResults(); ++index) {
    StringAttr name = getOutputName(whole, index);
    Value value = back->getOperand(index);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    SmallVector<Part> parts =
        type ? getResultParts(local, name, type) : SmallVector<Part>();
    if (parts.empty())
      add(value, name);
    for (const Part &part : parts) {
      SmallVector<int64_t> starts(type.getRank(), 0),
          strides(type.getRank(), 1);
      starts[part.dim] = part.begin;
      add(SliceOp::create(builder, value.getLoc(), part.type, value, starts,
                          strides),
          part.name);
    }
  }
  for (unsigned index = 0; index < whole.getNumArguments(); ++index)
    whole.removeArgAttr(index, kDonatedAttr);
  back->setOperands(values);
  whole.setFunctionType(builder.getFunctionType(whole.getArgumentTypes(),
                                                ValueRange(values).getTypes()));
  whole.setAllResultAttrs(attributes);
}

void tp::joinParts(func::FuncOp whole, func::FuncOp local) {
  if (whole.isExternal())
    return;
  if (whole.getNumArguments() != local.getNumArguments())
    joinArguments(whole, local);
  if (whole.getNumResults() != local.getNumResults())
    sliceResults(whole, local);
}
