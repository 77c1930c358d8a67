// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Source.h"

#include "tpopt/Support/ErrorCodes.h"

#include "runtime/Core/Shapes.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Converts the description of a part of a weight from the compiler's form to
/// the artifact's. The compiler slices the stored tensor and reshapes the
/// slice; the artifact reshapes the tensor and slices the result. If the
/// reshape splits a dimension, the dimension's [start, size] becomes a slice of
/// its major factor.
static FailureOr<tprt::SourceRow> makeRow(tprt::ArtifactWriter &writer,
                                          Operation *op, SourceAttr source) {
  auto fail = [&] {
    return op->emitError() << prefix(ErrorCode::BadSource)
                           << "this part of tensor '"
                           << source.getTensor().getValue()
                           << "' cannot be described in an artifact: expects a "
                              "slice of the reshaped tensor; cut the weight "
                              "along other dimensions";
  };
  auto toSpan = [](ArrayRef<int64_t> list) {
    return absl::MakeConstSpan(list.data(), list.size());
  };
  auto factors =
      tprt::factorReshape(toSpan(source.getSize()), toSpan(source.getView()));
  if (!factors)
    return fail();
  struct Dim {
    int64_t whole, start, size;
    int64_t to; ///< The dimension of the source's view; -1 for size 1.
  };
  SmallVector<Dim> dims;
  for (auto [index, stored] : llvm::enumerate(source.getStored())) {
    int64_t inner = 1, start = source.getStart()[index];
    size_t first = dims.size();
    for (const tprt::ReshapeFactor &factor : *factors) {
      if (factor.from != index)
        continue;
      if (dims.size() > first)
        inner *= factor.size;
      dims.push_back({factor.size, 0, factor.size, factor.to});
    }
    if (dims.size() == first)
      dims.push_back({1, 0, 1, -1});
    if (stored % inner != 0 || start % inner != 0)
      return fail();
    dims[first].whole = stored / inner;
    dims[first].start = start / inner;
  }
  SmallVector<int64_t> view, start, size, step(dims.size(), 1), permutation;
  auto append = [&](int64_t to) {
    for (auto [index, dim] : llvm::enumerate(dims))
      if (dim.to == to)
        permutation.push_back(index);
  };
  append(-1);
  for (int64_t from : source.getPermutation())
    append(from);
  for (const Dim &dim : dims) {
    view.push_back(dim.whole);
    start.push_back(dim.start);
    size.push_back(dim.size);
  }
  auto addIntegers = [&](ArrayRef<int64_t> list) {
    return writer.addAll<int64_t>(toSpan(list));
  };
  StringRef name = source.getTensor().getValue();
  tprt::SourceRow row = {};
  row.tensor = writer.text({name.data(), name.size()});
  row.stored = addIntegers(source.getStored());
  row.view = addIntegers(view);
  row.start = addIntegers(start);
  row.size = addIntegers(size);
  row.step = addIntegers(step);
  row.permutation = addIntegers(permutation);
  return row;
}

LogicalResult tp::codegen::addSources(tprt::ArtifactWriter &writer,
                                      Operation *op, step::InputAttr input,
                                      tprt::InputRow &row) {
  Attribute source = input.getSource();
  if (!source)
    return success();
  auto local =
      dyn_cast_if_present<spmd::LocalAttr>(input.getType().getEncoding());
  auto error = [&] {
    InFlightDiagnostic diagnostic = op->emitError();
    diagnostic << prefix(ErrorCode::BadAttribute) << "input " << input.getName()
               << ": in its source: ";
    return diagnostic;
  };
  if (failed(verifySource(
          source, local ? local.getGlobal() : input.getType().getShape(),
          error)))
    return failure();
  auto join = dyn_cast<JoinAttr>(source);
  SmallVector<SourceAttr> parts;
  if (join)
    llvm::append_range(parts, join.getParts());
  else
    parts.push_back(cast<SourceAttr>(source));
  SmallVector<tprt::SourceRow> rows;
  for (SourceAttr part : parts) {
    FailureOr<tprt::SourceRow> made = makeRow(writer, op, part);
    if (failed(made))
      return failure();
    if (join)
      made->extent = part.getShape()[join.getDim()];
    rows.push_back(*made);
  }
  row.sources = writer.addAll<tprt::SourceRow>(
      absl::MakeConstSpan(rows.data(), rows.size()));
  row.joined = join ? join.getDim() : 0;
  return success();
}

LogicalResult tp::codegen::addPart(tprt::ArtifactWriter &writer, Operation *op,
                                   step::OutputAttr output,
                                   tprt::OutputRow &row) {
  auto source = cast_if_present<SourceAttr>(output.getSource());
  if (!source)
    return success();
  FailureOr<tprt::SourceRow> part = makeRow(writer, op, source);
  if (failed(part))
    return failure();
  row.part = {writer.add(*part), 1};
  return success();
}
