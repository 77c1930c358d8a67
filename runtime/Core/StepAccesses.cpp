// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/StepAccesses.h"

using namespace tprt;

namespace {

class AccessCollector {
public:
  explicit AccessCollector(const Artifact &artifact) : artifact(artifact) {}

  /// Only the bounds of a kernel's accesses are known. Which elements within
  /// the bounds it accesses depends on its code.
  void add(const KernelCallRow &call) {
    absl::Span<const BufferRow> buffers =
        artifact.rows<BufferRow>(call.buffers);
    for (size_t i = 0; i < buffers.size(); ++i)
      add(buffers[i], DType::U8,
          i < call.firstWritten ? AccessKind::Read : AccessKind::Write,
          {static_cast<int64_t>(buffers[i].size)}, {1});
  }

  void add(const MatmulRow &matmul) {
    addMatrix(matmul, matmul.a, matmul.m, matmul.k, AccessKind::Read);
    addMatrix(matmul, matmul.b, matmul.k, matmul.n, AccessKind::Read);
    addMatrix(matmul, matmul.c, matmul.m, matmul.n, AccessKind::Write);
    for (const PostOpRow &postOp : artifact.rows<PostOpRow>(matmul.postOps))
      if (postOp.kind <= PostOpKind::Multiply)
        addMatrix(matmul, postOp.operand, matmul.m, matmul.n, AccessKind::Read);
  }

  void add(const CollectiveRow &row) {
    int64_t group = artifact.getGroupSize(
        artifact.rows<CommunicatorRow>()[row.communicator].axes);
    bool manyIn = row.kind == CollectiveKind::ReduceScatter ||
                  row.kind == CollectiveKind::AllToAll;
    bool manyOut = row.kind == CollectiveKind::AllGather ||
                   row.kind == CollectiveKind::AllToAll;
    add(row.source, row.dtype, AccessKind::Read,
        {manyIn ? group : 1, row.count}, {row.count, 1});
    add(row.destination, row.dtype, AccessKind::Write,
        {manyOut ? group : 1, row.count}, {row.count, 1});
  }

  void add(const CopyRow &copy) {
    absl::Span<const int64_t> sizes(copy.sizes, copy.rank);
    add(copy.source, copy.dtype, AccessKind::Read, sizes,
        {copy.from.strides, copy.rank});
    add(copy.destination, copy.dtype, AccessKind::Write, sizes,
        {copy.to.strides, copy.rank});
  }

  void add(const FillRow &fill) {
    add(fill.destination, fill.dtype, AccessKind::Write,
        {fill.sizes, fill.rank}, {fill.to.strides, fill.rank});
  }

  void add(const ControlRow &control) {
    if (control.kind == ControlKind::While || control.kind == ControlKind::If)
      add(control.predicate, DType::Bool, AccessKind::Read, {}, {});
  }

  void add(const ScatterRow &row) {
    add(row.updates, row.dtype, AccessKind::Read,
        {row.batch, row.outer, row.count, row.inner}, row.updateStrides);
    add(row.indices, DType::I64, AccessKind::Read, {row.batch, row.count},
        row.indexStrides);
    add(row.destination, row.dtype, AccessKind::Write,
        {row.batch, row.outer, row.axis, row.inner}, row.strides);
  }

  void add(const SortRow &row) {
    add(row.source, row.dtype, AccessKind::Read, {row.rows, row.columns},
        row.sourceStrides);
    add(row.values, row.dtype, AccessKind::Write, {row.rows, row.kept},
        row.valueStrides);
    add(row.indices, DType::I32, AccessKind::Write, {row.rows, row.kept},
        row.indexStrides);
  }

  StepAccesses found;

private:
  void add(const BufferRow &buffer, DType dtype, AccessKind kind,
           absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides) {
    found.push_back({buffer,
                     kind,
                     dtype,
                     {sizes.begin(), sizes.end()},
                     {strides.begin(), strides.end()}});
  }

  void addMatrix(const MatmulRow &matmul, const MatmulOperand &operand,
                 int64_t rows, int64_t columns, AccessKind kind) {
    int64_t sizes[kMaxBatch + 2];
    std::copy_n(matmul.batch, kMaxBatch, sizes);
    sizes[kMaxBatch] = rows;
    sizes[kMaxBatch + 1] = columns;
    add(operand.buffer, operand.dtype, kind, sizes, operand.strides);
  }

  const Artifact &artifact;
};

} // namespace

StepAccesses tprt::getAccesses(const Artifact &artifact, const StepRow &step) {
  AccessCollector accesses(artifact);
  switch (step.kind) {
#define TPRT_STEP(enumerator, number, Row)                                     \
  case StepKind::enumerator:                                                   \
    accesses.add(artifact.rows<Row>()[step.row]);                              \
    break;
#include "runtime/Core/ArtifactEnums.def"
  }
  return std::move(accesses.found);
}
