// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/Target.h"

#include "tpopt/Codegen/TargetCode.h"
#include "tpopt/Support/ErrorCodes.h"

#include "runtime/Core/ArtifactFormat.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

namespace {

class CpuTarget final : public Target {
public:
  StringRef getName() const override { return tprt::kCpuTarget; }
  Type getFactorType(Type element) const override {
    return element.isBF16() ? element : Float32Type::get(element.getContext());
  }
  bool readsMatrix(ArrayRef<int64_t> sizes,
                   ArrayRef<int64_t> strides) const override {
    return llvm::is_contained(sizes, 1) || llvm::is_contained(strides, 1);
  }
  bool canFollow(ArrayRef<Post>) const override { return true; }
  bool hasFixedEpilogue() const override { return false; }
  bool copies(MemRefType, MemRefType) const override { return true; }
  bool fills(MemRefType, Attribute) const override { return true; }
  bool hasAttention() const override { return false; }
  bool servesByKernels() const override { return false; }
  FailureOr<std::unique_ptr<TargetCode>>
  createCode(Operation *op, const CodeOptions &) const override {
    return createCpuCode(op->getContext());
  }
};

class CudaTarget final : public Target {
public:
  StringRef getName() const override { return tprt::kCudaTarget; }
  /// An 8-bit float is a bf16, too.
  Type getFactorType(Type element) const override {
    if (element.getIntOrFloatBitWidth() == 8)
      return BFloat16Type::get(element.getContext());
    if (element.isBF16() || element.isF16())
      return element;
    return Float32Type::get(element.getContext());
  }
  bool readsMatrix(ArrayRef<int64_t> sizes,
                   ArrayRef<int64_t> strides) const override;
  bool canFollow(ArrayRef<Post> posts) const override;
  bool hasFixedEpilogue() const override { return true; }
  bool copies(MemRefType from, MemRefType to) const override;
  bool fills(MemRefType to, Attribute value) const override;
  bool hasAttention() const override { return true; }
  bool servesByKernels() const override { return true; }
  FailureOr<std::unique_ptr<TargetCode>>
  createCode(Operation *op, const CodeOptions &options) const override {
    return createCudaCode(op, options);
  }
};

} // namespace

const Target *Target::find(StringRef name) {
  static const CpuTarget cpu;
  static const CudaTarget cuda;
  for (const Target *target :
       {static_cast<const Target *>(&cpu), static_cast<const Target *>(&cuda)})
    if (target->getName() == name)
      return target;
  return nullptr;
}

/// Stored by rows or by columns, with a leading dimension that holds one.
bool CudaTarget::readsMatrix(ArrayRef<int64_t> sizes,
                             ArrayRef<int64_t> strides) const {
  auto isStoredBy = [&](unsigned outer, unsigned inner) {
    return (sizes[inner] == 1 || strides[inner] == 1) &&
           (sizes[outer] == 1 || strides[outer] >= sizes[inner]);
  };
  return isStoredBy(0, 1) || isStoredBy(1, 0);
}

/// beta * C, BIAS, and RELU or GELU, which is the one by tanh.
bool CudaTarget::canFollow(ArrayRef<Post> posts) const {
  auto take = [&](step::PostOp kind, Post::Operand operand) {
    if (!posts.empty() && posts.front().kind == kind &&
        posts.front().operand == operand)
      posts = posts.drop_front();
  };
  take(step::PostOp::Add, Post::Operand::Full);
  take(step::PostOp::Add, Post::Operand::Row);
  size_t before = posts.size();
  take(step::PostOp::Relu, Post::Operand::None);
  if (posts.size() == before)
    take(step::PostOp::GeluTanh, Post::Operand::None);
  return posts.empty();
}

/// Whether elements follow each other in row-major order, wherever they begin.
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

Post::Operand tp::classifyPostOperand(MemRefType operand, MemRefType result) {
  SmallVector<int64_t> strides = step::Strides(operand).strides;
  if (operand.getElementType() != result.getElementType() ||
      (operand.getShape().back() != 1 && strides.back() != 1))
    return Post::Operand::Other;
  return strides[step::kNumBatchDims] == 0 ? Post::Operand::Row
                                           : Post::Operand::Full;
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
      .Case([&](step::MatmulOp matmul) {
        Type element = typeOf(matmul.getA()).getElementType();
        SmallVector<Post> posts;
        auto operand = matmul.getPostOperands().begin();
        for (auto post : matmul.getPostOps().getAsRange<step::PostOpAttr>()) {
          Post &made = posts.emplace_back(Post{post.getValue()});
          if (made.kind <= step::PostOp::Multiply)
            made.operand =
                classifyPostOperand(typeOf(*operand++), typeOf(matmul.getC()));
        }
        auto isRead = [&](Value factor) {
          return readsMatrix(
              typeOf(factor).getShape().take_back(2),
              ArrayRef(step::Strides(typeOf(factor)).strides).take_back(2));
        };
        return getFactorType(element) == element && canFollow(posts) &&
               isRead(matmul.getA()) && isRead(matmul.getB());
      })
      .Default(true);
}

FailureOr<const Target *> tp::getTarget(Operation *op, StringRef name) {
  if (const Target *target = Target::find(name))
    return target;
  return op->emitError() << prefix(ErrorCode::UnknownTarget)
                         << "there is no target '" << name
                         << "': write target=" << tprt::kCpuTarget
                         << " or target=" << tprt::kCudaTarget;
}
