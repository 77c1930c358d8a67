// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/Target.h"

#include "tpopt/Support/ErrorCodes.h"

#include "runtime/CUDA/Workspace.h"
#include "runtime/Core/ArtifactFormat.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Returns true if rows are dense and do not share elements. Neither oneDNN nor
/// cuBLASLt repeats a row or a column: both treat a stride of 0 as an error.
static bool liesByRows(const Matrix &matrix) {
  return (matrix.columns == 1 || matrix.columnStride == 1) &&
         (matrix.rows == 1 || matrix.rowStride >= matrix.columns);
}

/// 8-bit floats are too imprecise for sums.
static bool isSummed(Type element) {
  return isa<IntegerType>(element) || element.getIntOrFloatBitWidth() >= 16;
}

namespace {

class CpuTarget final : public Target {
public:
  StringRef getName() const override { return tprt::kCpuTarget; }
  FactorType getFactorType(Type element, const ProductSize &) const override {
    if (element.isBF16())
      return {element, ""};
    return {Float32Type::get(element.getContext()), ""};
  }
  bool writes(Type factor, Type result) const override {
    return result.isF32() || result == factor;
  }
  bool readsMatrix(const Matrix &factor) const override {
    return liesByRows(factor) || liesByRows(transpose(factor));
  }
  bool writesMatrix(Type, const Matrix &) const override { return true; }
  // oneDNN 2.6 has fast code only if the operand is a row or has C's layout;
  // otherwise it would compute the product and the post-ops one element at a
  // time.
  bool readsBeside(const Matrix &result, const Matrix &other) const override {
    bool isRow = other.rowStride == 0 &&
                 (other.columnStride == 0 || other.columnStride == 1);
    bool isDense = result.rows == 1 || result.rowStride == result.columns;
    bool isAlike =
        (result.rows == 1 || other.rowStride == result.rowStride) &&
        (result.columns == 1 || other.columnStride == result.columnStride);
    return isAlike || (isRow && isDense);
  }
  bool canFollow(Type, Type, ArrayRef<PostOpPattern> posts) const override {
    return llvm::none_of(posts, [](const PostOpPattern &post) {
      return post.operand == PostOpPattern::Operand::Other;
    });
  }
  bool hasFixedEpilogue() const override { return false; }
  bool copies(MemRefType, MemRefType) const override { return true; }
  bool fills(MemRefType, Attribute) const override { return true; }
  int64_t getWorkspaceBytes() const override { return 0; }
  int64_t getCacheBytes() const override { return 1 << 20; } // a core's L2
  bool separatesLinks() const override { return true; }
  bool combines(Type element) const override { return isSummed(element); }
  bool hasAttention() const override { return false; }
  bool sortsByKernels() const override { return false; }
  bool servesByKernels() const override { return false; }
  bool choosesSteps() const override { return false; }
  bool multipliesFloat8() const override { return false; }
};

class CudaTarget final : public Target {
public:
  explicit CudaTarget(bool fp8) : fp8(fp8) {}

  StringRef getName() const override { return tprt::kCudaTarget; }
  FactorType getFactorType(Type element,
                           const ProductSize &size) const override;
  bool writes(Type factor, Type result) const override;
  bool readsMatrix(const Matrix &factor) const override;
  bool writesMatrix(Type factor, const Matrix &result) const override;
  bool readsBeside(const Matrix &, const Matrix &) const override {
    return true; // see canFollow
  }
  bool canFollow(Type factor, Type result,
                 ArrayRef<PostOpPattern> posts) const override;
  bool hasFixedEpilogue() const override { return true; }
  bool copies(MemRefType from, MemRefType to) const override;
  bool fills(MemRefType to, Attribute value) const override;
  int64_t getWorkspaceBytes() const override { return tprt::kBlasWorkspace; }
  int64_t getCacheBytes() const override { return 32 << 20; } // H100: 50 MiB
  // NcclLinks.cpp says why.
  bool separatesLinks() const override { return false; }
  bool combines(Type element) const override {
    // NCCL has no 16-bit integers.
    bool isShort =
        isa<IntegerType>(element) && element.getIntOrFloatBitWidth() == 16;
    return isSummed(element) && !isShort;
  }
  bool hasAttention() const override { return true; }
  bool sortsByKernels() const override { return true; }
  bool servesByKernels() const override { return true; }
  bool choosesSteps() const override { return true; }
  bool multipliesFloat8() const override { return fp8; }

private:
  bool fp8; ///< f8E4M3FN is multiplied without widening it.
};

} // namespace

const Target *Target::find(StringRef name, bool fp8) {
  static const CpuTarget cpu;
  static const CudaTarget cuda(/*fp8=*/false), cudaFp8(/*fp8=*/true);
  if (name == cuda.getName())
    return fp8 ? &cudaFp8 : &cuda;
  return name == cpu.getName() && !fp8 ? &cpu : nullptr;
}

//===----------------------------------------------------------------------===//
// cuBLASLt
//===----------------------------------------------------------------------===//

/// For products of 8-bit floats, matrices and their rows must begin at
/// multiples of this many bytes, and the summed dimension must be a multiple of
/// it.
static constexpr int64_t kPieceBytes = 16;

static bool isFloat8(Type element) {
  return element.getIntOrFloatBitWidth() == 8;
}

FactorType CudaTarget::getFactorType(Type element,
                                     const ProductSize &size) const {
  if (element.isBF16() || element.isF16())
    return {element, ""};
  MLIRContext *context = element.getContext();
  if (!isFloat8(element))
    return {Float32Type::get(context), ""};
  // bf16 represents every value of an 8-bit float.
  Type wide = BFloat16Type::get(context);
  if (!fp8)
    return {wide, ""};
  if (!isa<Float8E4M3FNType>(element))
    return {
        wide,
        "cuBLASLt supports 8-bit floats only if both operands are f8E4M3FN"};
  if (size.n % kPieceBytes != 0 || size.k % kPieceBytes != 0)
    return {wide,
            llvm::formatv(
                "cuBLASLt multiplies m x k by k x n matrices of 8-bit floats "
                "only if k and n are multiples of {0}, got {1} and {2}",
                kPieceBytes, size.k, size.n)};
  return {element, ""};
}

/// A result in 8-bit floats would have to be clamped, so a row program writes
/// it.
bool CudaTarget::writes(Type factor, Type result) const {
  if (isFloat8(factor))
    return result.isF32() || result.isBF16() || result.isF16();
  return result.isF32() || result == factor;
}

/// Returns true if each matrix, and each of its rows, begins at a multiple of
/// kPieceBytes.
static bool isInPieces(const Matrix &matrix) {
  int64_t bytes = step::getElementBytes(matrix.element);
  return matrix.columnStride == 1 && matrix.begin * bytes % kPieceBytes == 0 &&
         (matrix.rows == 1 || matrix.rowStride * bytes % kPieceBytes == 0);
}

/// The library reads matrices stored by rows or by columns, whose leading
/// dimension is at least the length of a row or column. 8-bit floats must be
/// contiguous along the summed dimension, as older GPUs require.
bool CudaTarget::readsMatrix(const Matrix &factor) const {
  if (isFloat8(factor.element))
    return liesByRows(factor) && isInPieces(factor) &&
           factor.columns % kPieceBytes == 0;
  return liesByRows(factor) || liesByRows(transpose(factor));
}

bool CudaTarget::writesMatrix(Type factor, const Matrix &result) const {
  return !isFloat8(factor) ||
         (isInPieces(result) && result.columns % kPieceBytes == 0);
}

/// The epilogues are beta * C, BIAS, and RELU or GELU (the tanh approximation).
/// With 8-bit floats the library has no f32 bias and, before 12.4, no gelu. Its
/// documentation does not say that a residual can be combined with other
/// post-ops, so we do not rely on it.
bool CudaTarget::canFollow(Type factor, Type result,
                           ArrayRef<PostOpPattern> posts) const {
  auto take = [&](step::PostOp kind, PostOpPattern::Operand operand) {
    if (posts.empty() || posts.front().kind != kind ||
        posts.front().operand != operand)
      return false;
    posts = posts.drop_front();
    return true;
  };
  bool is8Bit = isFloat8(factor);
  if (take(step::PostOp::Add, PostOpPattern::Operand::Full) && is8Bit)
    return posts.empty();
  if (!is8Bit || !result.isF32())
    take(step::PostOp::Add, PostOpPattern::Operand::Row);
  if (!take(step::PostOp::Relu, PostOpPattern::Operand::None) && !is8Bit)
    take(step::PostOp::GeluTanh, PostOpPattern::Operand::None);
  return posts.empty();
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

/// Returns true if elements follow each other in row-major order; the offset of
/// the first one does not matter.
static bool isContiguous(MemRefType type) {
  step::Strides layout(type);
  int64_t next = 1;
  for (auto [size, stride] : llvm::zip_equal(llvm::reverse(type.getShape()),
                                             llvm::reverse(layout.strides))) {
    if (size != 1 && stride != next)
      return false;
    next *= size;
  }
  return true;
}

bool CudaTarget::copies(MemRefType from, MemRefType to) const {
  return isContiguous(from) && isContiguous(to);
}

bool CudaTarget::fills(MemRefType to, Attribute value) const {
  if (!isContiguous(to))
    return false;
  APInt bits = isa<FloatAttr>(value)
                   ? cast<FloatAttr>(value).getValue().bitcastToAPInt()
                   : cast<IntegerAttr>(value).getValue();
  return bits.getBitWidth() <= 32 || bits.isSplat(32);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

PostOpPattern::Operand tp::codegen::classifyPostOpOperand(MemRefType operand,
                                                          MemRefType result) {
  SmallVector<int64_t> strides = step::Strides(operand).strides;
  if (operand.getElementType() != result.getElementType())
    return PostOpPattern::Operand::Other;
  if (operand.getShape().back() != 1 && strides.back() != 1)
    return llvm::all_of(strides, [](int64_t stride) { return stride == 0; })
               ? PostOpPattern::Operand::Number
               : PostOpPattern::Operand::Other;
  return strides[step::kNumBatchDims] == 0 ? PostOpPattern::Operand::Row
                                           : PostOpPattern::Operand::Full;
}

Matrix tp::codegen::getMatrix(MemRefType type, int64_t by) {
  step::Strides layout(type);
  int64_t begin = std::gcd(layout.offset, by);
  for (auto [size, stride] :
       llvm::drop_end(llvm::zip(type.getShape(), layout.strides), 2))
    if (size != 1)
      begin = std::gcd(begin, stride);
  ArrayRef<int64_t> sizes = type.getShape().take_back(2),
                    strides = ArrayRef(layout.strides).take_back(2);
  return {
      type.getElementType(), sizes[0], sizes[1], strides[0], strides[1], begin};
}

static Matrix getMatrix(Value buffer) {
  auto view = buffer.getDefiningOp<step::ViewOp>();
  return tp::codegen::getMatrix(cast<MemRefType>(buffer.getType()),
                                view ? view.getBy().value_or(0) : 0);
}

static bool multiplies(const Target &target, step::MatmulOp matmul) {
  Matrix a = getMatrix(matmul.getA()), b = getMatrix(matmul.getB()),
         c = getMatrix(matmul.getC());
  bool fits =
      target.getFactorType(a.element, {c.rows, c.columns, a.columns}).type ==
          a.element &&
      target.writes(a.element, c.element) && target.readsMatrix(a) &&
      target.readsMatrix(transpose(b)) && target.writesMatrix(a.element, c);
  SmallVector<PostOpPattern> posts;
  auto operand = matmul.getPostOperands().begin();
  for (auto post : matmul.getPostOps().getAsRange<step::PostOpAttr>()) {
    PostOpPattern &made = posts.emplace_back(PostOpPattern{post.getValue()});
    if (made.kind > step::PostOp::Multiply)
      continue;
    Value other = *operand++;
    made.operand =
        classifyPostOpOperand(cast<MemRefType>(other.getType()),
                              cast<MemRefType>(matmul.getC().getType()));
    fits &= target.writesMatrix(a.element, getMatrix(other)) &&
            target.readsBeside(c, getMatrix(other));
  }
  return fits && target.canFollow(a.element, c.element, posts);
}

bool Target::executes(Operation *step) const {
  auto typeOf = [](Value value) { return cast<MemRefType>(value.getType()); };
  return llvm::TypeSwitch<Operation *, bool>(step)
      .Case([&](step::CopyOp copy) {
        return copies(typeOf(copy.getSource()), typeOf(copy.getDestination()));
      })
      .Case([&](step::FillOp fill) {
        return fills(typeOf(fill.getDestination()), fill.getValue());
      })
      .Case([&](step::MatmulOp matmul) { return multiplies(*this, matmul); })
      .Default(true);
}

FailureOr<const Target *> tp::codegen::getTarget(Operation *op, StringRef name,
                                                 bool fp8) {
  if (const Target *target = Target::find(name, fp8))
    return target;
  if (Target::find(name))
    return op->emitError() << prefix(ErrorCode::GpuOption)
                           << "fp8=true expects a GPU, got target="
                           << tprt::kCpuTarget
                           << ": write target=" << tprt::kCudaTarget
                           << ", or leave out fp8=true";
  return op->emitError() << prefix(ErrorCode::UnknownTarget)
                         << "unknown target '" << name
                         << "': write target=" << tprt::kCpuTarget
                         << " or target=" << tprt::kCudaTarget;
}
