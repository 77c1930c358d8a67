// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `tp` dialect: types it accepts, attributes of arguments and results.

#include "tpopt/Dialect/OpError.h"
#include "tpopt/Dialect/SPMD/Directives.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

#include "tpopt/Dialect/TP/TPDialect.cpp.inc"
#include "tpopt/Dialect/TP/TPEnums.cpp.inc"
#include "tpopt/Dialect/TP/TPInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/TP/TPAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "tpopt/Dialect/TP/TPOps.cpp.inc"

namespace {
/// Calls to private functions are inlined before anything else happens.
struct TPInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void TPDialect::initialize() {
  addInterfaces<TPInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tpopt/Dialect/TP/TPAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tpopt/Dialect/TP/TPOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// More elements than any machine holds; it keeps products of sizes in range.
static constexpr double kMaxElements = 0x1p60;

/// Whether products of some of the sizes of a static shape stay in range. A
/// size of 0 does not excuse the others.
static bool isBounded(ArrayRef<int64_t> shape) {
  double elements = 1;
  for (int64_t size : shape)
    elements *= std::max<int64_t>(size, 1);
  return elements <= kMaxElements;
}

/// The elements of a tensor that tp ops take, null of other types. Asked of
/// every operand by every verifier.
static Type getElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !isBounded(tensor.getShape()))
    return Type();
  return tensor.getElementType();
}

static bool isFloatElement(Type element) {
  return isa<Float64Type, Float32Type, BFloat16Type, Float16Type,
             Float8E4M3FNType, Float8E5M2Type>(element);
}

static bool isIntegerElement(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer && !integer.isSigned() &&
         (integer.getWidth() == 1 ||
          (integer.getWidth() >= 4 && integer.getWidth() <= 64));
}

bool tp::isFloatTensor(Type type) {
  Type element = getElement(type);
  return element && isFloatElement(element);
}

bool tp::isBoolTensor(Type type) {
  Type element = getElement(type);
  return element && element.isSignlessInteger(1);
}

bool tp::isIntegerTensor(Type type) {
  Type element = getElement(type);
  return element && isIntegerElement(element);
}

bool tp::isSupportedTensor(Type type) {
  Type element = getElement(type);
  return element && (isFloatElement(element) || isIntegerElement(element));
}

LogicalResult tp::verifyBoundedTensors(Operation *op) {
  auto isTooLarge = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && !isBounded(tensor.getShape());
  };
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (isTooLarge(type))
        return tp::emitOpError(op, ErrorCode::TensorTooLarge)
               << "expects tensors of at most 2^60 elements, got " << type;
  return success();
}

LogicalResult tp::verifyOneShape(Operation *op) {
  auto getShape = [](Type type) {
    return cast<RankedTensorType>(type).getShape();
  };
  ArrayRef<int64_t> shape = getShape(op->getResult(0).getType());
  auto differs = [&](Type type) { return getShape(type) != shape; };
  if (llvm::any_of(op->getOperandTypes(), differs) ||
      llvm::any_of(op->getResultTypes(), differs))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "operands and results have one shape";
  return success();
}

double tp::getVolume(ArrayRef<int64_t> sizes) {
  double volume = 1;
  for (int64_t size : sizes)
    volume *= size;
  return volume;
}

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
// Attributes of arguments and results
//===----------------------------------------------------------------------===//

LogicalResult TPDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
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
    // A local type shows a part; the source speaks of the whole.
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
  if (attribute.getName() == kNameAttr &&
      !isa<StringAttr>(attribute.getValue()))
    return op->emitError() << prefix(ErrorCode::BadAttribute) << "result #"
                           << index << ": `tp.name` is a string";
  return success();
}
