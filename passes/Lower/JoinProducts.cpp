// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "JoinProducts.h"

#include "Products.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

/// A contraction of an activation [.., k..] with a weight, which is [k.., n..]
/// or [n.., k..], into [.., n..], optionally followed by adding a bias [n..].
struct Product {
  EinsumOp op;
  BlockArgument weight, bias;  ///< The bias is null if there is none.
  AddOp sum;                   ///< Adds the bias, if there is one.
  SmallVector<int64_t> summed; ///< Activation dims, in the weight's order.
  bool isSummedFirst;          ///< True if the weight is [k.., n..].
  int64_t columns;             ///< The number of elements of n..

  Value getResult() { return bias ? sum.getResult() : op.getResult(); }
  /// Products that may be joined have the same key.
  auto getKey() {
    return std::make_tuple(op.getLhs().getAsOpaquePointer(),
                           typeOf(op.getRhs()).getElementType(),
                           op.getType().getElementType(), isSummedFirst,
                           bool(bias), ArrayRef<int64_t>(summed));
  }
};

/// Products of one function that may be joined.
struct Group {
  SmallVector<Product> products;
  SmallVector<StringAttr> names; ///< Of weights, then of biases.

  int64_t getRows() {
    Product &first = products.front();
    return first.isSummedFirst
               ? typeOf(first.weight).getNumElements() / first.columns
               : 1;
  }
};

} // namespace

/// Returns `value` if it is a parameter that has one user and is never
/// overwritten; otherwise null.
static BlockArgument getWeight(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !argument.hasOneUse())
    return {};
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  return function && getRole(function, index) == Role::Parameter &&
                 !function.getArgAttr(index, kDonatedAttr)
             ? argument
             : BlockArgument();
}

/// The bias that `sum` adds along the last `rank` dimensions.
static BlockArgument getBias(AddOp sum, Value value, int64_t rank) {
  auto broadcast = getOther(sum, value).getDefiningOp<BroadcastOp>();
  if (!broadcast || !broadcast->hasOneUse())
    return {};
  int64_t first = sum.getType().getRank() - rank;
  return llvm::equal(broadcast.getDims(), llvm::seq(first, first + rank))
             ? getWeight(broadcast.getInput())
             : BlockArgument();
}

/// Returns true if every user can read a slice of a wider result. The caller
/// and collectives need a dense result.
static bool isReadInside(Value result) {
  return llvm::none_of(result.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() ||
           isa<spmd::CollectiveOpInterface>(user);
  });
}

static std::optional<Product> findProduct(EinsumOp op, const Target &target) {
  Product product;
  product.op = op;
  product.weight = getWeight(op.getRhs());
  if (!product.weight || product.weight.getOwner() != op->getBlock() ||
      !isMatmul(op, target))
    return std::nullopt;
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  std::string kept, summed, columns;
  product.columns = 1;
  for (char letter : terms.lhs)
    if (terms.result.contains(letter))
      kept += letter;
  for (auto [letter, size] :
       llvm::zip_equal(terms.rhs, typeOf(op.getRhs()).getShape())) {
    size_t place = terms.lhs.find(letter);
    if (place == StringRef::npos) {
      columns += letter;
      product.columns *= size;
    } else {
      summed += letter;
      product.summed.push_back(place);
    }
  }
  product.isSummedFirst = terms.rhs == summed + columns;
  if (columns.empty() || terms.result != kept + columns ||
      (!product.isSummedFirst && terms.rhs != columns + summed))
    return std::nullopt;
  SmallVector<Operation *> epilogue = getEpilogue(op, target);
  if (!epilogue.empty()) {
    product.sum = dyn_cast<AddOp>(epilogue.front());
    if (epilogue.size() > 1 || !product.sum)
      return std::nullopt;
    product.bias = getBias(product.sum, op.getResult(), columns.size());
    if (!product.bias)
      return std::nullopt;
  }
  if (!isReadInside(product.getResult()))
    return std::nullopt;
  return product;
}

/// For one function: maps the name of each input to the group of products that
/// use this input as a weight or bias; null if there is no such group.
using GroupsByName = llvm::DenseMap<StringAttr, Group *>;

static SmallVector<std::unique_ptr<Group>> findGroups(func::FuncOp function,
                                                      const Target &target) {
  SmallVector<std::unique_ptr<Group>> groups;
  for (auto op : function.getBody().front().getOps<EinsumOp>()) {
    std::optional<Product> product = findProduct(op, target);
    if (!product)
      continue;
    auto *it = llvm::find_if(groups, [&](std::unique_ptr<Group> &group) {
      return group->products.front().getKey() == product->getKey();
    });
    if (it == groups.end()) {
      groups.push_back(std::make_unique<Group>());
      it = std::prev(groups.end());
    }
    (*it)->products.push_back(*product);
  }
  llvm::erase_if(groups, [](std::unique_ptr<Group> &group) {
    return group->products.size() < 2;
  });
  for (std::unique_ptr<Group> &group : groups)
    for (BlockArgument Product::*member : {&Product::weight, &Product::bias})
      for (Product &product : group->products)
        if (BlockArgument input = product.*member)
          group->names.push_back(getInputName(function, input.getArgNumber()));
  return groups;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Concatenates `inputs`, reshaped to `shapes`, along `dim` without moving
/// data.
static Value bundle(OpBuilder &builder, Location loc, ValueRange inputs,
                    ArrayRef<SmallVector<int64_t>> shapes, int64_t dim,
                    int64_t rows, Bundles &bundles) {
  SmallVector<Value> parts;
  SmallVector<int64_t> whole(shapes.front());
  whole[dim] = 0;
  for (auto [input, shape] : llvm::zip_equal(inputs, shapes)) {
    whole[dim] += shape[dim];
    auto type = RankedTensorType::get(shape, typeOf(input).getElementType());
    parts.push_back(type == input.getType()
                        ? input
                        : ReshapeOp::create(builder, loc, type, input));
  }
  auto type =
      RankedTensorType::get(whole, typeOf(inputs.front()).getElementType());
  auto concat = ConcatOp::create(builder, loc, type, parts, dim);
  bundles[concat] = rows;
  return concat;
}

static void join(Group &group, Bundles &bundles) {
  Product &first = group.products.front();
  OpBuilder builder(first.op);
  Location loc = first.op.getLoc();
  EinsumTerms terms = EinsumTerms::split(first.op.getEquation());
  std::string kept, summed;
  SmallVector<int64_t> summedSizes, shape;
  RankedTensorType lhs = typeOf(first.op.getLhs());
  for (auto [letter, size] : llvm::zip_equal(terms.lhs, lhs.getShape()))
    if (terms.result.contains(letter)) {
      kept += letter;
      shape.push_back(size);
    }
  for (int64_t dim : first.summed) {
    summed += terms.lhs[dim];
    summedSizes.push_back(lhs.getDimSize(dim));
  }
  char column = 'a';
  while (terms.lhs.contains(column))
    ++column;
  SmallVector<Value> weights, biases;
  SmallVector<SmallVector<int64_t>> weightShapes, biasShapes;
  int64_t columns = 0;
  for (Product &product : group.products) {
    columns += product.columns;
    weights.push_back(product.weight);
    SmallVector<int64_t> &sizes = weightShapes.emplace_back(summedSizes);
    sizes.insert(product.isSummedFirst ? sizes.end() : sizes.begin(),
                 product.columns);
    if (!product.bias)
      continue;
    biases.push_back(product.bias);
    biasShapes.push_back({product.columns});
  }
  int64_t dim = first.isSummedFirst ? summed.size() : 0;
  Value weight = bundle(builder, loc, weights, weightShapes, dim,
                        group.getRows(), bundles);
  std::string equation = terms.lhs.str() + ",";
  equation += first.isSummedFirst ? summed + column : column + summed;
  equation += "->" + kept + column;
  shape.push_back(columns);
  auto type = RankedTensorType::get(shape, first.op.getType().getElementType());
  Value whole =
      EinsumOp::create(builder, loc, type, equation, first.op.getLhs(), weight);
  if (!biases.empty()) {
    Value bias = bundle(builder, loc, biases, biasShapes, /*dim=*/0, /*rows=*/1,
                        bundles);
    auto spread = BroadcastOp::create(builder, loc, type, bias,
                                      ArrayRef<int64_t>(shape.size() - 1));
    whole = AddOp::create(builder, loc, type, whole, spread);
  }
  builder.setInsertionPointAfter(whole.getDefiningOp());
  SmallVector<int64_t> starts(shape.size(), 0), ones(shape.size(), 1);
  for (Product &product : group.products) {
    shape.back() = product.columns;
    Value result = product.getResult();
    Value part = SliceOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        whole, starts, ones);
    starts.back() += product.columns;
    if (part.getType() != result.getType())
      part = ReshapeOp::create(builder, loc, result.getType(), part);
    result.replaceAllUsesWith(part);
  }
  for (Product &product : group.products) {
    if (product.bias) {
      Operation *broadcast =
          getOther(product.sum, product.op.getResult()).getDefiningOp();
      product.sum.erase();
      broadcast->erase();
    }
    product.op.erase();
  }
}

Bundles tp::joinProducts(ArrayRef<func::FuncOp> functions,
                         const Target &target) {
  SmallVector<SmallVector<std::unique_ptr<Group>>> groups;
  SmallVector<GroupsByName> byName;
  for (func::FuncOp function : functions) {
    GroupsByName &names = byName.emplace_back();
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      names[getInputName(function, i)] = nullptr;
    for (std::unique_ptr<Group> &group :
         groups.emplace_back(findGroups(function, target)))
      for (StringAttr name : group->names)
        names[name] = group.get();
  }
  // Returns true if every entry that takes one of the weights has this group.
  auto isEverywhere = [&](Group &group) {
    return llvm::all_of(byName, [&](GroupsByName &names) {
      return llvm::all_of(group.names, [&](StringAttr name) {
        auto it = names.find(name);
        return it == names.end() ||
               (it->second && it->second->names == group.names &&
                it->second->getRows() == group.getRows());
      });
    });
  };
  SmallVector<Group *> joined;
  for (auto &list : groups)
    for (std::unique_ptr<Group> &group : list)
      if (isEverywhere(*group))
        joined.push_back(group.get());
  Bundles bundles;
  for (Group *group : joined)
    join(*group, bundles);
  return bundles;
}
