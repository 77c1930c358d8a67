// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers of programs, and of the ops that name memory: alloc, constant,
// bundle and view.

#include "dialects/OpError.h"
#include "tpopt/Dialect/Step/Step.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp::step;
using tp::ErrorCode;

bool tp::step::isBufferOp(Operation *op) {
  return isa<AllocOp, ViewOp, ConstantOp, BundleOp>(op);
}

static LogicalResult verifyOutputParts(ProgramOp program) {
  SmallVector<tp::ResultPart> results;
  for (auto output : program.getOutputs().getAsRange<OutputAttr>()) {
    auto local = dyn_cast_if_present<tp::spmd::LocalAttr>(
        output.getType().getEncoding());
    results.push_back(
        {output.getName().getValue(), output.getSource(),
         local ? local.getGlobal() : output.getType().getShape()});
  }
  return tp::verifyParts(results, [&](unsigned index) {
    return tp::emitOpError(program, ErrorCode::BadAttribute)
           << "output "
           << cast<OutputAttr>(program.getOutputs()[index]).getName() << ' ';
  });
}

LogicalResult ProgramOp::verify() {
  SmallVector<Type> wanted;
  llvm::StringSet<> inputs, outputs;
  auto addBuffer = [&](RankedTensorType type) {
    wanted.push_back(MemRefType::get(type.getShape(), type.getElementType()));
  };
  for (auto input : getInputs().getAsRange<InputAttr>()) {
    addBuffer(input.getType());
    if (!inputs.insert(input.getName()).second)
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "has two inputs called " << input.getName();
  }
  for (auto output : getOutputs().getAsRange<OutputAttr>()) {
    int64_t alias = output.getAlias();
    if (alias < 0)
      addBuffer(output.getType());
    else if (alias >= int64_t(getInputs().size()) ||
             cast<InputAttr>(getInputs()[alias]).getType() != output.getType())
      return tp::emitOpError(*this, ErrorCode::TypeMismatch)
             << "output " << output.getName()
             << " must alias an input of the same type";
    if (!outputs.insert(output.getName()).second)
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "has two outputs called " << output.getName();
  }
  if (failed(verifyOutputParts(*this)))
    return failure();
  if (getBody().getArgumentTypes() != TypeRange(wanted))
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects the arguments of the body to be the buffers of the "
              "inputs, then those of the outputs";
  return success();
}

LogicalResult AllocOp::verify() {
  if (!isDense(getType()))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a dense buffer, got " << getType();
  if (getOffset() && (int64_t(*getOffset()) < 0 ||
                      int64_t(*getOffset()) % kArenaAlignment != 0))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects `at` to be a multiple of " << kArenaAlignment;
  return success();
}

LogicalResult ConstantOp::verify() {
  auto value = dyn_cast<ShapedType>(getValue().getType());
  if (!value || !isDense(getType()) ||
      value.getShape() != getType().getShape() ||
      value.getElementType() != getType().getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a dense buffer of the value's shape and element type, "
           << getValue().getType() << ", got " << getType();
  return success();
}

/// Returns true if a buffer is an input of its program that is never written.
static bool isConstantInput(ProgramOp program, Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument || argument.getOwner() != &program.getBody().front() ||
      argument.getArgNumber() >= program.getInputs().size())
    return false;
  return llvm::none_of(
      program.getOutputs().getAsRange<OutputAttr>(), [&](OutputAttr output) {
        return output.getAlias() == int64_t(argument.getArgNumber());
      });
}

LogicalResult BundleOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  bool areInputs =
      program && getMembers().size() >= 2 &&
      llvm::all_of(getMembers(), [&](Value member) {
        return isConstantInput(program, member) && member.hasOneUse();
      });
  if (!areInputs)
    return tp::emitOpError(*this, ErrorCode::Misplaced)
           << "expects two or more inputs of the program that no output "
              "overwrites and no other op uses";
  int64_t rows = getRows(), elements = 0;
  bool fits = rows >= 1 && isDense(getType());
  for (Value member : getMembers()) {
    MemRefType type = bufferTypeOf(member);
    fits = fits && type.getElementType() == getType().getElementType() &&
           type.getNumElements() % rows == 0;
    elements += type.getNumElements();
  }
  if (!fits || elements != getType().getNumElements())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a dense buffer with the members' element type and total "
              "number of elements, and a number of rows that divides the size "
              "of each member, got "
           << getType() << " with " << rows << " rows";
  return success();
}

/// The size of an axis of the enclosing program's mesh; fails, with an error at
/// `op`, if there is no such axis.
static FailureOr<int64_t> getAxisSize(Operation *op,
                                      tp::spmd::AxisRefAttr axis) {
  auto program = op->getParentOfType<ProgramOp>();
  tp::spmd::MeshOp mesh;
  if (program && program.getMeshAttr())
    mesh = tp::spmd::lookupMesh(program, program.getMeshAttr());
  if (!mesh)
    return tp::emitOpError(op, ErrorCode::Misplaced)
           << "expects the enclosing program to have a mesh";
  tp::Mesh devices = mesh.toMesh();
  if (!devices.find(axis.getName()))
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "mesh " << mesh.getSymName() << " has no axis " << axis.getName();
  return tp::getSize(tp::spmd::resolveAxes(axis, devices));
}

FailureOr<int64_t>
tp::step::getGroupSize(Operation *op, ArrayRef<tp::spmd::AxisRefAttr> axes) {
  int64_t group = 1;
  for (tp::spmd::AxisRefAttr axis : axes) {
    FailureOr<int64_t> size = getAxisSize(op, axis);
    if (failed(size))
      return failure();
    group *= *size;
  }
  return group;
}

int64_t tp::step::getNumPositions(ViewOp view) {
  if (view.getBy().value_or(0) == 0)
    return 1;
  if (view.getAxes())
    return *getGroupSize(view, view.getAxes()->getAxes());
  return std::max<int64_t>(step::getLoop(view, view.getLoop()).getCount(), 1);
}

LogicalResult ViewOp::verify() {
  MemRefType source = bufferTypeOf(getSource());
  if (!isDense(source) || getSource().getDefiningOp<ViewOp>())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects an argument, an alloc, a constant or a bundle as its "
              "source";
  int64_t first = 0, last = 0; // how far the address advances
  if (int64_t by = getBy().value_or(0)) {
    if (getAxes() && failed(getGroupSize(*this, getAxes()->getAxes())))
      return failure();
    if (!getAxes() && !step::getLoop(*this, getLoop()))
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "expects `loop` to be the number of an enclosing loop, where 0 "
                "is the innermost, got "
             << getLoop();
    int64_t positions = getNumPositions(*this);
    if (getAxes() &&
        (int64_t(getPlus()) < 0 || int64_t(getPlus()) >= positions))
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "expects `plus` from 0 to " << positions - 1 << ", got "
             << getPlus();
    int64_t bytes = getElementBytes(source.getElementType());
    if (by * bytes % kArenaAlignment != 0)
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "has an address that advances by " << by * bytes
             << " bytes: expects a multiple of " << kArenaAlignment;
    int64_t distance = by * (positions - 1) * bytes;
    first = std::min<int64_t>(distance, 0);
    last = std::max<int64_t>(distance, 0);
  }
  int64_t begin =
      Strides(getType()).offset * getElementBytes(source.getElementType());
  if (getType().getElementType() != source.getElementType() ||
      begin + first < 0 || getEndByte(getType()) + last > getEndByte(source))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a view that stays inside its source, " << source
           << ", and has the element type of its source, got " << getType();
  return success();
}
