// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Meshes, annotations, manual regions and the ops about the device's place.

#include "tpopt/Dialect/SPMD/Directives.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

#include "tpopt/Dialect/SPMD/SPMDInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

/// `[{"x"}, {}]`: one axis list per dimension.
static ParseResult parseDimAxes(OpAsmParser &parser, ArrayAttr &dims) {
  SmallVector<Attribute> lists;
  auto parseList = [&]() -> ParseResult {
    AxisListAttr list;
    if (parser.parseCustomAttributeWithFallback(list))
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
                        [&](AxisListAttr list) { list.print(printer); });
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

/// `["x": 0 -> 1, "y": 0 -> 2]`.
static ParseResult parseMoves(OpAsmParser &parser, AxisListAttr &axes,
                              DenseI64ArrayAttr &from, DenseI64ArrayAttr &to) {
  SmallVector<AxisRefAttr> names;
  SmallVector<int64_t> fromDims, toDims;
  auto parseMove = [&]() -> ParseResult {
    std::string name;
    int64_t pre = 1, size = 0;
    if (parser.parseString(&name) || parser.parseColon())
      return failure();
    if (succeeded(parser.parseOptionalLParen()))
      if (parser.parseInteger(pre) || parser.parseRParen() ||
          parser.parseInteger(size) || parser.parseColon())
        return failure();
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
    return emitError() << prefix(ErrorCode::BadMesh)
                       << "`links` has one #spmd.link<..> for each of the "
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
  if (!llvm::is_contained({"forward", "backward", "both"}, getDirection()))
    return emitOpError() << "direction is \"forward\", \"backward\" or "
                            "\"both\", not \""
                         << getDirection() << '"';
  return success();
}

LogicalResult GroupOp::verify() {
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  if (!function)
    return success();
  // The first member of the group speaks for it.
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
    InFlightDiagnostic diag = emitOpError()
                              << "group " << getId()
                              << " has members of different shapes";
    diag.attachNote(first.getLoc()) << "the first member is here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ManualOp
//===----------------------------------------------------------------------===//

LogicalResult ManualOp::verify() {
  if (getInShardings().size() != getInputs().size() ||
      getOutShardings().size() != getOutputs().size())
    return emitOpError() << "needs one in-sharding for each of "
                         << getInputs().size()
                         << " operands and one out-sharding for each of "
                         << getOutputs().size() << " results";

  // Shardings against the types outside and inside.
  Operation *terminator = getBody().front().getTerminator();
  if (getBody().getNumArguments() != getInputs().size() ||
      terminator->getNumOperands() != getOutputs().size())
    return emitOpError()
           << "region takes one argument per operand and returns one value per "
              "result";
  FlatSymbolRefAttr meshName;
  auto check = [&](ArrayAttr shardings, TypeRange outer, TypeRange inner,
                   StringRef what) -> LogicalResult {
    for (unsigned index = 0; index < shardings.size(); ++index) {
      auto entry = cast<ShardingAttr>(shardings[index]);
      auto emit = [&] {
        return emitOpError() << what << " #" << index << ": ";
      };
      if (!meshName)
        meshName = entry.getMesh();
      if (entry.getMesh() != meshName)
        return emit() << "names mesh " << entry.getMesh() << ", others name "
                      << meshName;
      if (failed(verifySharding(*this, entry, outer[index], emit)))
        return failure();
      Mesh mesh = lookupMesh(*this, entry.getMesh()).toMesh();
      AxisList manual = resolveAxes(getAxes().getAxes(), mesh);
      RankedTensorType type =
          getGlobalType(cast<RankedTensorType>(outer[index]));
      auto sharding =
          std::get<TensorSharding>(entry.resolve(mesh, type.getRank()));
      TensorSharding manualPart = TensorSharding::replicate(type.getRank());
      for (auto [dim, part] : llvm::zip(sharding.dims, manualPart.dims)) {
        bool sawFree = false;
        for (const AxisRef &axis : dim.axes) {
          bool isManual = overlap(axis, manual);
          if (isManual && sawFree)
            return emit() << "manual axes stand before all others in every "
                             "dimension";
          sawFree |= !isManual;
          if (isManual)
            part.axes.push_back(axis);
        }
      }
      auto innerType = dyn_cast<RankedTensorType>(inner[index]);
      SmallVector<int64_t> local = getLocalShape(manualPart, type.getShape());
      if (!innerType || innerType.getElementType() != type.getElementType() ||
          innerType.getShape() != ArrayRef<int64_t>(local))
        return emit() << "is " << inner[index] << " inside, the manual axes "
                      << "make it "
                      << RankedTensorType::get(local, type.getElementType());
    }
    return success();
  };
  if (failed(check(getInShardings(), getInputs().getTypes(),
                   getBody().getArgumentTypes(), "operand")))
    return failure();
  return check(getOutShardings(), getOutputs().getTypes(),
               terminator->getOperandTypes(), "result");
}

//===----------------------------------------------------------------------===//
// ShiftOp, MaskOp
//===----------------------------------------------------------------------===//

LogicalResult ShiftOp::verify() {
  if (getMode() != "wrap" && getMode() != "fill")
    return emitOpError() << "mode is wrap or fill, not " << getMode();
  return success();
}

LogicalResult MaskOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!isa_and_present<LocalAttr>(type.getEncoding()))
    return emitOpError() << "needs a #spmd.local encoding, which says where "
                            "the padding begins";
  for (int64_t dim : getDims())
    if (dim < 0 || dim >= type.getRank())
      return emitOpError() << "masks dimension " << dim
                           << " of a tensor of rank " << type.getRank();
  return success();
}
