// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conversion.h"

#include "tpopt/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

InFlightDiagnostic Fields::fail() const {
  InFlightDiagnostic diag = op->emitError()
                            << prefix(ErrorCode::BadStableHLO) << op->getName();
  if (!where.empty())
    diag << ": " << where;
  return diag;
}

std::optional<int64_t> stablehlo::getInt64(const APInt &number) {
  if (number.getBitWidth() == 0)
    return 0;
  return number.trySExtValue();
}

Attribute Fields::get(StringRef name) const {
  Attribute attribute = fields ? fields.get(name) : op->getAttr(name);
  return attribute && !fields ? toBuiltin(attribute) : attribute;
}

FailureOr<int64_t> Fields::getInteger(StringRef name,
                                      std::optional<int64_t> otherwise) const {
  Attribute attribute = get(name);
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute);
      number && number.getType().isIntOrIndex())
    if (std::optional<int64_t> value = getInt64(number.getValue()))
      return *value;
  if (!attribute && otherwise)
    return *otherwise;
  return fail() << " expects `" << name << "` to be an integer";
}

FailureOr<SmallVector<int64_t>> Fields::getList(StringRef name) const {
  Attribute attribute = get(name);
  if (!attribute)
    return SmallVector<int64_t>();
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return SmallVector<int64_t>(list.asArrayRef());
  if (auto flags = dyn_cast<DenseBoolArrayAttr>(attribute))
    return SmallVector<int64_t>(flags.asArrayRef());
  auto dense = dyn_cast<DenseIntElementsAttr>(attribute);
  // A splat may be far longer than its text, and may have more elements than 64
  // bits can count.
  constexpr double kMaxLength = 1 << 22;
  if (!dense || dense.getElementType().getIntOrFloatBitWidth() > 64 ||
      getVolume(dense.getType().getShape()) > kMaxLength)
    return fail() << " expects `" << name << "` to be a list of integers";
  bool isBool = dense.getElementType().isInteger(1);
  SmallVector<int64_t> list;
  for (const APInt &number : dense.getValues<APInt>())
    list.push_back(isBool ? number.getZExtValue() : number.getSExtValue());
  return list;
}

FailureOr<SmallVector<int64_t>>
Fields::getList(StringRef name, size_t count,
                std::optional<int64_t> otherwise) const {
  if (!get(name) && otherwise)
    return SmallVector<int64_t>(count, *otherwise);
  FailureOr<SmallVector<int64_t>> list = getList(name);
  if (succeeded(list) && list->size() != count)
    return fail() << " expects " << count << " numbers in `" << name
                  << "`, got " << list->size();
  return list;
}

FailureOr<SmallVector<int64_t>> Fields::getDims(StringRef name,
                                                int64_t rank) const {
  FailureOr<SmallVector<int64_t>> dims = getList(name);
  if (failed(dims))
    return failure();
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : *dims) {
    if (dim < 0 || dim >= rank || seen.test(dim))
      return fail() << " expects `" << name
                    << "` to name dimensions of a tensor of rank " << rank
                    << ", each at most once";
    seen.set(dim);
  }
  return dims;
}

StringRef Fields::getWord(StringRef name) const {
  auto word = dyn_cast_or_null<StringAttr>(get(name));
  return word ? word.getValue() : StringRef();
}

bool Fields::getFlag(StringRef name) const {
  Attribute attribute = get(name);
  if (auto flag = dyn_cast_or_null<BoolAttr>(attribute))
    return flag.getValue();
  return isa_and_nonnull<UnitAttr>(attribute);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

FailureOr<Fields> Conversion::getStructure(StringRef name) const {
  auto structure = dyn_cast_or_null<DictionaryAttr>(get(name));
  if (!structure)
    return invalid() << " expects `" << name
                     << "` to be a structure with named fields";
  return Fields(op, structure, name);
}

InFlightDiagnostic Conversion::unsupported() const {
  return op->emitError() << prefix(ErrorCode::UnsupportedStableHLO)
                         << op->getName();
}

InFlightDiagnostic Conversion::invalid() const {
  return op->emitError() << prefix(ErrorCode::BadStableHLO) << op->getName();
}

Operation *tp::stablehlo::getReturn(Region &region) {
  if (!region.hasOneBlock() || region.front().empty())
    return nullptr;
  Operation *end = &region.front().back();
  return end->getName().getStringRef() == "stablehlo.return" ? end : nullptr;
}

void tp::stablehlo::makeYield(Region &region) {
  Operation *end = getReturn(region);
  OpBuilder builder(end);
  YieldOp::create(builder, end->getLoc(), end->getOperands());
  end->erase();
}
