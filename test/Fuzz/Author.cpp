// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Puts a random program together.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;
using namespace tp::spmd;

const Generators &tp::fuzz::getGenerators() {
  static const Generators generators = [] {
    Generators map;
    addElementwise(map);
    addEinsums(map);
    addMovements(map);
    addIndexing(map);
    addTransformerOps(map);
    addControlFlow(map);
    addAnnotations(map);
    addManualRegions(map);
    return map;
  }();
  return generators;
}

OwningOpRef<ModuleOp> tp::fuzz::writeProgram(MLIRContext &context,
                                             uint64_t seed) {
  return Author(context, seed).write();
}

Author::Author(MLIRContext &context, uint64_t seed)
    : random(scramble(seed)), builder(&context), loc(builder.getUnknownLoc()) {}

OwningOpRef<ModuleOp> Author::write() {
  module = ModuleOp::create(loc);
  drawMesh();
  for (int64_t i = random.percent(10) ? 1 : 0; i > 0; --i)
    writeFunction("helper", /*isPrivate=*/true);
  writeFunction("main", /*isPrivate=*/false);
  if (random.percent(12))
    writeFunction("other", /*isPrivate=*/false);
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// The mesh and shardings over it
//===----------------------------------------------------------------------===//

void Author::drawMesh() {
  constexpr int64_t kMaxDevices = 64;
  mesh.name = "mesh";
  int64_t devices = 1;
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (int64_t i = 0, e = random.pick({1, 1, 2, 2, 3}); i < e; ++i) {
    int64_t size = random.draw(1, 8);
    // Small meshes are as good, and faster.
    if (random.percent(50))
      size = random.draw(2, 4);
    // Users leave axes in their programs that have shrunk to one device.
    if (random.percent(10))
      size = 1;
    size = std::min(size, kMaxDevices / devices);
    devices *= size;
    mesh.axes.push_back({std::string(1, char('x' + i)), size, {}});
    names.push_back(builder.getStringAttr(mesh.axes.back().name));
    sizes.push_back(size);
  }
  if (random.percent(10))
    mesh.deviceIds = random.permutation(devices);
  builder.setInsertionPointToEnd(module->getBody());
  MeshOp::create(
      builder, loc, mesh.name,
      MeshAttr::get(builder.getContext(), names, sizes, mesh.deviceIds),
      ArrayAttr());
}

std::optional<AxisRef> Author::drawAxis(ArrayRef<AxisRef> used) {
  unsigned index = random.draw(0, mesh.axes.size() - 1);
  AxisRef axis = AxisRef::full(mesh, index);
  if (random.percent(20)) {
    SmallVector<AxisRef> parts;
    for (int64_t pre = 1; pre <= axis.size; ++pre)
      for (int64_t size = 2; axis.size % pre == 0 && pre * size <= axis.size;
           ++size)
        if (axis.size % (pre * size) == 0)
          parts.push_back({index, pre, size});
    if (!parts.empty())
      axis = random.pick(ArrayRef(parts));
  }
  // An axis of one device overlaps nothing, and yet stands once.
  if (overlap(used, axis) || llvm::is_contained(used, axis))
    return std::nullopt;
  return axis;
}

TensorSharding Author::sharding(int64_t rank) {
  while (true) {
    TensorSharding sharding = TensorSharding::replicate(rank);
    AxisList used;
    for (DimSharding &dim : sharding.dims) {
      while (random.percent(dim.axes.empty() ? 55 : 15)) {
        std::optional<AxisRef> axis = drawAxis(used);
        if (!axis)
          break;
        appendMerged(dim.axes, *axis);
        used.push_back(*axis);
      }
      dim.open = random.percent(35);
      if (!dim.axes.empty() && random.percent(15))
        dim.priority = random.draw(0, 2);
    }
    if (random.percent(8))
      if (std::optional<AxisRef> axis = drawAxis(used))
        sharding.replicated.push_back(*axis);
    // Parts of one axis may not go together.
    if (!tp::verify(sharding, mesh, rank))
      return sharding;
  }
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

int64_t Author::size() {
  return random.percent(2)    ? 0
         : random.percent(20) ? random.draw(10, 17)
                              : random.draw(1, 9);
}

Shape Author::shape(int64_t minRank, int64_t maxRank) {
  constexpr int64_t kMaxElements = 2048;
  Shape shape;
  int64_t elements = 1;
  for (int64_t i = random.draw(minRank, maxRank); i > 0; --i) {
    int64_t next = size();
    if (elements * next > kMaxElements)
      next = random.draw(1, 2);
    elements *= std::max<int64_t>(next, 1);
    shape.push_back(next);
  }
  return shape;
}

Type Author::element(Elements elements) {
  switch (elements) {
  case Elements::Float:
  case Elements::ExactFloat:
    if (random.percent(75))
      return builder.getF32Type();
    return random.pick<Type>({builder.getF64Type(), builder.getBF16Type(),
                              builder.getF16Type(),
                              Float8E4M3FNType::get(builder.getContext()),
                              Float8E5M2Type::get(builder.getContext())});
  case Elements::Index:
    if (random.percent(75))
      return builder.getI32Type();
    return random.pick<Type>({builder.getI64Type(), builder.getIntegerType(4),
                              builder.getIntegerType(8),
                              builder.getIntegerType(16),
                              builder.getIntegerType(8, /*isSigned=*/false),
                              builder.getIntegerType(32, /*isSigned=*/false)});
  case Elements::Number:
    return element(random.percent(75) ? Elements::Float : Elements::Index);
  case Elements::Bool:
    return builder.getI1Type();
  case Elements::Any:
    return element(
        random.pick({Elements::Float, Elements::Float, Elements::Float,
                     Elements::Index, Elements::Bool}));
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool Author::fits(Value value, Elements elements) const {
  Type type = elementOf(value);
  bool isBool = type.isInteger(1);
  switch (elements) {
  case Elements::Float:
    return isa<FloatType>(type);
  case Elements::ExactFloat:
    return isa<FloatType>(type) && !isInexact(value);
  case Elements::Index:
    return isa<IntegerType>(type) && !isBool;
  case Elements::Number:
    return !isBool;
  case Elements::Bool:
    return isBool;
  case Elements::Any:
    return true;
  }
  llvm_unreachable("covered switch");
}

Value Author::addArgument(RankedTensorType type) {
  constexpr unsigned kMaxArguments = 8;
  if (isolated || function.getNumArguments() >= kMaxArguments)
    return {};
  unsigned index = function.getNumArguments();
  if (failed(function.insertArgument(index, type, {}, loc)))
    return {};
  Value argument = function.getArgument(index);
  scopes.front().push_back(argument);
  return argument;
}

Value Author::constant(RankedTensorType type) {
  SmallVector<Attribute> elements;
  auto draw = [&]() -> Attribute {
    int64_t value = random.draw(0, 4);
    if (auto integer = dyn_cast<IntegerType>(type.getElementType()))
      return builder.getIntegerAttr(integer, integer.getWidth() == 1 ? value % 2
                                                                     : value);
    return builder.getFloatAttr(type.getElementType(), double(value - 2));
  };
  int64_t count = random.percent(50) ? 1 : type.getNumElements();
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(draw());
  auto value = DenseElementsAttr::get(
      type, type.getNumElements() == 0 ? ArrayRef<Attribute>()
                                       : ArrayRef<Attribute>(elements));
  auto op = ConstantOp::create(builder, loc, type, value);
  add(op);
  return op;
}

Value Author::splat(RankedTensorType type, int64_t value) {
  Attribute element =
      isa<IntegerType>(type.getElementType())
          ? Attribute(builder.getIntegerAttr(type.getElementType(), value))
          : builder.getFloatAttr(type.getElementType(), double(value));
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, element));
}

Value Author::pick(Elements elements, int64_t minRank) {
  // Later values are likelier: chains rather than stars.
  SmallVector<Value> candidates;
  for (const std::vector<Value> &scope : scopes)
    for (Value value : scope)
      if (fits(value, elements) && typeOf(value).getRank() >= minRank)
        candidates.push_back(value);
  if (!candidates.empty() && !random.percent(15)) {
    size_t last = random.draw(0, candidates.size() - 1);
    return candidates[std::max<size_t>(last,
                                       random.draw(0, candidates.size() - 1))];
  }
  RankedTensorType wanted =
      type(shape(minRank, std::max<int64_t>(minRank, 3)), element(elements));
  if (Value argument = addArgument(wanted))
    return argument;
  return candidates.empty() ? constant(wanted) : candidates.back();
}

Value Author::get(RankedTensorType type, bool exact) {
  SmallVector<Value> candidates;
  for (const std::vector<Value> &scope : scopes)
    for (Value value : scope)
      if (value.getType() == type && !(exact && isInexact(value)))
        candidates.push_back(value);
  if (!candidates.empty() && !random.percent(20))
    return random.pick(ArrayRef(candidates));
  if (!random.percent(15))
    if (Value argument = addArgument(type))
      return argument;
  return candidates.empty() ? constant(type) : candidates.back();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Operation *Author::create(StringRef name, ValueRange operands, Type result) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(result);
  return builder.create(state);
}

void Author::add(Operation *op, bool leavesIntegers) {
  bool makesInexact =
      leavesIntegers || llvm::any_of(op->getOperands(), [&](Value operand) {
        return isInexact(operand);
      });
  for (Value result : op->getResults()) {
    if (makesInexact)
      markInexact(result);
    offer(result);
  }
  // Not in manual regions: their values are local.
  if (!isolated && op->getNumResults() > 0 && random.percent(7) &&
      isa<ShardingRuleOpInterface>(op) && !isa<ConstraintOp>(op)) {
    SmallVector<Attribute> shardings;
    for (Value result : op->getResults())
      shardings.push_back(toAttr(sharding(typeOf(result).getRank())));
    op->setAttr(kShardingsAttr, builder.getArrayAttr(shardings));
  }
}

void Author::inScope(Block *block, function_ref<void()> fill) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(block);
  scopes.emplace_back(block->args_begin(), block->args_end());
  fill();
  scopes.pop_back();
}

void Author::inIsolation(Block *block, function_ref<void()> fill) {
  std::vector<std::vector<Value>> outside;
  std::swap(outside, scopes);
  isolated = true;
  inScope(block, fill);
  isolated = false;
  std::swap(outside, scopes);
}

void Author::writeOp() {
  // Any generator with equal chance, so that every op is seen.
  const Generators &generators = getGenerators();
  std::next(generators.begin(), random.draw(0, generators.size() - 1))
      ->second(*this);
}

void Author::writeOps(int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    writeOp();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Author::writeCall() {
  func::FuncOp callee = random.pick(ArrayRef(helpers));
  SmallVector<Value> operands;
  for (Type type : callee.getArgumentTypes())
    operands.push_back(get(cast<RankedTensorType>(type), /*exact=*/true));
  auto call = func::CallOp::create(builder, loc, callee, operands);
  for (auto [result, returned] : llvm::zip_equal(
           call.getResults(),
           callee.getBody().front().getTerminator()->getOperands())) {
    if (isInexact(returned))
      markInexact(result);
    offer(result);
  }
}

void Author::writeFunction(StringRef name, bool isPrivate) {
  builder.setInsertionPointToEnd(module->getBody());
  function =
      func::FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}));
  if (isPrivate)
    function.setPrivate();
  Block *entry = function.addEntryBlock();
  scopes.clear();
  inScope(entry, [&] {
    int64_t count = random.draw(1, random.percent(30) ? 12 : 5);
    for (int64_t i = 0; i < count; ++i) {
      if (!helpers.empty() && random.percent(25))
        writeCall();
      writeOp();
    }
    // What nobody uses is returned, and perhaps something else.
    SmallVector<Value> results;
    for (Value value : scopes.back())
      if (value.use_empty() && !isa<BlockArgument>(value))
        results.push_back(value);
    if (results.empty() || random.percent(20))
      results.push_back(pick(Elements::Any));
    func::ReturnOp::create(builder, loc, results);
    function.setType(builder.getFunctionType(entry->getArgumentTypes(),
                                             ValueRange(results).getTypes()));
  });
  if (isPrivate)
    helpers.push_back(function);
  else
    annotate(function);
}

void Author::annotate(func::FuncOp function) {
  llvm::DenseSet<int64_t> annotated;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    ShardingAttr attribute;
    if (random.percent(55))
      attribute = toAttr(sharding(type.getRank()));
    // A name stands for one tensor with one sharding, in all entries.
    if (random.percent(60)) {
      std::string name = "a" + std::to_string(i);
      llvm::raw_string_ostream(name) << '.' << type;
      attribute = shardingOfName.try_emplace(name, attribute).first->second;
      function.setArgAttr(i, "tp.name", builder.getStringAttr(name));
    }
    if (attribute)
      function.setArgAttr(i, kShardingAttr, attribute);
    // So does a result that overwrites an argument.
    for (unsigned r = 0; r < function.getNumResults(); ++r)
      if (function.getResultTypes()[r] == type && random.percent(25) &&
          annotated.insert(r).second) {
        function.setArgAttr(i, "tp.donated", builder.getI64IntegerAttr(r));
        break;
      }
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    if (random.percent(30) && !annotated.contains(i))
      function.setResultAttr(i, kShardingAttr,
                             toAttr(sharding(type.getRank())));
  }
}
