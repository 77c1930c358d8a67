// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds entries, weights and scopes, and provides short forms of the ops.

#include "ModelBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::hf;

//===----------------------------------------------------------------------===//
// Stored
//===----------------------------------------------------------------------===//

/// Returns 0, 1, .. n - 1: all dimensions in their original order.
static SmallVector<int64_t> getDims(size_t n) {
  return llvm::to_vector(llvm::seq<int64_t>(0, int64_t(n)));
}

Stored::Stored(ArrayRef<int64_t> shape)
    : stored(shape), start(shape.size(), 0), size(shape), view(shape),
      permutation(getDims(shape.size())) {}

Stored Stored::linear(ArrayRef<int64_t> ins, ArrayRef<int64_t> outs) {
  SmallVector<int64_t> view(outs), order = getDims(ins.size() + outs.size());
  llvm::append_range(view, ins);
  std::rotate(order.begin(), order.begin() + ptrdiff_t(outs.size()),
              order.end());
  return Stored({ShapedType::getNumElements(outs),
                 ShapedType::getNumElements(ins)})
      .read(view)
      .order(order);
}

Stored Stored::part(unsigned dim, int64_t begin, int64_t length,
                    StringRef label) const {
  Stored result = *this;
  result.start[dim] = begin;
  result.size[dim] = length;
  result.label = label;
  return result.read(result.size);
}

Stored Stored::read(ArrayRef<int64_t> sizes) const {
  Stored result = *this;
  result.view = SmallVector<int64_t>(sizes);
  result.permutation = getDims(sizes.size());
  return result;
}

Stored Stored::order(ArrayRef<int64_t> dims) const {
  Stored result = *this;
  result.permutation = SmallVector<int64_t>(dims);
  return result;
}

SmallVector<int64_t> Stored::getShape() const {
  return llvm::map_to_vector(permutation,
                             [&](int64_t dim) { return view[dim]; });
}

SourceAttr Stored::toAttr(MLIRContext *context, StringRef tensor) const {
  return SourceAttr::get(context, StringAttr::get(context, tensor), stored,
                         start, size, view, permutation);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

ModelBuilder::ModelBuilder(ModuleOp module, Type element,
                           Checkpoint *checkpoint, StringRef prefix,
                           bool isStored)
    : builder(module.getContext()), module(module), element(element),
      checkpoint(checkpoint), prefix(prefix), isStored(isStored) {}

ModelBuilder::Scope::Scope(ModelBuilder &builder, const llvm::Twine &name)
    : builder(builder), length(builder.path.size()) {
  if (length)
    builder.path += '.';
  builder.path += name.str();
}

void ModelBuilder::beginEntry(StringRef name) {
  builder.setInsertionPointToEnd(module.getBody());
  entry =
      func::FuncOp::create(builder, NameLoc::get(builder.getStringAttr(name)),
                           name, builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(entry.addEntryBlock());
  arguments.clear();
}

Value ModelBuilder::addArgument(StringRef name, RankedTensorType type) {
  StringAttr attribute = builder.getStringAttr(name);
  arguments.emplace_back().set(kNameAttr, attribute);
  return entry.front().addArgument(type, NameLoc::get(attribute));
}

Value ModelBuilder::input(StringRef name, RankedTensorType type) {
  return addArgument(name, type);
}

Value ModelBuilder::cache(StringRef name, RankedTensorType type,
                          unsigned result) {
  Value argument = addArgument(name, type);
  arguments.back().set(kRoleAttr,
                       builder.getStringAttr(stringifyRole(Role::KVCache)));
  arguments.back().set(kDonatedAttr, builder.getI64IntegerAttr(result));
  return argument;
}

Value ModelBuilder::weight(StringRef leaf, const Stored &stored) {
  std::string name = path + "." + leaf.str();
  bool isHead = !head.empty() && StringRef(path).starts_with(head);
  std::string tensorName = isStored && !isHead ? prefix + name : name;
  if (checkpoint) {
    if (!isHead)
      tensorName = checkpoint->resolve(tensorName, prefix);
    if (mlir::failed(checkpoint->take(builder.getContext(), tensorName,
                                      stored.getStoredShape())))
      hasFailed = true;
  }
  if (!stored.getLabel().empty())
    name += "#" + stored.getLabel().str();
  Value argument = addArgument(name, tensor(stored.getShape()));
  arguments.back().set(kSourceAttr,
                       stored.toAttr(builder.getContext(), tensorName));
  return argument;
}

void ModelBuilder::endEntry(ArrayRef<std::pair<std::string, Value>> results) {
  SmallVector<Value> values = llvm::map_to_vector(
      results, [](const auto &result) { return result.second; });
  func::ReturnOp::create(builder, entry.getLoc(), values);
  entry.setFunctionType(builder.getFunctionType(
      entry.front().getArgumentTypes(), TypeRange(ValueRange(values))));
  entry.setAllArgAttrs(
      llvm::map_to_vector(arguments, [&](NamedAttrList &attributes) {
        return attributes.getDictionary(builder.getContext());
      }));
  entry.setAllResultAttrs(llvm::map_to_vector(results, [&](const auto &result) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(kNameAttr, builder.getStringAttr(result.first)));
  }));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> hf::getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

Location ModelBuilder::getLoc() {
  if (path.empty())
    return entry.getLoc();
  // Locations of ops start with `layers.0`, without the base model's name.
  StringRef name = path;
  name.consume_front(prefix);
  return NameLoc::get(builder.getStringAttr(name));
}

Value ModelBuilder::einsum(StringRef equation, Value a, Value b, Type element) {
  SmallVector<int64_t> shape =
      EinsumTerms::split(equation).inferShape(getShape(a), getShape(b));
  return op<EinsumOp>(tensor(shape, element ? element : getElement(a)),
                      equation, a, b);
}

Value ModelBuilder::add(Value a, Value b) {
  return op<AddOp>(a.getType(), a, b);
}

Value ModelBuilder::addBias(Value x, Value bias) {
  int64_t rank = int64_t(getShape(x).size());
  int64_t first = rank - int64_t(getShape(bias).size());
  return add(
      x, broadcast(bias, getShape(x), llvm::to_vector(llvm::seq(first, rank))));
}

Value ModelBuilder::broadcast(Value x, ArrayRef<int64_t> shape,
                              ArrayRef<int64_t> dims) {
  return op<BroadcastOp>(tensor(shape, getElement(x)), x, dims);
}

Value ModelBuilder::convert(Value x, Type element) {
  return op<ConvertOp>(tensor(getShape(x), element), x);
}

Value ModelBuilder::integer(int32_t value, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensor(shape, i32());
  return op<ConstantOp>(type, DenseElementsAttr::get(type, value));
}

Value ModelBuilder::embedding(Value table, Value ids,
                              std::optional<int64_t> padding) {
  SmallVector<int64_t> shape(getShape(ids)), dims;
  for (int64_t dim : llvm::seq<int64_t>(shape.size()))
    dims.push_back(dim);
  Value isPadding;
  if (padding)
    isPadding = op<CompareOp>(tensor(shape, i1()), ComparePredicate::EQ, ids,
                              integer(int32_t(*padding), getShape(ids)));
  shape.push_back(getShape(table)[1]);
  Value x = op<EmbeddingOp>(tensor(shape, getElement(table)), table, ids);
  if (!padding)
    return x;
  return op<SelectOp>(x.getType(), broadcast(isPadding, shape, dims),
                      op<StopGradientOp>(x.getType(), x), x);
}

Value ModelBuilder::rmsNorm(Value x, double epsilon) {
  Value scale = weight("weight", Stored(getShape(x).take_back()));
  return op<RMSNormOp>(x.getType(), x, scale, builder.getF64FloatAttr(epsilon));
}

Value ModelBuilder::layerNorm(Value x, double epsilon) {
  Value scale = weight("weight", Stored(getShape(x).take_back()));
  Value bias = weight("bias", Stored(getShape(x).take_back()));
  return op<LayerNormOp>(x.getType(), x, scale, bias,
                         builder.getF64FloatAttr(epsilon));
}

Value ModelBuilder::activation(Activation kind, Value x) {
  switch (kind) {
  case Activation::Silu:
    return op<SiluOp>(x.getType(), x);
  case Activation::Relu:
    return op<ReluOp>(x.getType(), x);
  case Activation::Gelu:
  case Activation::GeluTanh:
    return op<GeluOp>(x.getType(), x, kind == Activation::GeluTanh);
  }
  llvm_unreachable("every activation is handled");
}

Value ModelBuilder::causalAttention(Value query, Value key, Value value,
                                    Value offset, double scale,
                                    std::optional<int64_t> window) {
  return op<AttentionOp>(query.getType(), query, key, value, offset,
                         /*lengths=*/Value(), /*mask=*/Value(),
                         builder.getF64FloatAttr(scale), builder.getUnitAttr(),
                         window ? builder.getI64IntegerAttr(*window)
                                : IntegerAttr());
}

Value ModelBuilder::maskedAttention(Value query, Value key, Value value,
                                    Value mask, double scale) {
  return op<AttentionOp>(query.getType(), query, key, value,
                         /*offset=*/Value(), /*lengths=*/Value(), mask,
                         builder.getF64FloatAttr(scale), /*causal=*/UnitAttr(),
                         /*window=*/IntegerAttr());
}
