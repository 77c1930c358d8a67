// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The records that stages leave for later stages: parsing, printing, checking.

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// Parses the value among `values` that has this spelling.
template <typename T>
static FailureOr<T> parseWord(AsmParser &parser, ArrayRef<T> values) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  for (T value : values)
    if (stringify(value) == word)
      return value;
  return parser.emitError(loc) << prefix(ErrorCode::BadSyntax) << "'" << word
                               << "' is not a value that this attribute can "
                                  "have; see the reference of the tp dialect";
}

namespace mlir {
template <> struct FieldParser<ReduceKind> {
  static FailureOr<ReduceKind> parse(AsmParser &parser) {
    return parseWord<ReduceKind>(
        parser, {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min});
  }
};
template <> struct FieldParser<OpStep> {
  static FailureOr<OpStep> parse(AsmParser &parser) {
    return parseWord<OpStep>(parser, {OpStep::SingleUse, OpStep::MultiUse,
                                      OpStep::PassThrough, OpStep::AnyFactor,
                                      OpStep::Everything});
  }
};
template <> struct FieldParser<LossRule> {
  static FailureOr<LossRule> parse(AsmParser &parser) {
    return parseWord<LossRule>(
        parser, {LossRule::LargerSource, LossRule::MoreSharded,
                 LossRule::OperandOrder, LossRule::Priority, LossRule::DimTaken,
                 LossRule::AxisInUse, LossRule::SourcesDisagree,
                 LossRule::Closed, LossRule::Replicated, LossRule::NotDivisible,
                 LossRule::Overflow, LossRule::Strided, LossRule::Barrier});
  }
};
} // namespace mlir

namespace tp {
static raw_ostream &operator<<(raw_ostream &os, ReduceKind kind) {
  return os << stringify(kind);
}
static raw_ostream &operator<<(raw_ostream &os, OpStep step) {
  return os << stringify(step);
}
static raw_ostream &operator<<(raw_ostream &os, LossRule rule) {
  return os << stringify(rule);
}
} // namespace tp

static FailureOr<APFloat> parseNumber(AsmParser &parser) {
  APFloat value(0.0);
  if (parser.parseFloat(value.getSemantics(), value))
    return failure();
  return value;
}

template <typename T>
static FailureOr<SmallVector<T>> parseList(AsmParser &parser) {
  SmallVector<T> list;
  auto parseEntry = [&]() -> ParseResult {
    FailureOr<T> entry = FieldParser<T>::parse(parser);
    if (succeeded(entry))
      list.push_back(*entry);
    return failure(failed(entry));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return failure();
  return list;
}

template <typename T>
static void printList(AsmPrinter &printer, ArrayRef<T> list) {
  printer << '[';
  llvm::interleaveComma(list, printer, [&](const T &entry) {
    printer.printStrippedAttrOrType(entry);
  });
  printer << ']';
}

#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/TP/TPAttrs.cpp.inc"

void TPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tpopt/Dialect/TP/TPAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

/// Starts an error about `mnemonic`.
static InFlightDiagnostic fail(EmitError emitError, StringRef mnemonic) {
  InFlightDiagnostic error = emitError();
  return std::move(error << prefix(ErrorCode::BadAttribute) << "#tp."
                         << mnemonic << " expects ");
}

static bool isNegative(const APFloat &number) {
  return number.isNaN() || (number.isNegative() && !number.isZero());
}

LogicalResult PlanAttr::verify(EmitError emitError, StringAttr machine,
                               int64_t memory, StringAttr target, bool fp8,
                               Verified, APFloat verifyUs) {
  if ((machine && machine.empty()) || (target && target.empty()))
    return fail(emitError, getMnemonic())
           << "machine and target names that are not empty";
  if (memory < 0)
    return fail(emitError, getMnemonic()) << "memory of at least 0";
  if (fp8 && !target)
    return fail(emitError, getMnemonic()) << "a target if fp8 is set";
  if (isNegative(verifyUs))
    return fail(emitError, getMnemonic()) << "verify_us of at least 0";
  return success();
}

LogicalResult DigestsAttr::verify(EmitError emitError, ArrayRef<int64_t>,
                                  ArrayRef<int64_t> values) {
  if (!llvm::is_sorted(values))
    return fail(emitError, getMnemonic()) << "values in ascending order";
  return success();
}

LogicalResult ReasonAttr::verify(EmitError emitError, ReasonKind kind,
                                 StringAttr user, spmd::AxisListAttr axes,
                                 ReduceKind, spmd::ShardingAttr from,
                                 spmd::ShardingAttr to) {
  if (user.empty())
    return fail(emitError, getMnemonic()) << "a user that is not empty";
  bool needsAxes =
      kind == ReasonKind::Contracted || kind == ReasonKind::Gathered;
  if (needsAxes != bool(axes))
    return fail(emitError, getMnemonic())
           << (needsAxes ? "axes, because its kind is "
                         : "no axes, because its kind is ")
           << stringifyReasonKind(kind);
  if (bool(from) != bool(to))
    return fail(emitError, getMnemonic()) << "both `from` and `to`, or neither";
  return success();
}

LogicalResult WhyAttr::verify(EmitError emitError, ArrayRef<ReasonAttr> reasons,
                              bool) {
  if (reasons.empty())
    return fail(emitError, getMnemonic()) << "at least one reason";
  llvm::SmallPtrSet<const void *, 4> seen;
  for (ReasonAttr reason : reasons)
    if (!seen.insert(reason.getAsOpaquePointer()).second)
      return fail(emitError, getMnemonic()) << "each reason only once";
  return success();
}

static LogicalResult verifyNatural(EmitError emitError, StringRef mnemonic,
                                   StringRef field, int64_t value) {
  if (value >= 0)
    return success();
  return fail(emitError, mnemonic) << field << " of at least 0, got " << value;
}

LogicalResult ArrivalAttr::verify(EmitError emitError, spmd::AxisRefAttr,
                                  int64_t dim, StringAttr, ArrayRef<HopAttr>) {
  return verifyNatural(emitError, getMnemonic(), "dim", dim);
}

LogicalResult LossAttr::verify(EmitError emitError, spmd::AxisRefAttr,
                               int64_t dim, StringAttr, StringAttr,
                               LocationAttr, LossRule, spmd::AxisRefAttr) {
  return verifyNatural(emitError, getMnemonic(), "dim", dim);
}

LogicalResult ExplanationAttr::verify(EmitError emitError, int64_t id,
                                      StringAttr, spmd::ShardingAttr,
                                      ArrayRef<ArrivalAttr>, ArrayRef<LossAttr>,
                                      ArrayRef<AlternativeAttr>) {
  return verifyNatural(emitError, getMnemonic(), "id", id);
}

LogicalResult PricesAttr::verify(EmitError emitError, CostUnit,
                                 ArrayRef<PriceAttr> items, int64_t merged,
                                 APFloat gap) {
  if (items.empty() || items.front().getKind() != PriceKind::Plan ||
      llvm::any_of(items.drop_front(), [](PriceAttr item) {
        return item.getKind() == PriceKind::Plan;
      }))
    return fail(emitError, getMnemonic()) << "the plan as its first item";
  if (isNegative(gap))
    return fail(emitError, getMnemonic()) << "a gap of at least 0";
  return verifyNatural(emitError, getMnemonic(), "merged", merged);
}

//===----------------------------------------------------------------------===//
// Numbers of records
//===----------------------------------------------------------------------===//

using NumberedLoc = FusedLocWith<ValueIdsAttr>;

std::optional<int64_t> tp::getRecordId(Value value) {
  std::optional<int64_t> id;
  auto result = dyn_cast<OpResult>(value);
  unsigned index = result ? result.getResultNumber() : 0;
  value.getLoc()->walk([&](Location loc) {
    auto numbered = dyn_cast<NumberedLoc>(loc);
    if (!numbered)
      return WalkResult::advance();
    ArrayRef<int64_t> ids = numbered.getMetadata().getIds();
    if (index < ids.size() && ids[index] >= 0)
      id = ids[index];
    return WalkResult::interrupt();
  });
  return id;
}

Location tp::withRecordIds(Location loc, ArrayRef<int64_t> ids) {
  if (auto numbered = dyn_cast<NumberedLoc>(loc))
    loc = numbered.getLocations().front();
  if (ids.empty())
    return loc;
  return FusedLoc::get(loc.getContext(), loc,
                       ValueIdsAttr::get(loc.getContext(), ids));
}

//===----------------------------------------------------------------------===//
// PlanRecord
//===----------------------------------------------------------------------===//

PlanRecord PlanRecord::get(Operation *module) {
  PlanRecord record;
  auto attribute = module->getAttrOfType<PlanAttr>(kPlanAttr);
  if (!attribute)
    return record;
  if (StringAttr machine = attribute.getMachine())
    record.machine = machine.str();
  record.memory = attribute.getMemory();
  if (StringAttr target = attribute.getTarget())
    record.target = target.str();
  record.fp8 = attribute.getFp8();
  record.verified = attribute.getVerified();
  record.verifyMicroseconds = attribute.getVerifyUs().convertToDouble();
  return record;
}

void PlanRecord::set(Operation *module) const {
  MLIRContext *context = module->getContext();
  auto toAttr = [&](const std::string &name) {
    return name.empty() ? StringAttr() : StringAttr::get(context, name);
  };
  auto attribute =
      PlanAttr::get(context, toAttr(machine), memory, toAttr(target), fp8,
                    verified, APFloat(verifyMicroseconds));
  if (attribute ==
      PlanAttr::get(context, {}, 0, {}, false, Verified::Off, APFloat(0.0)))
    module->removeAttr(kPlanAttr);
  else
    module->setAttr(kPlanAttr, attribute);
}
