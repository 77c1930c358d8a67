// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Meshes, annotations, manual regions, and ops that depend on a device's
// position.

#include "dialects/OpError.h"
#include "dialects/SPMD/Directives.h"
#include "dialects/SPMD/Nesting.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

#include "tpopt/Dialect/SPMD/SPMDInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

/// `{"x", "y"}`.
static ParseResult parseAxisNames(OpAsmParser &parser, AxisListAttr &axes) {
  FailureOr<AxisListAttr> list = AxisListAttr::parseList(parser);
  if (failed(list))
    return failure();
  axes = *list;
  return success();
}

static void printAxisNames(OpAsmPrinter &printer, Operation *,
                           AxisListAttr axes) {
  axes.printList(printer);
}

/// Parses `allowed_direction = forward`. The older form `"forward"` names the
/// direction that is blocked.
static ParseResult parseAllowedDirection(OpAsmParser &parser,
                                         StringAttr &allowed) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  std::string stopped;
  if (failed(parser.parseOptionalString(&stopped)))
    return failure(parser.parseKeyword("allowed_direction") ||
                   parser.parseEqual() || parseWord(parser, allowed));
  StringRef meant = llvm::StringSwitch<StringRef>(stopped)
                        .Case("forward", "backward")
                        .Case("backward", "forward")
                        .Case("both", "none")
                        .Default("");
  if (meant.empty())
    return parser.emitError(loc)
           << prefix(ErrorCode::BadSyntax)
           << "expects allowed_direction = forward, backward, none or both, "
              "got \""
           << stopped << '"';
  emitWarning(parser.getEncodedSourceLoc(loc))
      << prefix(ErrorCode::OldSyntax) << "\"" << stopped
      << "\" is the old syntax, which names the direction to stop: name the "
         "direction to allow, allowed_direction = "
      << meant;
  allowed = parser.getBuilder().getStringAttr(meant);
  return success();
}

static void printAllowedDirection(OpAsmPrinter &printer, Operation *,
                                  StringAttr allowed) {
  printer << "allowed_direction = " << allowed.getValue();
}

/// Parses `[{"x"}, {}]`: one list of axes per dimension.
static ParseResult parseDimAxes(OpAsmParser &parser, ArrayAttr &dims) {
  SmallVector<Attribute> lists;
  auto parseList = [&]() -> ParseResult {
    AxisListAttr list;
    if (parseAxisNames(parser, list))
      return failure();
    lists.push_back(list);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseList))
    return failure();
  dims = parser.getBuilder().getArrayAttr(lists);
  return success();
}

static void printDimAxes(OpAsmPrinter &printer, Operation *, ArrayAttr dims) {
  printer << '[';
  llvm::interleaveComma(dims.getAsRange<AxisListAttr>(), printer,
                        [&](AxisListAttr list) { list.printList(printer); });
  printer << ']';
}

/// `[<@mesh, [..]>, <@mesh, [..]>]`.
static ParseResult parseShardings(OpAsmParser &parser, ArrayAttr &shardings) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    ShardingAttr sharding;
    if (parser.parseCustomAttributeWithFallback(sharding))
      return failure();
    list.push_back(sharding);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  shardings = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printShardings(OpAsmPrinter &printer, Operation *,
                           ArrayAttr shardings) {
  printer << '[';
  llvm::interleaveComma(shardings.getAsRange<ShardingAttr>(), printer,
                        [&](ShardingAttr s) { s.print(printer); });
  printer << ']';
}

/// Parses the parts of a combined collective: their kinds, of which one word
/// stands for all parts, and their operands.
static ParseResult
parseParts(OpAsmParser &parser, ArrayAttr &kinds,
           SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs) {
  SmallVector<StringRef> words;
  StringRef word;
  bool isOne = succeeded(parser.parseOptionalKeyword(&word));
  if (!isOne &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseKeyword(&words.emplace_back());
      }))
    return failure();
  if (parser.parseOperandList(inputs))
    return failure();
  if (isOne)
    words.assign(inputs.size(), word);
  kinds = parser.getBuilder().getStrArrayAttr(words);
  return success();
}

static void printParts(OpAsmPrinter &printer, Operation *, ArrayAttr kinds,
                       OperandRange inputs) {
  auto words = llvm::map_range(kinds.getAsRange<StringAttr>(),
                               [](StringAttr kind) { return kind.getValue(); });
  if (!kinds.empty() && kinds.size() == inputs.size() &&
      llvm::all_equal(kinds)) {
    printer << *words.begin() << ' ';
  } else {
    printer << '[';
    llvm::interleaveComma(words, printer);
    printer << "] ";
  }
  printer.printOperands(inputs);
}

/// Parses the moves of an all-to-all: `["x": 0 -> 1, "y": 0 -> 2]` moves axis x
/// from dimension 0 to dimension 1.
static ParseResult parseMoves(OpAsmParser &parser, AxisListAttr &axes,
                              DenseI64ArrayAttr &from, DenseI64ArrayAttr &to) {
  SmallVector<AxisRefAttr> names;
  SmallVector<int64_t> fromDims, toDims;
  auto parseMove = [&]() -> ParseResult {
    std::string name;
    int64_t pre = 1, size = 0;
    if (parser.parseString(&name) || parser.parseColon())
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalLParen())) {
      if (parser.parseInteger(pre) || parser.parseRParen() ||
          parser.parseInteger(size) || parser.parseColon())
        return failure();
      if (pre < 1 || size < 1)
        return parser.emitError(loc)
               << prefix(ErrorCode::BadSubAxis)
               << "the pre-size and the size of a sub-axis must be at least 1";
    }
    if (parser.parseInteger(fromDims.emplace_back()) || parser.parseArrow() ||
        parser.parseInteger(toDims.emplace_back()))
      return failure();
    names.push_back(AxisRefAttr::get(parser.getContext(),
                                     parser.getBuilder().getStringAttr(name),
                                     pre, size));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseMove))
    return failure();
  axes = AxisListAttr::get(parser.getContext(), names);
  from = parser.getBuilder().getDenseI64ArrayAttr(fromDims);
  to = parser.getBuilder().getDenseI64ArrayAttr(toDims);
  return success();
}

static void printMoves(OpAsmPrinter &printer, Operation *, AxisListAttr axes,
                       DenseI64ArrayAttr from, DenseI64ArrayAttr to) {
  printer << '[';
  llvm::interleaveComma(
      llvm::zip(axes.getAxes(), from.asArrayRef(), to.asArrayRef()), printer,
      [&](auto move) {
        auto [axis, source, target] = move;
        printer.printString(axis.getName());
        if (axis.getSize() != 0)
          printer << ":(" << axis.getPre() << ')' << axis.getSize();
        printer << ": " << source << " -> " << target;
      });
  printer << ']';
}

#define GET_OP_CLASSES
#include "tpopt/Dialect/SPMD/SPMDOps.cpp.inc"

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

LogicalResult MeshOp::verify() {
  if (!getLinks())
    return success();
  if (getLinks()->size() != getMesh().getSizes().size() ||
      !llvm::all_of(*getLinks(), llvm::IsaPred<LinkAttr>))
    return emitError()
           << prefix(ErrorCode::BadMesh)
           << "`links` must have one #spmd.link<..> for each of the "
           << getMesh().getSizes().size() << " axes";
  return success();
}

Mesh MeshOp::toMesh() {
  Mesh mesh;
  mesh.name = getSymName().str();
  for (auto [name, size] :
       llvm::zip_equal(getMesh().getNames(), getMesh().getSizes()))
    mesh.axes.push_back({name.str(), size, {}});
  mesh.deviceIds.assign(getMesh().getDeviceIds().begin(),
                        getMesh().getDeviceIds().end());
  if (getLinks()) {
    mesh.hasLinks = true;
    for (auto [axis, link] :
         llvm::zip_equal(mesh.axes, getLinks()->getAsRange<LinkAttr>()))
      axis.link = {link.getUs().getValueAsDouble() * 1e-6,
                   1.0 / (link.getGbps().getValueAsDouble() * 1e9)};
  }
  return mesh;
}

//===----------------------------------------------------------------------===//
// Identities: constraint, reshard, barrier; group
//===----------------------------------------------------------------------===//

static ShardingRule getIdentityRule(Operation *op) {
  return parseShardingRule(op, "...->...");
}

#define TP_IDENTITY_OP(OP, CLASS)                                              \
  ShardingRule OP::getShardingRule() { return getIdentityRule(*this); }        \
  PropagationClass OP::getPropagationClass() {                                 \
    return PropagationClass::CLASS;                                            \
  }                                                                            \
  Linearity OP::getLinearity(unsigned, ReduceKind) { return Linearity::Joint; }
TP_IDENTITY_OP(ConstraintOp, Elementwise)
TP_IDENTITY_OP(ReshardOp, Elementwise)
TP_IDENTITY_OP(BarrierOp, Elementwise)
#undef TP_IDENTITY_OP

LogicalResult ConstraintOp::verify() {
  return verifySharding(*this, getSharding(), getType(),
                        [&] { return emitError(); });
}

LogicalResult ReshardOp::verify() {
  return verifySharding(*this, getSharding(), getType(),
                        [&] { return emitError(); });
}

LogicalResult BarrierOp::verify() {
  if (!llvm::is_contained({"forward", "backward", "none", "both"},
                          getAllowedDirection()))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects allowed_direction forward, backward, none or both, got "
           << getAllowedDirection();
  return success();
}

LogicalResult GroupOp::verify() {
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  if (!function)
    return success();
  // All ops with the same group id must have the shape of the first one.
  GroupOp first;
  function->walk([&](GroupOp other) {
    if (other.getId() != getId())
      return WalkResult::advance();
    first = other;
    return WalkResult::interrupt();
  });
  auto shape = [](GroupOp op) {
    return cast<RankedTensorType>(op.getInput().getType()).getShape();
  };
  if (first && shape(first) != shape(*this)) {
    InFlightDiagnostic diag = tp::emitOpError(*this, ErrorCode::TypeMismatch)
                              << "group " << getId()
                              << " has members of different shapes, but the "
                                 "members of a group share one sharding";
    diag.attachNote(first.getLoc()) << "the first member of the group is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ManualOp
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr spmd::getMeshName(ManualOp op) {
  ArrayAttr shardings =
      op.getInShardings().empty() ? op.getOutShardings() : op.getInShardings();
  return cast<ShardingAttr>(shardings[0]).getMesh();
}

AxisList spmd::getManualAxesAround(Operation *op) {
  AxisList axes;
  for (auto manual = op->getParentOfType<ManualOp>(); manual;
       manual = manual->getParentOfType<ManualOp>()) {
    Mesh mesh = lookupMesh(manual, getMeshName(manual)).toMesh();
    llvm::append_range(axes, resolveAxes(manual.getAxes().getAxes(), mesh));
  }
  return axes;
}

static bool isOwnAxis(ManualOp op, StringRef name) {
  return llvm::any_of(op.getAxes().getAxes(),
                      [&](AxisRefAttr axis) { return axis.getName() == name; });
}

/// Returns true if the axis is manual in this region or an enclosing one.
static bool isManualAxis(ManualOp op, StringRef name) {
  for (; op; op = op->getParentOfType<ManualOp>())
    if (isOwnAxis(op, name))
      return true;
  return false;
}

SmallVector<Value> spmd::inlineBody(ManualOp op) {
  Block &body = op.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), op.getInputs()))
    argument.replaceAllUsesWith(input);
  Operation *end = body.getTerminator();
  SmallVector<Value> values(end->getOperands());
  op->replaceAllUsesWith(values);
  end->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         body.getOperations());
  op.erase();
  return values;
}

AxisList spmd::getFreeAxes(ManualOp op, const Mesh &mesh) {
  AxisList free;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.axes[axis].size > 1 && !isManualAxis(op, mesh.axes[axis].name))
      free.push_back(AxisRef::full(mesh, axis));
  return free;
}

ShardingAttr spmd::getFreePart(ManualOp op, ShardingAttr sharding) {
  auto isFree = [&](AxisRefAttr axis) {
    return !isManualAxis(op, axis.getName());
  };
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims()) {
    SmallVector<AxisRefAttr> axes(
        llvm::make_filter_range(dim.getAxes(), isFree));
    // An open dimension without axes has no priority.
    int64_t priority = axes.empty() && dim.getOpen() ? -1 : dim.getPriority();
    dims.push_back(
        DimShardingAttr::get(op.getContext(), axes, dim.getOpen(), priority));
  }
  SmallVector<AxisRefAttr> replicated(
      llvm::make_filter_range(sharding.getReplicated(), isFree));
  return ShardingAttr::get(op.getContext(), sharding.getMesh(), dims,
                           replicated, {}, sharding.getKind());
}

ShardingAttr spmd::withFreePart(ManualOp op, ShardingAttr sharding,
                                ShardingAttr free) {
  SmallVector<DimShardingAttr> dims;
  for (auto [dim, inside] :
       llvm::zip_equal(sharding.getDims(), free.getDims())) {
    SmallVector<AxisRefAttr> axes;
    for (AxisRefAttr axis : dim.getAxes())
      if (isManualAxis(op, axis.getName()))
        axes.push_back(axis);
    llvm::append_range(axes, inside.getAxes());
    dims.push_back(DimShardingAttr::get(op.getContext(), axes, inside.getOpen(),
                                        inside.getPriority()));
  }
  return ShardingAttr::get(op.getContext(), sharding.getMesh(), dims,
                           sharding.getReplicated(), {}, sharding.getKind());
}

/// The part of `type` that a device holds if only the manual axes of `sharding`
/// shard it. Emits an error and fails if an axis is only partly manual, or if a
/// dimension has a manual axis after one that is not manual.
static FailureOr<RankedTensorType>
cutByManualAxes(RankedTensorType type, const TensorSharding &sharding,
                ArrayRef<AxisRef> manual,
                function_ref<InFlightDiagnostic()> emitError) {
  TensorSharding manualPart = TensorSharding::replicate(type.getRank());
  for (auto [dim, part] : llvm::zip_equal(sharding.dims, manualPart.dims))
    for (size_t index = 0; index < dim.axes.size(); ++index) {
      const AxisRef &axis = dim.axes[index];
      bool isManual = llvm::any_of(
          manual, [&](const AxisRef &m) { return m.contains(axis); });
      if (!isManual && overlap(axis, manual))
        return emitError()
               << prefix(ErrorCode::BadAttribute)
               << "the sharding uses an axis that is only partly manual: "
                  "make the whole axis manual, or none of it";
      if (!isManual && llvm::any_of(manual, [&](const AxisRef &m) {
            return m.axis == axis.axis && m.size > 1;
          }))
        return emitError()
               << prefix(ErrorCode::BadAttribute)
               << "the sharding cuts along one part of an axis while another "
                  "part of the axis is manual: make the whole axis manual";
      if (isManual && part.axes.size() != index)
        return emitError() << prefix(ErrorCode::BadAttribute)
                           << "the manual axes of a dimension must come before "
                              "its other axes";
      if (isManual)
        part.axes.push_back(axis);
    }
  return RankedTensorType::get(getLocalShape(manualPart, type.getShape()),
                               type.getElementType());
}

/// A nested region must not use axes that an enclosing region makes manual:
/// along these, each device already has its own values.
static LogicalResult verifyNesting(ManualOp op, FlatSymbolRefAttr mesh,
                                   ArrayRef<ShardingAttr> shardings) {
  auto outer = op->getParentOfType<ManualOp>();
  if (!outer)
    return success();
  if (getMeshName(outer) != mesh)
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "names mesh " << mesh
           << ", but the manual region around it is on mesh "
           << getMeshName(outer);
  SmallVector<AxisRefAttr> named(op.getAxes().getAxes());
  for (ShardingAttr sharding : shardings)
    sharding.walk([&](AxisRefAttr axis) { named.push_back(axis); });
  for (AxisRefAttr axis : named)
    if (isManualAxis(outer, axis.getName()))
      return tp::emitOpError(op, ErrorCode::BadAttribute)
             << "names axis " << axis.getName()
             << ", which is already manual in an enclosing region: inside that "
                "region nothing can be cut along this axis; leave it out";
  return success();
}

bool ManualOp::isBorder() { return true; }

LogicalResult ManualOp::verify() {
  Operation *terminator = getBody().front().getTerminator();
  if (getInShardings().size() != getInputs().size() ||
      getOutShardings().size() != getOutputs().size() ||
      getBody().getNumArguments() != getInputs().size() ||
      terminator->getNumOperands() != getOutputs().size() ||
      getInputs().size() + getOutputs().size() == 0)
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects at least one operand or result, an in-sharding and a "
              "region argument for each operand, and an out-sharding and a "
              "returned value for each result";

  FlatSymbolRefAttr meshName = getMeshName(*this);
  SmallVector<ShardingAttr> shardings(
      getInShardings().getAsRange<ShardingAttr>());
  llvm::append_range(shardings, getOutShardings().getAsRange<ShardingAttr>());
  SmallVector<Type> outer(getInputs().getTypes());
  llvm::append_range(outer, getOutputs().getTypes());
  SmallVector<Type> inner(getBody().getArgumentTypes());
  llvm::append_range(inner, terminator->getOperandTypes());
  size_t inputs = getInputs().size();
  auto emitAt = [&](size_t index) {
    return emitOpError() << (index < inputs ? "operand #" : "result #")
                         << (index < inputs ? index : index - inputs) << ": ";
  };

  for (auto [index, sharding] : llvm::enumerate(shardings)) {
    if (sharding.getMesh() != meshName)
      return emitAt(index) << prefix(ErrorCode::BadAttribute) << "names mesh "
                           << sharding.getMesh()
                           << ", but the other shardings of the op name "
                           << meshName;
    if (failed(verifySharding(*this, sharding, outer[index],
                              [&, i = index] { return emitAt(i); })))
      return failure();
  }
  if (failed(verifyAxes(*this, meshName, getAxes().getAxes(),
                        [&] { return emitOpError() << "axes: "; })))
    return failure();

  Mesh mesh = lookupMesh(*this, meshName).toMesh();
  AxisList manual = resolveAxes(getAxes().getAxes(), mesh);
  for (auto [index, attr] : llvm::enumerate(shardings)) {
    RankedTensorType type = getGlobalType(cast<RankedTensorType>(outer[index]));
    auto sharding =
        std::get<TensorSharding>(attr.resolve(mesh, type.getRank()));
    FailureOr<RankedTensorType> cut = cutByManualAxes(
        type, sharding, manual, [&, i = index] { return emitAt(i); });
    if (failed(cut))
      return failure();
    auto innerType = dyn_cast<RankedTensorType>(inner[index]);
    if (!innerType || innerType.getElementType() != cut->getElementType() ||
        innerType.getShape() != cut->getShape())
      return emitAt(index) << prefix(ErrorCode::BadRegion)
                           << "expects the type inside the region to be the "
                              "outer type cut along the manual axes, "
                           << *cut << ", got " << inner[index];
  }
  return verifyNesting(*this, meshName, shardings);
}

//===----------------------------------------------------------------------===//
// AxisIndexOp, ShiftOp
//===----------------------------------------------------------------------===//

/// Returns true if Localize has been run on `function`: its signature has a
/// local type.
static bool isLocal(FunctionOpInterface function) {
  auto isLocalType = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa_and_present<LocalAttr>(tensor.getEncoding());
  };
  return llvm::any_of(function.getArgumentTypes(), isLocalType) ||
         llvm::any_of(function.getResultTypes(), isLocalType);
}

ShardingRule AxisIndexOp::getShardingRule() {
  return RuleBuilder(/*numOperands=*/0, /*numResults=*/1).build();
}

/// A shift moves whole buffers, so every dimension may be sharded.
ShardingRule ShiftOp::getShardingRule() {
  return makeElementwiseRule(1, cast<RankedTensorType>(getType()).getShape());
}

PropagationClass ShiftOp::getPropagationClass() {
  return PropagationClass::Elementwise;
}

/// Checks that `op` is in code that each device along `axes` runs separately:
/// in an spmd.manual over these axes, or in a localized function.
static LogicalResult verifyPlace(Operation *op, ArrayRef<AxisRefAttr> axes) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  if (function && isLocal(function))
    return success();
  if (auto manual = op->getParentOfType<ManualOp>()) {
    Mesh mesh = lookupMesh(manual, getMeshName(manual)).toMesh();
    AxisList covered = getManualAxesAround(op);
    AxisList wanted = resolveAxes(axes, mesh);
    if (wanted.size() == axes.size() &&
        llvm::all_of(wanted, [&](const AxisRef &axis) {
          // An axis of size 1 has a single position.
          return axis.size == 1 || llvm::any_of(covered, [&](const AxisRef &c) {
                   return c.contains(axis);
                 });
        }))
      return success();
  }
  return tp::emitOpError(op, ErrorCode::Misplaced)
         << "is only allowed in code for one device: inside spmd.manual over "
            "its axes, or after tp-localize";
}

LogicalResult AxisIndexOp::verify() {
  if (failed(verifyPlace(*this, getAxes().getAxes())))
    return failure();
  return verifyAxes(*this, getMeshAttr(), getAxes().getAxes(),
                    [&] { return emitOpError(); });
}

LogicalResult ShiftOp::verify() {
  if (getMode() != "wrap" && getMode() != "fill" && getMode() != "mirror")
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects mode wrap, fill or mirror, got " << getMode();
  if (failed(verifyPlace(*this, getAxes().getAxes())))
    return failure();
  return verifyAxes(*this, getMeshAttr(), getAxes().getAxes(),
                    [&] { return emitOpError(); });
}

std::optional<int64_t> ShiftOp::getSender(StringRef mode, int64_t by,
                                          int64_t place, int64_t places) {
  // The remainder avoids overflow: `by` can be any number.
  int64_t sender = place - by % places;
  bool isInside = by < places && by > -places && sender >= 0 && sender < places;
  if (mode == "fill")
    return isInside ? std::optional(sender) : std::nullopt;
  sender = (sender + places) % places;
  return mode == "mirror" ? places - 1 - sender : sender;
}

//===----------------------------------------------------------------------===//
// BlockOp, AssembleOp
//===----------------------------------------------------------------------===//

/// The number of blocks in each dimension: `count` along `dim`, 1 along the
/// others.
static SmallVector<int64_t> getCounts(RankedTensorType whole, int64_t dim,
                                      int64_t count) {
  SmallVector<int64_t> counts(whole.getRank(), 1);
  counts[dim] = count;
  return counts;
}

/// Checks that `block` is one of `places` equal blocks of `whole` along `dim`.
static LogicalResult verifyBlocks(Operation *op, RankedTensorType whole,
                                  RankedTensorType block, int64_t dim,
                                  int64_t places) {
  if (dim < 0 || dim >= whole.getRank() || whole.getDimSize(dim) % places != 0)
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "cuts dimension " << dim << " of "
           << RankedTensorType::get(whole.getShape(), whole.getElementType())
           << " into " << places
           << " blocks of different sizes: expects blocks of equal size";
  SmallVector<int64_t> shape(whole.getShape());
  shape[dim] /= places;
  if (block.getShape() != ArrayRef<int64_t>(shape) ||
      block.getElementType() != whole.getElementType())
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects blocks of type "
           << RankedTensorType::get(shape, whole.getElementType()) << ", got "
           << block;
  return success();
}

/// The number of positions along `axes`.
static int64_t countPlaces(Operation *op, FlatSymbolRefAttr mesh,
                           AxisListAttr axes) {
  return getSize(resolveAxes(axes.getAxes(), lookupMesh(op, mesh).toMesh()));
}

ShardingRule BlockOp::getShardingRule() {
  auto whole = cast<RankedTensorType>(getInput().getType());
  return makeBlockRule(
      whole.getShape(),
      getCounts(whole, getDim(), countPlaces(*this, getMeshAttr(), getAxes())),
      /*toBlock=*/true);
}

LogicalResult BlockOp::verify() {
  if (failed(verifyPlace(*this, getAxes().getAxes())) ||
      failed(verifyAxes(*this, getMeshAttr(), getAxes().getAxes(),
                        [&] { return emitOpError(); })))
    return failure();
  int64_t places = countPlaces(*this, getMeshAttr(), getAxes());
  int64_t plus = getPlus();
  if (plus < 0 || plus >= places)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects `plus` from 0 to " << places - 1 << ", got " << plus;
  return verifyBlocks(*this, cast<RankedTensorType>(getInput().getType()),
                      cast<RankedTensorType>(getType()), getDim(), places);
}

ShardingRule AssembleOp::getShardingRule() {
  auto whole = cast<RankedTensorType>(getType());
  ShardingRule rule = makeBlockRule(
      whole.getShape(), getCounts(whole, getDim(), getInputs().size()),
      /*toBlock=*/false);
  TensorFactors block = rule.operands.front();
  rule.operands.assign(getInputs().size(), block);
  return rule;
}

LogicalResult AssembleOp::verify() {
  if (failed(verifyPlace(*this, getAxes().getAxes())) ||
      failed(verifyAxes(*this, getMeshAttr(), getAxes().getAxes(),
                        [&] { return emitOpError(); })))
    return failure();
  int64_t places = countPlaces(*this, getMeshAttr(), getAxes());
  if (int64_t(getInputs().size()) != places ||
      !llvm::all_equal(getInputs().getTypes()))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects " << places << " blocks of the same type, got "
           << getInputs().getTypes();
  return verifyBlocks(*this, cast<RankedTensorType>(getType()),
                      cast<RankedTensorType>(getInputs().front().getType()),
                      getDim(), places);
}

//===----------------------------------------------------------------------===//
// MaskOp
//===----------------------------------------------------------------------===//

LogicalResult MaskOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!isa_and_present<LocalAttr>(type.getEncoding()))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a type with a #spmd.local encoding, which says where "
              "the padding begins";
  for (int64_t dim : getDims())
    if (dim < 0 || dim >= type.getRank())
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "cannot mask dimension " << dim << " of a tensor of rank "
             << type.getRank();
  if (getValue().getType() != type.getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a fill value of the tensor's element type, got a "
           << getValue().getType() << " in a tensor of "
           << type.getElementType();
  return success();
}
