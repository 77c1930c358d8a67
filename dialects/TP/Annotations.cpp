// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The project's own attributes on ops, functions and modules.

#include "dialects/OpError.h"
#include "lib/Support/NearName.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// SourceAttr and JoinAttr
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

SmallVector<int64_t> SourceAttr::getShape() const {
  return llvm::map_to_vector(getPermutation(),
                             [&](int64_t dim) { return getView()[dim]; });
}

Attribute JoinAttr::parse(AsmParser &parser, Type) {
  int64_t dim;
  SmallVector<SourceAttr> parts;
  auto parsePart = [&]() -> ParseResult {
    return parser.parseAttribute(parts.emplace_back());
  };
  if (parser.parseLess() || parser.parseKeyword("dim") || parser.parseEqual() ||
      parser.parseInteger(dim) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePart) ||
      parser.parseGreater())
    return {};
  return JoinAttr::get(parser.getContext(), dim, parts);
}

void JoinAttr::print(AsmPrinter &printer) const {
  printer << "<dim = " << getDim() << ", [";
  llvm::interleaveComma(getParts(), printer,
                        [&](SourceAttr part) { printer.printAttribute(part); });
  printer << "]>";
}

static LogicalResult verifyPart(SourceAttr source, ArrayRef<int64_t> shape,
                                function_ref<InFlightDiagnostic()> error) {
  size_t rank = source.getStored().size();
  if (source.getStart().size() != rank || source.getSize().size() != rank)
    return error() << "expects `stored`, `start` and `size` to have one entry "
                      "for each dimension of the stored tensor";
  for (size_t i = 0; i < rank; ++i)
    if (source.getStart()[i] < 0 || source.getSize()[i] < 0 ||
        source.getStart()[i] > source.getStored()[i] - source.getSize()[i])
      return error() << "the slice given by `start` and `size` exceeds the "
                        "stored tensor in dimension "
                     << i;
  if (getVolume(source.getView()) != getVolume(source.getSize()))
    return error() << "expects the view to have as many elements as the slice "
                      "that `size` gives";
  ArrayRef<int64_t> view = source.getView();
  llvm::SmallBitVector seen(view.size());
  if (source.getPermutation().size() != view.size() ||
      shape.size() != view.size())
    return error() << "expects `view`, `permutation` and the weight to have "
                      "the same rank";
  for (auto [dim, from] : llvm::enumerate(source.getPermutation())) {
    if (from < 0 || from >= int64_t(view.size()) || seen.test(from))
      return error() << "expects `permutation` to name every dimension of the "
                        "view once";
    seen.set(from);
    if (shape[dim] != view[from])
      return error() << "the permuted view differs from the weight's shape in "
                        "dimension "
                     << dim;
  }
  return success();
}

static LogicalResult verifyJoin(JoinAttr join, ArrayRef<int64_t> weight,
                                function_ref<InFlightDiagnostic()> error) {
  if (join.getParts().size() < 2)
    return error() << "a join expects at least two parts, got "
                   << join.getParts().size();
  int64_t dim = join.getDim();
  if (dim < 0 || dim >= int64_t(weight.size()))
    return error()
           << "a join expects a dimension of the weight, which has rank "
           << weight.size() << ", got " << dim;
  SmallVector<int64_t> shape(weight);
  int64_t left = weight[dim];
  for (auto [index, part] : llvm::enumerate(join.getParts())) {
    auto partError = [&, index = index] {
      InFlightDiagnostic diagnostic = error();
      diagnostic << "part " << index << ": ";
      return diagnostic;
    };
    // The part differs in size from the weight only in dimension `dim`.
    ArrayRef<int64_t> view = part.getView(), order = part.getPermutation();
    if (dim < int64_t(order.size()) && order[dim] >= 0 &&
        order[dim] < int64_t(view.size()))
      shape[dim] = view[order[dim]];
    if (failed(verifyPart(part, shape, partError)))
      return failure();
    if (shape[dim] < 1 || shape[dim] > left)
      return partError() << "has size " << shape[dim] << " in dimension " << dim
                         << ", but the parts before it leave only " << left
                         << " elements of the weight";
    left -= shape[dim];
  }
  if (left > 0)
    return error() << "the parts of a join leave out the last " << left
                   << " elements of dimension " << dim;
  return success();
}

LogicalResult tp::verifySource(Attribute source, ArrayRef<int64_t> shape,
                               function_ref<InFlightDiagnostic()> error) {
  if (auto single = dyn_cast<SourceAttr>(source))
    return verifyPart(single, shape, error);
  if (auto join = dyn_cast<JoinAttr>(source))
    return verifyJoin(join, shape, error);
  return error() << "expects #tp.source<..> or #tp.join<..>, got " << source;
}

/// If `source` is a slice of a tensor along a single dimension, and `shape` is
/// the shape of the slice, returns this dimension. Otherwise returns nullopt.
static std::optional<unsigned> getPartDim(SourceAttr source,
                                          ArrayRef<int64_t> shape) {
  if (!source || source.getStored().size() != shape.size() ||
      source.getStart().size() != shape.size() || source.getSize() != shape ||
      source.getView() != shape ||
      !llvm::equal(source.getPermutation(),
                   llvm::seq<int64_t>(0, shape.size())))
    return std::nullopt;
  std::optional<unsigned> found;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size == source.getStored()[dim] && source.getStart()[dim] == 0)
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

LogicalResult
tp::verifyParts(ArrayRef<ResultPart> results,
                function_ref<InFlightDiagnostic(unsigned)> error) {
  llvm::StringSet<> names;
  for (const ResultPart &result : results)
    if (!result.source)
      names.insert(result.name);
  for (unsigned index = 0; index < results.size();) {
    auto first = dyn_cast_if_present<SourceAttr>(results[index].source);
    if (!results[index].source) {
      ++index;
      continue;
    }
    std::optional<unsigned> dim = getPartDim(first, results[index].shape);
    if (!dim)
      return error(index)
             << "expects the #tp.source<..> of a result to be a slice of a "
                "tensor along one dimension, without reshape or transpose, got "
             << results[index].source;
    if (!names.insert(first.getTensor().getValue()).second)
      return error(index) << "is a part of " << first.getTensor()
                          << ", but another result already has this name: "
                             "return all parts of a tensor as consecutive "
                             "results, and give its name to no other result";
    int64_t end = 0, size = first.getStored()[*dim];
    for (; index < results.size() && end < size; ++index) {
      auto part = dyn_cast_if_present<SourceAttr>(results[index].source);
      if (!part || part.getTensor() != first.getTensor() ||
          part.getStored() != first.getStored() ||
          getPartDim(part, results[index].shape) != dim ||
          part.getStart()[*dim] != end || part.getSize()[*dim] == 0)
        return error(index) << "expects the next part of tensor "
                            << first.getTensor() << ", which begins at element "
                            << end << " of dimension " << *dim;
      end += part.getSize()[*dim];
    }
    if (end < size)
      return error(index - 1)
             << "is the last part of tensor " << first.getTensor()
             << ", but ends at element " << end << " of dimension " << *dim
             << ", which has size " << size;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Where attributes may be
//===----------------------------------------------------------------------===//

namespace {

enum Place : unsigned {
  kArgument = 1,
  kResult = 2,
  kOp = 4,
  kFunction = 8,
  kModule = 16,
};

struct Annotation {
  StringLiteral name;
  unsigned places;
  StringLiteral what; ///< A description of its value.
  bool (*hasType)(Attribute);
};

} // namespace

/// Makes the table entry for an attribute of the dialect. `Helper` is the class
/// that TableGen generates for this attribute.
template <typename Helper>
static constexpr Annotation declare(unsigned places, StringLiteral what) {
  using Type = decltype(std::declval<Helper &>().getAttr(nullptr));
  return {Helper::getNameStr(), places, what,
          [](Attribute attribute) { return isa<Type>(attribute); }};
}

static constexpr Annotation kAnnotations[] = {
    declare<TPDialect::NameAttrHelper>(kArgument | kResult, "a string"),
    declare<TPDialect::RoleAttrHelper>(kArgument | kResult, "a string"),
    declare<TPDialect::SourceAttrHelper>(
        kArgument | kResult,
        "a #tp.source<..> or #tp.join<..> on a ranked tensor"),
    declare<TPDialect::DonatedAttrHelper>(
        kArgument, "the number of the result that may overwrite the argument"),
    declare<TPDialect::MicroBatchesAttrHelper>(
        kArgument, "a unit attribute on a tensor of rank 1 or more"),
    declare<TPDialect::WhyAttrHelper>(kOp, "a #tp.why<..>"),
    declare<TPDialect::GlobalOpAttrHelper>(kOp,
                                           "nothing, or a list of integers"),
    declare<TPDialect::CountedAttrHelper>(
        kOp, "a list of batch dimensions of a gather or scatter"),
    declare<TPDialect::GradientAttrHelper>(kOp,
                                           "a list of names, one per result"),
    declare<TPDialect::MotionAttrHelper>(kOp, "a list of integers"),
    declare<TPDialect::LocalFormAttrHelper>(kFunction, "a function's name"),
    declare<TPDialect::ExplanationsAttrHelper>(
        kFunction, "an array of #tp.explanation<..>"),
    declare<TPDialect::DigestsAttrHelper>(kFunction, "a #tp.digests<..>"),
    declare<TPDialect::PricesAttrHelper>(kFunction, "a #tp.prices<..>"),
    declare<TPDialect::AllocatedAttrHelper>(kFunction, "a number of bytes"),
    declare<TPDialect::OverlapAttrHelper>(kFunction, "four numbers"),
    declare<TPDialect::PlanAttrHelper>(kModule, "a #tp.plan<..>"),
    declare<TPDialect::ProgramsAttrHelper>(
        kModule, "a dictionary of `whole` and `local` bytes"),
    declare<TPDialect::IdleEntriesAttrHelper>(kModule, "a list of strings"),
};

static std::string describe(unsigned places) {
  constexpr std::pair<Place, StringLiteral> kNames[] = {
      {kArgument, "arguments of functions"},
      {kResult, "results of functions"},
      {kOp, "operations"},
      {kFunction, "functions"},
      {kModule, "modules"}};
  std::string text;
  for (auto &[place, name] : kNames)
    if (places & place)
      text += (text.empty() ? "" : " and to ") + name.str();
  return text;
}

/// Looks up the known attribute `name`. Emits an error if `name` is unknown or
/// not allowed at `place`. Every op is verified after every pass, so this must
/// be fast for valid programs.
static FailureOr<const Annotation *> verifyPlace(Location at, StringAttr name,
                                                 Place place) {
  const Annotation *known =
      llvm::find_if(kAnnotations, [&](const Annotation &annotation) {
        return annotation.name == name.getValue();
      });
  if (known == std::end(kAnnotations)) {
    InFlightDiagnostic error = emitError(at)
                               << prefix(ErrorCode::UnknownAttribute)
                               << "no attribute is called " << name;
    SmallVector<StringRef> names;
    for (const Annotation &annotation : kAnnotations)
      names.push_back(annotation.name);
    if (StringRef near = findNearName(name.getValue(), names); !near.empty())
      error << "; did you mean '" << near << "'?";
    return error;
  }
  if (known->places & place)
    return known;
  return emitError(at) << prefix(ErrorCode::Misplaced) << "attribute " << name
                       << " belongs to " << describe(known->places)
                       << ", not to " << describe(place);
}

/// Checks the constraints on an attribute that the attribute's type does not
/// imply. `op` is the op, function or module that has the attribute.
static bool isWellFormed(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kCountedAttr)
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<GatherOp, ScatterOp>([&](auto op) {
          return llvm::all_of(
              cast<DenseI64ArrayAttr>(attribute.getValue()).asArrayRef(),
              [&](int64_t dim) {
                return 0 <= dim && dim < int64_t(op.getBatchDims());
              });
        })
        .Default(false);
  if (name == kGradientAttr) {
    auto names = cast<ArrayAttr>(attribute.getValue());
    return names.size() == op->getNumResults() &&
           llvm::all_of(names, llvm::IsaPred<StringAttr>);
  }
  if (name == kOverlapAttr)
    return cast<DenseI64ArrayAttr>(attribute.getValue()).size() == 4;
  if (name == kGlobalOpAttr)
    return isa<UnitAttr, DenseI64ArrayAttr>(attribute.getValue());
  if (name == kExplanationsAttr)
    return llvm::all_of(cast<ArrayAttr>(attribute.getValue()),
                        llvm::IsaPred<ExplanationAttr>);
  if (name == kIdleEntriesAttr)
    return llvm::all_of(cast<ArrayAttr>(attribute.getValue()),
                        llvm::IsaPred<StringAttr>);
  if (name == kProgramsAttr)
    return llvm::all_of(
        cast<DictionaryAttr>(attribute.getValue()), [](NamedAttribute entry) {
          return (entry.getName() == kWholeProgram ||
                  entry.getName() == kLocalProgram) &&
                 isa<DenseResourceElementsAttr>(entry.getValue());
        });
  return true;
}

/// Checks the `tp.role` of an argument, result or op at `place`.
static LogicalResult verifyRole(Attribute attribute, Place place,
                                function_ref<InFlightDiagnostic()> error) {
  auto role = dyn_cast<StringAttr>(attribute);
  auto mayBe = [&](Role role) {
    return place == kArgument || role != Role::Input;
  };
  if (std::optional<Role> known =
          role ? symbolizeRole(role.getValue()) : std::nullopt;
      known && mayBe(*known))
    return success();
  SmallVector<std::string> names;
  SmallVector<StringRef> words;
  for (unsigned i = 0; i <= getMaxEnumValForRole(); ++i) {
    Role known = *symbolizeRole(i);
    if (!mayBe(known))
      continue;
    StringRef name = stringifyRole(known);
    names.push_back(("\"" + name + "\"").str());
    words.push_back(name);
  }
  StringRef nearest = role ? findNearName(role.getValue(), words) : StringRef();
  InFlightDiagnostic diagnostic = error() << "expects one of "
                                          << llvm::join(names, ", ") << ", got "
                                          << attribute;
  if (!nearest.empty())
    diagnostic << "; did you mean \"" << nearest << "\"?";
  return diagnostic;
}

/// Checks that the shardings in a record are valid for the module's mesh.
static LogicalResult verifyShardings(Operation *op, Attribute record) {
  auto isRight = [&](spmd::ShardingAttr sharding) {
    return succeeded(spmd::verifySharding(op, sharding,
                                          unsigned(sharding.getDims().size()),
                                          [&] { return op->emitError(); }));
  };
  if (auto why = dyn_cast<WhyAttr>(record)) {
    for (ReasonAttr reason : why.getReasons())
      if (reason.getFrom() &&
          !(isRight(reason.getFrom()) && isRight(reason.getTo())))
        return failure();
  } else if (auto entries = dyn_cast<ArrayAttr>(record)) {
    for (Attribute other : entries) {
      auto entry = dyn_cast<ExplanationAttr>(other);
      if (!entry)
        continue;
      if (!isRight(entry.getSharding()))
        return failure();
      for (AlternativeAttr alternative : entry.getAlternatives())
        if (!isRight(alternative.getSharding()))
          return failure();
    }
  }
  return success();
}

LogicalResult TPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  Place place = isa<ModuleOp>(op)              ? kModule
                : isa<FunctionOpInterface>(op) ? kFunction
                                               : kOp;
  FailureOr<const Annotation *> known =
      verifyPlace(op->getLoc(), attribute.getName(), place);
  if (failed(known))
    return failure();
  if (!(*known)->hasType(attribute.getValue()) || !isWellFormed(op, attribute))
    return op->emitError() << prefix(ErrorCode::BadAttribute) << '`'
                           << attribute.getName().getValue() << "` must be "
                           << (*known)->what;
  return verifyShardings(op, attribute.getValue());
}

LogicalResult TPDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  Location at = getArgumentLoc(function, index);
  FailureOr<const Annotation *> known =
      verifyPlace(at, attribute.getName(), kArgument);
  if (failed(known))
    return failure();
  auto error = [&] {
    return emitError(at) << prefix(ErrorCode::BadAttribute) << "argument #"
                         << index << ": `" << attribute.getName().getValue()
                         << "` ";
  };
  Type type = function.getArgumentTypes()[index];
  if (attribute.getName() == kRoleAttr)
    return verifyRole(attribute.getValue(), kArgument, error);
  if (!(*known)->hasType(attribute.getValue()))
    return error() << "must be " << (*known)->what;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (attribute.getName() == kMicroBatchesAttr &&
      (!tensor || tensor.getRank() == 0))
    return error() << "must be " << (*known)->what;
  if (attribute.getName() == kSourceAttr) {
    if (!tensor)
      return error() << "belongs to a ranked tensor, not to " << type;
    // A local type is one device's part, while a source describes the whole
    // tensor.
    auto local = dyn_cast_if_present<spmd::LocalAttr>(tensor.getEncoding());
    return verifySource(attribute.getValue(),
                        local ? local.getGlobal() : tensor.getShape(), error);
  }
  if (attribute.getName() == kDonatedAttr) {
    auto result = cast<IntegerAttr>(attribute.getValue());
    if (result.getInt() < 0 ||
        result.getInt() >= int64_t(function.getNumResults()))
      return error() << "must be " << (*known)->what;
    if (function.getResultTypes()[result.getInt()] != type)
      return error() << "names result #" << result.getInt()
                     << ", which has a different type";
    return success();
  }
  return success();
}

/// Checks the `tp.source` attributes of all results together, when called for
/// the first result that has one.
static LogicalResult verifyResultSources(FunctionOpInterface function,
                                         unsigned index) {
  SmallVector<ResultPart> results;
  SmallVector<std::string> names;
  names.reserve(function.getNumResults());
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    auto tensor = dyn_cast<RankedTensorType>(type);
    Attribute source = function.getResultAttr(i, kSourceAttr);
    if (source && i < index)
      return success();
    auto local =
        tensor ? dyn_cast_if_present<spmd::LocalAttr>(tensor.getEncoding())
               : spmd::LocalAttr();
    names.push_back(name ? name.str() : ("result" + Twine(i)).str());
    results.push_back({names.back(), source,
                       local    ? local.getGlobal()
                       : tensor ? tensor.getShape()
                                : ArrayRef<int64_t>()});
  }
  return verifyParts(results, [&](unsigned i) {
    return function.emitError() << prefix(ErrorCode::BadAttribute) << "result #"
                                << i << ": `" << kSourceAttr << "` ";
  });
}

LogicalResult TPDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  FailureOr<const Annotation *> known =
      verifyPlace(op->getLoc(), attribute.getName(), kResult);
  if (failed(known))
    return failure();
  auto error = [&] {
    return op->emitError() << prefix(ErrorCode::BadAttribute) << "result #"
                           << index << ": `" << attribute.getName().getValue()
                           << "` ";
  };
  if (attribute.getName() == kRoleAttr) {
    if (failed(verifyRole(attribute.getValue(), kResult, error)))
      return failure();
    // A result shares the storage of the argument that it overwrites, so the
    // roles of both must be equal.
    auto function = cast<FunctionOpInterface>(op);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto donated = function.getArgAttrOfType<IntegerAttr>(i, kDonatedAttr);
      Attribute role = function.getArgAttr(i, kRoleAttr);
      if (donated && donated.getInt() == index && role &&
          role != attribute.getValue())
        return error() << "is " << attribute.getValue()
                       << ", but the result overwrites argument #" << i
                       << ", whose role is " << role;
    }
    return success();
  }
  if (!(*known)->hasType(attribute.getValue()))
    return error() << "must be " << (*known)->what;
  return attribute.getName() == kSourceAttr
             ? verifyResultSources(cast<FunctionOpInterface>(op), index)
             : success();
}
