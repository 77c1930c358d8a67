// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The attributes of ours that ops, functions and modules carry.

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// SourceAttr
//===----------------------------------------------------------------------===//

static ParseResult parseSizes(AsmParser &parser, StringRef keyword,
                              SmallVectorImpl<int64_t> &sizes) {
  auto parseSize = [&]() -> ParseResult {
    return parser.parseInteger(sizes.emplace_back());
  };
  return failure(
      parser.parseComma() || parser.parseKeyword(keyword) ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize));
}

Attribute SourceAttr::parse(AsmParser &parser, Type) {
  std::string name;
  SmallVector<int64_t> stored, start, size, view, permutation;
  if (parser.parseLess() || parser.parseString(&name) ||
      parseSizes(parser, "stored", stored) ||
      parseSizes(parser, "start", start) || parseSizes(parser, "size", size) ||
      parseSizes(parser, "view", view) ||
      parseSizes(parser, "permutation", permutation) || parser.parseGreater())
    return {};
  return SourceAttr::get(parser.getContext(),
                         StringAttr::get(parser.getContext(), name), stored,
                         start, size, view, permutation);
}

void SourceAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getTensor());
  printer << ", stored=[" << getStored() << "], start=[" << getStart()
          << "], size=[" << getSize() << "], view=[" << getView()
          << "], permutation=[" << getPermutation() << "]>";
}

/// Checks a source against the shape of its weight.
static LogicalResult verifySource(SourceAttr source, ArrayRef<int64_t> shape,
                                  function_ref<InFlightDiagnostic()> error) {
  size_t rank = source.getStored().size();
  if (source.getStart().size() != rank || source.getSize().size() != rank)
    return error() << "`stored`, `start` and `size` have one entry per "
                      "dimension of the stored tensor";
  for (size_t i = 0; i < rank; ++i)
    if (source.getStart()[i] < 0 || source.getSize()[i] < 0 ||
        source.getStart()[i] > source.getStored()[i] - source.getSize()[i])
      return error() << "the box leaves the stored tensor in dimension " << i;
  if (getVolume(source.getView()) != getVolume(source.getSize()))
    return error() << "the view has another number of elements than the box";
  ArrayRef<int64_t> view = source.getView();
  llvm::SmallBitVector seen(view.size());
  if (source.getPermutation().size() != view.size() ||
      shape.size() != view.size())
    return error() << "view, permutation and weight have one rank";
  for (auto [dim, from] : llvm::enumerate(source.getPermutation())) {
    if (from < 0 || from >= int64_t(view.size()) || seen.test(from))
      return error() << "`permutation` names every dimension of the view once";
    seen.set(from);
    if (shape[dim] != view[from])
      return error() << "the permuted view does not have the weight's shape in "
                        "dimension "
                     << dim;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Where attributes may be
//===----------------------------------------------------------------------===//

namespace {

enum class Place { Argument, Result, Op, Function, Module };

struct Annotation {
  StringLiteral name;
  Place place;
};

} // namespace

// In step with `discardableAttrs` of TPBase.td.
static constexpr Annotation kAnnotations[] = {
    {kNameAttr, Place::Argument},
    {kNameAttr, Place::Result},
    {kSourceAttr, Place::Argument},
    {kDonatedAttr, Place::Argument},
    {kReasonAttr, Place::Op},
    {kRequestedAttr, Place::Op},
    {kGlobalOpAttr, Place::Op},
    {kGlobalResultsAttr, Place::Op},
    {kMotionAttr, Place::Op},
    {kLocalFormAttr, Place::Function},
    {kExplanationsAttr, Place::Function},
    {kResultDigestsAttr, Place::Function},
    {kDigestsAttr, Place::Function},
    {kMachineAttr, Place::Module},
    {kVerifiedAttr, Place::Module},
    {kVerifyTimeAttr, Place::Module},
    {kWholeProgramAttr, Place::Module},
    {kLocalProgramAttr, Place::Module},
};

static StringRef describe(Place place) {
  switch (place) {
  case Place::Argument:
    return "arguments of functions";
  case Place::Result:
    return "results of functions";
  case Place::Op:
    return "operations";
  case Place::Function:
    return "functions";
  case Place::Module:
    return "modules";
  }
  llvm_unreachable("covered switch");
}

/// An error unless `name` is an attribute of ours that may be at `place`.
static LogicalResult verifyPlace(Operation *op, StringAttr name, Place place) {
  const Annotation *nearest = nullptr;
  std::string elsewhere;
  unsigned least = ~0u;
  for (const Annotation &known : kAnnotations) {
    if (known.name == name.getValue()) {
      if (known.place == place)
        return success();
      elsewhere +=
          (elsewhere.empty() ? "" : " and to ") + describe(known.place).str();
    }
    unsigned distance = known.name.edit_distance(name.getValue());
    if (distance < least) {
      least = distance;
      nearest = &known;
    }
  }
  if (!elsewhere.empty())
    return op->emitError() << prefix(ErrorCode::Misplaced) << name
                           << " belongs to " << elsewhere << ", not to "
                           << describe(place);
  InFlightDiagnostic error = op->emitError()
                             << prefix(ErrorCode::UnknownAttribute)
                             << "no attribute is called " << name;
  constexpr unsigned kTypo = 2;
  if (least <= kTypo)
    error << "; did you mean '" << nearest->name << "'?";
  return error;
}

LogicalResult TPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  Place place = isa<ModuleOp>(op)              ? Place::Module
                : isa<FunctionOpInterface>(op) ? Place::Function
                                               : Place::Op;
  return verifyPlace(op, attribute.getName(), place);
}

LogicalResult TPDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  if (failed(verifyPlace(op, attribute.getName(), Place::Argument)))
    return failure();
  auto error = [&] {
    return op->emitError() << prefix(ErrorCode::BadAttribute) << "argument #"
                           << index << ": `" << attribute.getName().getValue()
                           << "` ";
  };
  Type type = function.getArgumentTypes()[index];
  if (attribute.getName() == kNameAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return error() << "is a string";
    return success();
  }
  if (attribute.getName() == kSourceAttr) {
    auto source = dyn_cast<SourceAttr>(attribute.getValue());
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!source || !tensor)
      return error() << "is a #tp.source<..> on a ranked tensor";
    // A local type is that of one device's part, a source describes the whole.
    if (tensor.getEncoding())
      return success();
    return verifySource(source, tensor.getShape(), error);
  }
  if (attribute.getName() == kDonatedAttr) {
    auto result = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!result || result.getInt() < 0 ||
        result.getInt() >= int64_t(function.getNumResults()))
      return error() << "is the number of the result that may overwrite the "
                        "argument";
    if (function.getResultTypes()[result.getInt()] != type)
      return error() << "names result #" << result.getInt()
                     << ", which has another type";
    return success();
  }
  return success();
}

LogicalResult TPDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  if (failed(verifyPlace(op, attribute.getName(), Place::Result)))
    return failure();
  if (attribute.getName() == kNameAttr &&
      !isa<StringAttr>(attribute.getValue()))
    return op->emitError() << prefix(ErrorCode::BadAttribute) << "result #"
                           << index << ": `tp.name` is a string";
  return success();
}
