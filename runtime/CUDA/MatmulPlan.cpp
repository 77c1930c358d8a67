// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/MatmulPlan.h"

#include "absl/strings/str_join.h"

#include <algorithm>

using namespace tprt;

template <typename... Pieces>
static absl::Status refuse(const Pieces &...pieces) {
  return makeError(ErrorCode::GpuStep,
                   "cuBLASLt does not support a matmul with ", pieces...,
                   "; compile the program with target=cuda");
}

static int64_t getRowStride(const MatmulOperand &operand) {
  return operand.strides[kMaxBatch];
}
static int64_t getColumnStride(const MatmulOperand &operand) {
  return operand.strides[kMaxBatch + 1];
}

static absl::StatusOr<Epilogue> getEpilogue(const Artifact &artifact,
                                            const MatmulRow &row) {
  Epilogue epilogue;
  absl::Span<const PostOpRow> postOps = artifact.rows<PostOpRow>(row.postOps);
  for (size_t i = 0; i < postOps.size(); ++i) {
    const PostOpRow &postOp = postOps[i];
    if (epilogue.activation != PostOpKind::Add)
      return refuse("more post-ops after its activation");
    switch (postOp.kind) {
    case PostOpKind::Accumulate:
      epilogue.accumulates = true;
      break;
    case PostOpKind::Relu:
    case PostOpKind::GeluTanh:
      epilogue.activation = postOp.kind;
      break;
    case PostOpKind::Add: {
      const MatmulOperand &operand = postOp.operand;
      bool isBias = getRowStride(operand) == 0;
      int &place = isBias ? epilogue.bias : epilogue.addend;
      if (place >= 0 || (!isBias && epilogue.accumulates))
        return refuse("two bias vectors, or two addends that are matrices");
      if (operand.dtype != row.c.dtype)
        return refuse("an addend whose type differs from that of the result");
      if (getColumnStride(operand) != 1 && row.n > 1)
        return refuse("a strided addend");
      place = static_cast<int>(i);
      break;
    }
    default:
      return refuse("this kind of epilogue");
    }
  }
  return epilogue;
}

/// Returns the largest power of two that divides all addresses of a buffer, up
/// to the alignment that allocations have.
static unsigned getAlignment(const MatmulOperand &operand,
                             const MatmulRow &row) {
  uint64_t bits = 256 | operand.buffer.offset;
  if (operand.buffer.step != 0)
    bits |= static_cast<uint64_t>(operand.buffer.step);
  for (unsigned i = 0; i < kMaxBatch; ++i)
    if (row.batch[i] > 1)
      bits |=
          static_cast<uint64_t>(operand.strides[i] * getSize(operand.dtype));
  return static_cast<unsigned>(bits & (~bits + 1));
}

/// Describes a row-major matrix as the column-major one that cuBLASLt reads.
static absl::StatusOr<MatmulPlan::Matrix>
describeMatrix(const MatmulOperand &operand, const MatmulRow &row, int64_t rows,
               int64_t columns) {
  int64_t rowStride = getRowStride(operand);
  int64_t columnStride = getColumnStride(operand);
  MatmulPlan::Matrix matrix = {};
  matrix.dtype = operand.dtype;
  matrix.alignment = getAlignment(operand, row);
  // The stride along a dimension of size 1 may be anything.
  if ((columnStride == 1 || columns == 1) &&
      (rowStride >= columns || rows == 1)) {
    matrix.rows = columns;
    matrix.columns = rows;
    matrix.ld = rows == 1 ? columns : rowStride;
  } else if ((rowStride == 1 || rows == 1) &&
             (columnStride >= rows || columns == 1)) {
    matrix.isTransposed = true;
    matrix.rows = rows;
    matrix.columns = columns;
    matrix.ld = columns == 1 ? rows : columnStride;
  } else {
    return refuse("an operand with strides ", rowStride, " and ", columnStride);
  }
  return matrix;
}

/// Checks what cuBLASLt requires of 8-bit floats, for which it has few kernels.
static absl::Status checkFloat8(const MatmulPlan &plan) {
  constexpr unsigned piece = 16;
  const Epilogue &epilogue = plan.epilogue;
  if (!plan.first.isTransposed || plan.second.isTransposed)
    return refuse("8-bit float operands that are not contiguous along k");
  int64_t k = plan.first.rows, n = plan.first.columns;
  if (k % piece != 0 || n % piece != 0)
    return refuse("8-bit float operands where k = ", k, " and n = ", n,
                  ", which are not both multiples of ", piece);
  for (const MatmulPlan::Matrix *matrix :
       {&plan.first, &plan.second, &plan.result, &plan.addend})
    if (matrix->alignment < piece ||
        matrix->ld * getSize(matrix->dtype) % piece != 0)
      return refuse("8-bit float operands and a matrix whose rows do not all "
                    "begin at multiples of ",
                    piece, " bytes");
  bool hasBias = epilogue.bias >= 0;
  bool hasAddend = epilogue.addend >= 0 || epilogue.accumulates;
  if (hasBias && plan.result.dtype == DType::F32)
    return refuse("8-bit float operands and an f32 bias");
  if (hasBias && plan.biasAlignment < piece)
    return refuse(
        "8-bit float operands and a bias that does not begin at a multiple of ",
        piece, " bytes");
  bool isRelu = epilogue.activation == PostOpKind::Relu;
  bool hasActivation = epilogue.activation != PostOpKind::Add;
  if ((hasAddend && (hasBias || hasActivation)) || (hasActivation && !isRelu))
    return refuse("8-bit float operands and an epilogue other than a residual, "
                  "a bias, relu, or a bias and relu");
  return absl::OkStatus();
}

absl::StatusOr<MatmulPlan> tprt::planMatmul(const Artifact &artifact,
                                            const MatmulRow &row) {
  MatmulPlan plan;
  TPRT_ASSIGN_OR_RETURN(plan.epilogue, getEpilogue(artifact, row));
  absl::Span<const PostOpRow> postOps = artifact.rows<PostOpRow>(row.postOps);
  const MatmulOperand &addend =
      plan.epilogue.addend < 0 ? row.c : postOps[plan.epilogue.addend].operand;
  TPRT_ASSIGN_OR_RETURN(plan.first, describeMatrix(row.b, row, row.k, row.n));
  TPRT_ASSIGN_OR_RETURN(plan.second, describeMatrix(row.a, row, row.m, row.k));
  TPRT_ASSIGN_OR_RETURN(plan.result, describeMatrix(row.c, row, row.m, row.n));
  TPRT_ASSIGN_OR_RETURN(plan.addend, describeMatrix(addend, row, row.m, row.n));
  if (plan.result.isTransposed || plan.addend.isTransposed)
    return refuse("a result that is not row-major");

  std::vector<const MatmulOperand *> operands = {&row.a, &row.b, &row.c,
                                                 &addend};
  if (plan.epilogue.bias >= 0) {
    operands.push_back(&postOps[plan.epilogue.bias].operand);
    plan.biasAlignment = getAlignment(*operands.back(), row);
  }
  if (plan.isFloat8())
    TPRT_RETURN_IF_ERROR(checkFloat8(plan));
  plan.outer = getBatches(row, operands);
  if (plan.outer.empty() || (plan.isFloat8() && row.postOps.count > 0))
    return plan;
  const Batch &inner = plan.outer.back();
  if (inner.size > INT32_MAX)
    return refuse("a batch size of ", inner.size);
  plan.batchCount = inner.size;
  plan.second.batchStride = inner.strides[0];
  plan.first.batchStride = inner.strides[1];
  plan.result.batchStride = inner.strides[2];
  plan.addend.batchStride = inner.strides[3];
  if (plan.epilogue.bias >= 0)
    plan.biasBatchStride = inner.strides[4];
  plan.outer.pop_back();
  return plan;
}

std::string MatmulPlan::getKey() const {
  std::string key;
  for (const Matrix *matrix : {&first, &second, &result, &addend})
    absl::StrAppend(&key, getName(matrix->dtype), "_", matrix->rows, "_",
                    matrix->columns, "_", matrix->ld, "_",
                    matrix->isTransposed ? "t" : "n", "_", matrix->batchStride,
                    "_", matrix->alignment, ":");
  absl::StrAppend(&key, batchCount, "_", biasBatchStride, "_", biasAlignment,
                  "_", epilogue.addend >= 0, "_", epilogue.accumulates, "_",
                  static_cast<uint32_t>(epilogue.activation));
  return key;
}
