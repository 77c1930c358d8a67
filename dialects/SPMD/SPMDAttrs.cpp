// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parsing, printing and checking of the attributes of the `spmd` dialect.

#include "lib/Support/NearName.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/SPMD/SPMDAttrs.cpp.inc"

void SPMDDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tpopt/Dialect/SPMD/SPMDAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Syntax that several attributes share

/// Parses an axis, `"x"`, or a sub-axis, `"x":(1)2`.
static FailureOr<AxisRefAttr> parseAxisRef(AsmParser &parser) {
  std::string name;
  int64_t pre = 1, size = 0;
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon())) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseInteger(pre) ||
        parser.parseRParen() || parser.parseInteger(size))
      return failure();
    if (pre < 1 || size < 1)
      return parser.emitError(loc)
             << prefix(ErrorCode::BadSubAxis)
             << "the pre-size and the size of a sub-axis must be at least 1";
  }
  return AxisRefAttr::get(parser.getContext(),
                          StringAttr::get(parser.getContext(), name), pre,
                          size);
}

static void printAxisRef(AsmPrinter &printer, AxisRefAttr axis) {
  printer.printString(axis.getName());
  if (axis.getSize() != 0)
    printer << ":(" << axis.getPre() << ')' << axis.getSize();
}

/// Parses `{"x", "y"}`. With `open`, a final `?` is allowed and sets `*open`.
static FailureOr<SmallVector<AxisRefAttr>> parseAxes(AsmParser &parser,
                                                     bool *open = nullptr) {
  SmallVector<AxisRefAttr> axes;
  auto parseEntry = [&]() -> ParseResult {
    if (open && *open)
      return parser.emitError(parser.getCurrentLocation())
             << prefix(ErrorCode::BadSyntax)
             << "'?' must come last in the list of a dimension's axes";
    if (open && succeeded(parser.parseOptionalQuestion())) {
      *open = true;
      return success();
    }
    FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  return axes;
}

static void printAxisRefs(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes,
                          bool open = false) {
  printer << '{';
  llvm::interleaveComma(axes, printer,
                        [&](AxisRefAttr axis) { printAxisRef(printer, axis); });
  if (open)
    printer << (axes.empty() ? "?" : ", ?");
  printer << '}';
}

static FailureOr<DimShardingAttr> parseDim(AsmParser &parser) {
  bool open = false;
  FailureOr<SmallVector<AxisRefAttr>> axes = parseAxes(parser, &open);
  if (failed(axes))
    return failure();
  // The lexer reads `p1` as one identifier.
  int64_t priority = -1;
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&word)))
    if (!word.consume_front("p") || word.getAsInteger(10, priority) ||
        priority < 0) {
      parser.emitError(loc)
          << prefix(ErrorCode::BadSyntax)
          << "expects a priority such as p1 after the dimension";
      return failure();
    }
  return DimShardingAttr::get(parser.getContext(), *axes, open, priority);
}

static void printDim(AsmPrinter &printer, DimShardingAttr dim) {
  printAxisRefs(printer, dim.getAxes(), dim.getOpen());
  if (dim.getPriority() >= 0)
    printer << 'p' << dim.getPriority();
}

/// Parses `@mesh, [dims], replicated={..}, unreduced=max{..}`, and if `global`
/// is given, also `global=[..]`.
static FailureOr<ShardingAttr>
parseShardingBody(AsmParser &parser, SmallVector<int64_t> *global = nullptr) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  ReduceKind kind = ReduceKind::Sum;
  auto parseOneDim = [&]() -> ParseResult {
    FailureOr<DimShardingAttr> dim = parseDim(parser);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    return success();
  };
  if (parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOneDim))
    return failure();
  bool seenGlobal = false;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return failure();
    if (word == "global" && global) {
      auto parseSize = [&]() -> ParseResult {
        return parser.parseInteger(global->emplace_back());
      };
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                         parseSize))
        return failure();
      seenGlobal = true;
      continue;
    }
    if (word != "replicated" && word != "unreduced") {
      parser.emitError(loc)
          << prefix(ErrorCode::BadSyntax)
          << "expects 'replicated' or 'unreduced'"
          << (global ? " or 'global'" : "") << ", got '" << word << "'";
      return failure();
    }
    if (word == "unreduced") {
      if (succeeded(parser.parseOptionalKeyword("max")))
        kind = ReduceKind::Max;
      else if (succeeded(parser.parseOptionalKeyword("min")))
        kind = ReduceKind::Min;
      else
        (void)parser.parseOptionalKeyword("sum");
    }
    FailureOr<SmallVector<AxisRefAttr>> axes = parseAxes(parser);
    if (failed(axes))
      return failure();
    (word == "replicated" ? replicated : unreduced) = *axes;
  }
  if (global && !seenGlobal) {
    parser.emitError(parser.getCurrentLocation())
        << prefix(ErrorCode::BadSyntax)
        << "expects 'global=[..]', the sizes of the whole tensor";
    return failure();
  }
  return ShardingAttr::get(parser.getContext(), mesh, dims, replicated,
                           unreduced, kind);
}

static void printShardingBody(AsmPrinter &printer, ShardingAttr sharding) {
  printer << sharding.getMesh() << ", [";
  llvm::interleaveComma(sharding.getDims(), printer,
                        [&](DimShardingAttr dim) { printDim(printer, dim); });
  printer << ']';
  if (!sharding.getReplicated().empty()) {
    printer << ", replicated=";
    printAxisRefs(printer, sharding.getReplicated());
  }
  if (!sharding.getUnreduced().empty()) {
    printer << ", unreduced=";
    if (sharding.getKind() != ReduceKind::Sum)
      printer << stringify(sharding.getKind());
    printAxisRefs(printer, sharding.getUnreduced());
  }
}

//===----------------------------------------------------------------------===//
// LinkAttr, MeshAttr
//===----------------------------------------------------------------------===//

Attribute LinkAttr::parse(AsmParser &parser, Type) {
  double us = 0, gbps = 0;
  if (parser.parseLess() || parser.parseKeyword("us") || parser.parseEqual() ||
      parser.parseFloat(us) || parser.parseComma() ||
      parser.parseKeyword("gbps") || parser.parseEqual() ||
      parser.parseFloat(gbps) || parser.parseGreater())
    return {};
  Builder &builder = parser.getBuilder();
  return parser.getChecked<LinkAttr>(parser.getContext(),
                                     builder.getF64FloatAttr(us),
                                     builder.getF64FloatAttr(gbps));
}

void LinkAttr::print(AsmPrinter &printer) const {
  printer << "<us=";
  printer.printFloat(getUs().getValue());
  printer << ", gbps=";
  printer.printFloat(getGbps().getValue());
  printer << '>';
}

LogicalResult LinkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               FloatAttr us, FloatAttr gbps) {
  if (!(us.getValueAsDouble() >= 0) || !(gbps.getValueAsDouble() > 0))
    return emitError() << prefix(ErrorCode::BadMesh)
                       << "expects a link with a latency of at least 0 us and "
                          "a bandwidth above 0 gbps";
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes, ids;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  auto parseId = [&]() -> ParseResult {
    return parser.parseInteger(ids.emplace_back());
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("device_ids") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseId))
      return {};
  if (parser.parseGreater())
    return {};
  // A mesh without axes and with one device id, which can be any number, is
  // Shardy's maximal mesh. Its only device always has number 0 here.
  if (names.empty() && ids.size() == 1 && ids[0] >= 0)
    ids.clear();
  return parser.getChecked<MeshAttr>(parser.getContext(), names, sizes, ids);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip_equal(getNames(), getSizes()), printer,
                        [&](auto axis) {
                          printer.printString(std::get<0>(axis));
                          printer << '=' << std::get<1>(axis);
                        });
  printer << ']';
  if (!getDeviceIds().empty())
    printer << ", device_ids=[" << getDeviceIds() << ']';
  printer << '>';
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes,
                               ArrayRef<int64_t> deviceIds) {
  auto error = [&] { return emitError() << prefix(ErrorCode::BadMesh); };
  llvm::StringSet<> seen;
  int64_t devices = 1;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (name.getValue().empty())
      return error() << "every mesh axis must have a name";
    if (!seen.insert(name).second)
      return error() << "two axes of the mesh have the same name, \""
                     << name.getValue() << '"';
    if (size < 1)
      return error() << "mesh axis \"" << name.getValue() << "\" has size "
                     << size << ": a size must be at least 1";
    if (size > kMaxDevices / devices)
      return error() << "a mesh may have at most " << kMaxDevices
                     << " devices; write smaller axes";
    devices *= size;
  }
  if (deviceIds.empty())
    return success();
  SmallVector<int64_t> sorted(deviceIds);
  llvm::sort(sorted);
  if (static_cast<int64_t>(sorted.size()) != devices)
    return error() << "device_ids has " << sorted.size()
                   << " entries, but the mesh has " << devices << " devices";
  for (auto [index, id] : llvm::enumerate(sorted))
    if (id != static_cast<int64_t>(index))
      return error() << "device_ids must name every device from 0 to "
                     << devices - 1 << " once";
  return success();
}

//===----------------------------------------------------------------------===//
// AxisRefAttr, AxisListAttr, DimShardingAttr
//===----------------------------------------------------------------------===//

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxisRef(printer, *this);
  printer << '>';
}

FailureOr<AxisListAttr> AxisListAttr::parseList(AsmParser &parser) {
  FailureOr<SmallVector<AxisRefAttr>> axes = parseAxes(parser);
  if (failed(axes))
    return failure();
  return AxisListAttr::get(parser.getContext(), *axes);
}

void AxisListAttr::printList(AsmPrinter &printer) const {
  printAxisRefs(printer, getAxes());
}

Attribute AxisListAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisListAttr> list = parseList(parser);
  if (failed(list) || parser.parseGreater())
    return {};
  return *list;
}

void AxisListAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printList(printer);
  printer << '>';
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimShardingAttr> dim = parseDim(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDim(printer, *this);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// ShardingAttr, LocalAttr
//===----------------------------------------------------------------------===//

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ShardingAttr> sharding = parseShardingBody(parser);
  if (failed(sharding) || parser.parseGreater())
    return {};
  return *sharding;
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printShardingBody(printer, *this);
  printer << '>';
}

Attribute LocalAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SmallVector<int64_t> global;
  FailureOr<ShardingAttr> sharding = parseShardingBody(parser, &global);
  if (failed(sharding) || parser.parseGreater())
    return {};
  return parser.getChecked<LocalAttr>(parser.getContext(), *sharding, global);
}

void LocalAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printShardingBody(printer, getSharding());
  printer << ", global=[" << getGlobal() << "]>";
}

LogicalResult LocalAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ShardingAttr sharding,
                                ArrayRef<int64_t> global) {
  if (global.size() != sharding.getDims().size())
    return emitError() << prefix(ErrorCode::RankMismatch) << "`global` has "
                       << global.size() << " sizes, but the sharding has "
                       << sharding.getDims().size() << " dimensions";
  if (llvm::any_of(global, [](int64_t size) { return size < 0; }))
    return emitError() << prefix(ErrorCode::DynamicShape)
                       << "the sizes in `global` must be at least 0";
  return success();
}

LogicalResult
LocalAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getGlobal().size())
    return emitError() << prefix(ErrorCode::RankMismatch) << "the encoding has "
                       << getGlobal().size()
                       << " dimensions, but the tensor has " << shape.size();
  return success();
}

/// Says that a mesh has no axis of this name, and lists those that it has.
static std::string describeUnknownAxis(const Mesh &mesh, StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "mesh @" << mesh.name << " has no axis \"" << name << "\"; it has ";
  llvm::interleaveComma(
      mesh.axes, os, [&](const Axis &axis) { os << '"' << axis.name << '"'; });
  SmallVector<StringRef> names;
  for (const Axis &axis : mesh.axes)
    names.push_back(axis.name);
  if (StringRef near = findNearName(name, names); !near.empty())
    os << "; did you mean \"" << near << "\"?";
  return text;
}

namespace {
/// Converts axis names to axis numbers of `mesh`, and keeps an error for the
/// first unknown name.
struct AxisResolver {
  const Mesh &mesh;
  std::optional<ShardingError> error;

  void resolve(ArrayRef<AxisRefAttr> from, AxisList &to) {
    for (AxisRefAttr ref : from) {
      std::optional<unsigned> axis = mesh.find(ref.getName());
      if (!axis) {
        if (!error)
          error = ShardingError{
              ErrorCode::UnknownAxis,
              describeUnknownAxis(mesh, ref.getName().getValue())};
        continue;
      }
      to.push_back(ref.getSize() == 0
                       ? AxisRef::full(mesh, *axis)
                       : AxisRef{*axis, ref.getPre(), ref.getSize()});
    }
  }
};
} // namespace

std::variant<TensorSharding, ShardingError>
ShardingAttr::resolve(const Mesh &mesh, unsigned rank) const {
  TensorSharding sharding;
  AxisResolver resolver{mesh, std::nullopt};
  for (DimShardingAttr dim : getDims()) {
    DimSharding &to = sharding.dims.emplace_back();
    resolver.resolve(dim.getAxes(), to.axes);
    to.open = dim.getOpen();
    if (dim.getPriority() >= 0)
      to.priority = dim.getPriority();
  }
  resolver.resolve(getReplicated(), sharding.replicated);
  resolver.resolve(getUnreduced(), sharding.unreduced);
  sharding.kind = getKind();
  if (resolver.error)
    return *resolver.error;
  if (std::optional<ShardingError> error = verify(sharding, mesh, rank))
    return *error;
  return sharding;
}

static SmallVector<AxisRefAttr> toAttrs(MLIRContext *context, const Mesh &mesh,
                                        ArrayRef<AxisRef> axes) {
  SmallVector<AxisRefAttr> attrs;
  for (const AxisRef &axis : axes)
    attrs.push_back(AxisRefAttr::get(
        context, StringAttr::get(context, mesh.axes[axis.axis].name),
        axis.isFull(mesh) ? 1 : axis.pre, axis.isFull(mesh) ? 0 : axis.size));
  return attrs;
}

ShardingAttr ShardingAttr::get(MLIRContext *context, const Mesh &mesh,
                               const TensorSharding &sharding) {
  SmallVector<DimShardingAttr> dims;
  for (const DimSharding &dim : sharding.dims)
    dims.push_back(DimShardingAttr::get(context,
                                        toAttrs(context, mesh, dim.axes),
                                        dim.open, dim.priority.value_or(-1)));
  return get(context, FlatSymbolRefAttr::get(context, mesh.name), dims,
             toAttrs(context, mesh, sharding.replicated),
             toAttrs(context, mesh, sharding.unreduced), sharding.kind);
}

AxisList spmd::resolveAxes(ArrayRef<AxisRefAttr> axes, const Mesh &mesh) {
  AxisList list;
  AxisResolver{mesh, std::nullopt}.resolve(axes, list);
  return list;
}

AxisListAttr spmd::toAttr(MLIRContext *context, const Mesh &mesh,
                          ArrayRef<AxisRef> axes) {
  return AxisListAttr::get(context, toAttrs(context, mesh, axes));
}
