// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/Artifact.h"

#include "ArtifactBuilder.h"
#include "Source.h"

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/ProgramCost.h"

#include "runtime/Core/DType.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static_assert(tp::kMaxDevices == tprt::kMaxDevices);

static absl::string_view toView(StringRef text) {
  return {text.data(), text.size()};
}

/// Converts a role to the artifact format.
static tprt::Role toFormat(Role role) {
  switch (role) {
  case Role::Input:
    return tprt::Role::Input;
  case Role::Parameter:
    return tprt::Role::Parameter;
  case Role::State:
    return tprt::Role::State;
  case Role::KVCache:
    return tprt::Role::KVCache;
  case Role::Gradient:
    return tprt::Role::Gradient;
  case Role::OptimizerState:
    return tprt::Role::OptimizerState;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Tables that all entries share
//===----------------------------------------------------------------------===//

LogicalResult ArtifactBuilder::addMesh() {
  Attribute name;
  for (auto program : module.getOps<step::ProgramOp>()) {
    if (!program.getMeshAttr())
      continue;
    if (name && name != program.getMeshAttr())
      return program.emitError()
             << prefix(ErrorCode::SeveralMeshes)
             << "all entries of an artifact must run on the same mesh";
    name = program.getMeshAttr();
    spmd::MeshOp op = spmd::lookupMesh(program, program.getMeshAttr());
    if (!op)
      return program.emitError() << prefix(ErrorCode::UnknownMesh)
                                 << "the module has no mesh " << name;
    mesh = op.toMesh();
  }
  if (!mesh)
    return success();
  FailureOr<std::optional<cost::Machine>> machine =
      cost::readMachineOption(module, /*option=*/"");
  if (failed(machine))
    return failure();
  SmallVector<unsigned> links =
      cost::getAxisLinks(cost::withMachineLinks(*mesh, *machine));
  for (auto [axis, link] : llvm::zip_equal(mesh->axes, links))
    writer.add(tprt::MeshAxis{writer.text(axis.name), axis.size, link});
  // Consecutive ids are the default, so they are not stored.
  if (!llvm::is_sorted(mesh->deviceIds))
    for (int64_t device : mesh->deviceIds)
      writer.add(tprt::DeviceRow{static_cast<uint32_t>(device)});
  return success();
}

tprt::Range ArtifactBuilder::addAxes(ArrayRef<AxisRef> axes) {
  SmallVector<tprt::AxisRefRow> rows;
  for (const AxisRef &axis : axes)
    rows.push_back({axis.axis, 0, axis.pre, axis.size});
  return writer.addAll<tprt::AxisRefRow>(
      absl::MakeConstSpan(rows.data(), rows.size()));
}

tprt::Range ArtifactBuilder::addDims(RankedTensorType type) {
  auto local = dyn_cast_if_present<spmd::LocalAttr>(type.getEncoding());
  std::optional<TensorSharding> sharding;
  if (local && mesh)
    sharding = std::get<TensorSharding>(
        local.getSharding().resolve(*mesh, type.getRank()));
  SmallVector<tprt::DimRow> rows;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    rows.push_back(
        {sharding ? local.getGlobal()[dim] : type.getDimSize(dim),
         type.getDimSize(dim),
         sharding ? addAxes(sharding->dims[dim].axes) : tprt::Range()});
  return writer.addAll<tprt::DimRow>(
      absl::MakeConstSpan(rows.data(), rows.size()));
}

FailureOr<tprt::DType> ArtifactBuilder::getDTypeAt(Operation *op, Type type) {
  if (std::optional<tprt::DType> dtype = getDType(type))
    return *dtype;
  return op->emitError() << prefix(ErrorCode::UnsupportedType)
                         << "the runtime does not support elements of type "
                         << type;
}

FailureOr<uint32_t> ArtifactBuilder::addInput(step::ProgramOp program,
                                              step::InputAttr input) {
  auto [it, isNew] = inputs.try_emplace(input.getName().getValue());
  if (!isNew) {
    if (it->second.second != input)
      return program.emitError()
             << prefix(ErrorCode::InputMismatch) << "input " << input.getName()
             << " is declared as " << input << " here, but as "
             << it->second.second
             << " in another entry: entries share inputs by name, so give one "
                "of the two a different tp.name";
    return it->second.first;
  }
  FailureOr<tprt::DType> dtype =
      getDTypeAt(program, input.getType().getElementType());
  if (failed(dtype))
    return failure();
  tprt::InputRow row = {};
  if (failed(addSources(writer, program, input, row)))
    return failure();
  row.name = writer.text(toView(input.getName().getValue()));
  row.role = toFormat(input.getRole());
  row.dtype = *dtype;
  row.dims = addDims(input.getType());
  it->second = {writer.add(row), input};
  return it->second.first;
}

uint32_t ArtifactBuilder::addCommunicator(spmd::AxisListAttr axes) {
  auto [it, isNew] = communicators.try_emplace(axes);
  if (isNew)
    it->second = writer.add(tprt::CommunicatorRow{
        addAxes(spmd::resolveAxes(axes.getAxes(), *mesh))});
  return it->second;
}

uint32_t ArtifactBuilder::addPlace(spmd::AxisListAttr axes, int64_t plus) {
  auto [it, isNew] = places.try_emplace({axes, plus});
  if (isNew)
    it->second = writer.add(tprt::PlaceRow{
        addAxes(spmd::resolveAxes(axes.getAxes(), *mesh)), plus});
  return it->second;
}

uint32_t ArtifactBuilder::addCoordinate(spmd::AxisRefAttr axis) {
  auto [it, isNew] = coordinates.try_emplace(axis);
  if (isNew)
    it->second = addAxes(spmd::resolveAxes(axis, *mesh)).first;
  return it->second;
}

FailureOr<uint32_t> ArtifactBuilder::addKernel(step::KernelOpInterface op) {
  unsigned known = kernelTable.getKernels().size();
  unsigned index = kernelTable.add(op);
  if (index < known)
    return kernelRows[index];
  const Kernel &kernel = kernelTable.getKernels()[index];
  if (failed(code->addKernel(kernel)))
    return failure();
  kernelRows.push_back(writer.add(tprt::KernelRow{writer.text(kernel.name)}));
  return kernelRows.back();
}

LogicalResult ArtifactBuilder::addEntry(step::ProgramOp program) {
  roots.clear();
  steps.clear();
  counters.clear();
  numCounters = 0;
  std::vector<int64_t> entryInputs;
  std::vector<tprt::OutputRow> outputs;
  Block &body = program.getBody().front();
  for (auto [index, attribute] :
       llvm::enumerate(program.getInputs().getAsRange<step::InputAttr>())) {
    FailureOr<uint32_t> input = addInput(program, attribute);
    if (failed(input))
      return failure();
    entryInputs.push_back(*input);
    tprt::BufferRow &row = roots[body.getArgument(index)];
    row.space = tprt::Space::Input;
    row.index = *input;
  }
  unsigned next = entryInputs.size();
  for (auto attribute : program.getOutputs().getAsRange<step::OutputAttr>()) {
    FailureOr<tprt::DType> dtype =
        getDTypeAt(program, attribute.getType().getElementType());
    if (failed(dtype))
      return failure();
    tprt::OutputRow row = {};
    row.name = writer.text(toView(attribute.getName().getValue()));
    row.dtype = *dtype;
    row.alias = tprt::kNone;
    if (attribute.getAlias() >= 0) {
      row.alias = entryInputs[attribute.getAlias()];
    } else {
      tprt::BufferRow &root = roots[body.getArgument(next++)];
      root.space = tprt::Space::Output;
      root.index = numOutputs + outputs.size();
    }
    row.dims = addDims(attribute.getType());
    if (failed(addPart(writer, program, attribute, row)))
      return failure();
    outputs.push_back(row);
  }
  for (Operation &op : body)
    if (failed(addStep(&op)))
      return failure();
  tprt::EntryRow entry = {};
  entry.name = writer.text(toView(program.getSymName()));
  entry.inputs = writer.addAll<int64_t>(absl::MakeConstSpan(entryInputs));
  entry.outputs = writer.addAll<tprt::OutputRow>(absl::MakeConstSpan(outputs));
  entry.steps = writer.addAll<tprt::StepRow>(absl::MakeConstSpan(steps));
  entry.arenaSize = program.getArena().value_or(0);
  entry.counters = numCounters;
  entry.positions = program.getPositions().value_or(0);
  writer.add(entry);
  numOutputs += outputs.size();
  return success();
}

FailureOr<std::string> ArtifactBuilder::build() {
  if (failed(addMesh()))
    return failure();
  for (auto program : module.getOps<step::ProgramOp>())
    if (failed(addEntry(program)))
      return failure();
  if (code && code->getTarget().servesByKernels() &&
      (failed(addCombinations()) || failed(addRandoms())))
    return failure();
  if (!kernelRows.empty() && failed(code->write(module.getLoc(), writer)))
    return failure();
  writer.setBytes(tprt::SectionKind::Target,
                  code ? toView(code->getTarget().getName())
                       : tprt::kInterpreterTarget);
  std::string bytes = writer.finish();
  // If the runtime would reject the artifact, that is a bug of the compiler,
  // which should be detected here.
  auto check = tprt::Artifact::fromBytes(bytes);
  if (!check.ok())
    return module.emitError()
           << prefix(ErrorCode::CodegenFailed) << "the artifact is broken: "
           << StringRef(check.status().message().data(),
                        check.status().message().size());
  return bytes;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// If the module has a program called `name` in `tp.programs`, writes it into
/// the section `section`.
static void addKept(tprt::ArtifactWriter &writer, ModuleOp module,
                    StringRef name, tprt::SectionKind section) {
  auto programs = module->getAttrOfType<DictionaryAttr>(kProgramsAttr);
  auto attr = programs ? programs.getAs<DenseResourceElementsAttr>(name)
                       : DenseResourceElementsAttr();
  if (AsmResourceBlob *blob = attr ? attr.getRawHandle().getBlob() : nullptr)
    writer.setBytes(section, {blob->getData().data(), blob->getData().size()});
}

FailureOr<std::string> tp::codegen::buildArtifact(ModuleOp module,
                                                  TargetCode &code) {
  ArtifactBuilder builder(module, &code);
  addKept(builder.writer, module, kWholeProgram,
          tprt::SectionKind::GlobalProgram);
  addKept(builder.writer, module, kLocalProgram,
          tprt::SectionKind::LocalProgram);
  return builder.build();
}

FailureOr<std::string>
tp::codegen::buildInterfaceArtifact(ModuleOp module, StringRef wholeProgram) {
  ArtifactBuilder builder(module);
  builder.writer.setBytes(tprt::SectionKind::GlobalProgram,
                          toView(wholeProgram));
  return builder.build();
}
