// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions, blocks and control flow, on one device or on all in lockstep. If
// devices take different paths, all devices run every path, and those that have
// not taken a path keep their old values. Ops that involve several devices are
// in Devices.cpp.

#include "LockstepMachine.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

//===----------------------------------------------------------------------===//
// Blocks and ops
//===----------------------------------------------------------------------===//

LogicalResult tp::interp::checkSize(Operation *op, Type type, int64_t devices,
                                    const InterpreterOptions &options) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isSupportedTensor(tensor))
    return op->emitError()
           << prefix(ErrorCode::NotEvaluable) << type
           << " is not supported: expects a tensor of floats or integers";
  if (getVolume(tensor.getShape()) * devices > double(options.maxElements))
    return op->emitError() << prefix(ErrorCode::TooLarge) << tensor << " on "
                           << devices
                           << " devices exceeds the interpreter's limit of "
                           << options.maxElements << " elements";
  return success();
}

LockstepMachine::Results
LockstepMachine::runBlock(mlir::Block &block, ArrayRef<DeviceValues> arguments,
                          Frame &frame) {
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    frame.values[argument] = value;
  for (Operation &op : block.without_terminator())
    if (failed(execute(&op, frame)))
      return failure();
  Operation *terminator = block.getTerminator();
  if (!terminator->hasTrait<OpTrait::ReturnLike>())
    return terminator->emitError()
           << prefix(ErrorCode::NotEvaluable) << "'" << terminator->getName()
           << "' cannot end a block here: expects a return or a yield";
  return frame.lookup(terminator->getOperands());
}

LogicalResult LockstepMachine::execute(Operation *op, Frame &frame) {
  for (Type type : op->getResultTypes())
    if (failed(checkSize(op, type, frame.world.devices, options)))
      return failure();
  if (frame.observed && options.operandObserver)
    options.operandObserver(op, frame.lookup(op->getOperands()));
  FailureOr<SmallVector<DeviceValues>> results = dispatch(op, frame);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    frame.values[result] = std::move(value);
  // Devices that took a different path have no results to observe.
  if (frame.observed && options.observer && frame.world.present.empty())
    options.observer(op, frame.lookup(op->getResults()));
  return success();
}

LockstepMachine::Results LockstepMachine::dispatch(Operation *op,
                                                   Frame &frame) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return runCall(call, frame);
  if (auto loop = dyn_cast<ForOp>(op))
    return runFor(loop, frame);
  if (auto loop = dyn_cast<WhileOp>(op))
    return runWhile(loop, frame);
  if (auto branch = dyn_cast<CaseOp>(op))
    return runCase(branch, frame);
  if (isa_and_present<spmd::SPMDDialect>(op->getDialect()))
    return runDeviceOp(op, frame);
  if (isa<EvaluateOpInterface>(op))
    return evaluate(op, frame);
  if (isa<DecomposeOpInterface>(op))
    return evaluateDecomposed(op, frame);
  return op->emitError() << prefix(ErrorCode::NotEvaluable) << "'"
                         << op->getName()
                         << "' cannot be interpreted: it implements neither "
                            "EvaluateOpInterface nor DecomposeOpInterface";
}

LogicalResult LockstepMachine::checkDevices(Operation *op, int64_t devices) {
  if (devices > options.maxDevices)
    return op->emitError() << prefix(ErrorCode::TooLarge) << devices
                           << " devices exceed the interpreter's limit of "
                           << options.maxDevices;
  return success();
}

LockstepMachine::Results LockstepMachine::evaluate(Operation *op,
                                                   Frame &frame) {
  auto evaluated = cast<EvaluateOpInterface>(op);
  SmallVector<DeviceValues> operands = frame.lookup(op->getOperands());
  SmallVector<DeviceValues> results(op->getNumResults());
  // Devices with identical operands share the result.
  std::map<SmallVector<const TensorData *>, SmallVector<TensorValue>> known;
  for (int64_t device = 0; device < frame.world.devices; ++device) {
    SmallVector<TensorValue> inputs;
    SmallVector<const TensorData *> key;
    for (const DeviceValues &operand : operands) {
      inputs.push_back(operand[device]);
      key.push_back(operand[device].get());
    }
    auto [entry, isNew] = known.try_emplace(key);
    if (isNew) {
      FailureOr<SmallVector<TensorValue>> outputs =
          evaluated.evaluate(evaluator, inputs);
      if (failed(outputs))
        return failure();
      entry->second = std::move(*outputs);
    }
    for (auto [result, output] : llvm::zip_equal(results, entry->second)) {
      if (!output)
        return op->emitError()
               << prefix(ErrorCode::NotEvaluable)
               << "the elements of this constant are not stored in the "
                  "program";
      result.push_back(output);
    }
  }
  return results;
}

LockstepMachine::Results LockstepMachine::evaluateDecomposed(Operation *op,
                                                             Frame &frame) {
  std::unique_ptr<Decomposition> &body = decompositions[op];
  if (!body) {
    // Copy the op, with block arguments as operands, so that the values of the
    // program get no new uses.
    body = std::make_unique<Decomposition>();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, body->block.addArgument(operand.getType(),
                                                     operand.getLoc()));
    Operation *copy = op->clone(mapping);
    body->block.push_back(copy);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&body->block);
    body->results = cast<DecomposeOpInterface>(copy).decompose(builder);
    body->copy = copy;
  }
  Frame inner(frame.world);
  SetVector<Value> operands(op->operand_begin(), op->operand_end());
  for (auto [argument, operand] :
       llvm::zip_equal(body->block.getArguments(), operands))
    inner.values[argument] = frame.values[operand];
  for (Operation &part : body->block)
    if (&part != body->copy && failed(execute(&part, inner)))
      return failure();
  return inner.lookup(body->results);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LockstepMachine::Results LockstepMachine::runFor(ForOp op, Frame &frame) {
  if (int64_t(op.getCount()) > options.maxIterations)
    return op.emitError()
           << prefix(ErrorCode::EndlessLoop) << "the loop has "
           << int64_t(op.getCount())
           << " iterations, more than the interpreter's limit of "
           << options.maxIterations;
  mostIterations = std::max(mostIterations, int64_t(op.getCount()));
  SmallVector<DeviceValues> carried = frame.lookup(op.getInits());
  auto counterType =
      cast<RankedTensorType>(op.getBody().getArgument(0).getType());
  for (int64_t turn = 0; turn < int64_t(op.getCount()); ++turn) {
    DeviceValues counter(
        frame.world.devices,
        makeIntegerTensor(counterType, ArrayRef<int64_t>(turn)));
    SmallVector<DeviceValues> arguments{std::move(counter)};
    llvm::append_range(arguments, carried);
    auto next = runBlock(op.getBody().front(), arguments, frame);
    if (failed(next))
      return failure();
    carried = std::move(*next);
  }
  return carried;
}

/// Overwrites the values of the devices in `here` with those in `from`.
static void update(SmallVector<DeviceValues> &to, ArrayRef<DeviceValues> from,
                   const std::vector<bool> &here) {
  for (auto [own, other] : llvm::zip_equal(to, from))
    for (size_t device = 0; device < here.size(); ++device)
      if (here[device])
        own[device] = other[device];
}

LockstepMachine::Results LockstepMachine::runWhile(WhileOp op, Frame &frame) {
  SmallVector<DeviceValues> carried = frame.lookup(op.getInits());
  World &world = frame.world;
  const std::vector<bool> before = world.present;
  for (int64_t turn = 0; turn <= options.maxIterations; ++turn) {
    mostIterations = std::max(mostIterations, turn);
    auto condition = runBlock(op.getCond().front(), carried, frame);
    if (failed(condition))
      return failure();
    std::vector<bool> goesOn(world.devices);
    for (int64_t device = 0; device < world.devices; ++device)
      goesOn[device] =
          world.isHere(device) &&
          evaluator.getIntegers(condition->front()[device])[0] != 0;
    if (!llvm::is_contained(goesOn, true)) {
      world.present = before;
      return carried;
    }
    if (llvm::is_contained(goesOn, false))
      world.present = goesOn;
    auto next = runBlock(op.getBody().front(), carried, frame);
    if (failed(next))
      return failure();
    update(carried, *next, goesOn);
  }
  return op.emitError() << prefix(ErrorCode::EndlessLoop)
                        << "the loop has not ended after "
                        << options.maxIterations << " iterations";
}

LockstepMachine::Results LockstepMachine::runCase(CaseOp op, Frame &frame) {
  World &world = frame.world;
  const std::vector<bool> before = world.present;
  int64_t last = op.getBranches().size() - 1;
  std::map<int64_t, std::vector<bool>> taken;
  for (auto [device, index] : llvm::enumerate(frame.values[op.getIndex()])) {
    if (!world.isHere(device))
      continue;
    int64_t branch = evaluator.getIntegers(index)[0];
    branch = branch < 0 || branch > last ? last : branch;
    taken.try_emplace(branch, world.devices).first->second[device] = true;
  }
  SmallVector<DeviceValues> results;
  for (auto &[branch, here] : taken) {
    if (taken.size() > 1)
      world.present = here;
    auto own = runBlock(op.getBranches()[branch].front(), {}, frame);
    if (failed(own))
      return failure();
    if (results.empty())
      results = std::move(*own);
    else
      update(results, *own, here);
  }
  world.present = before;
  return results;
}

LockstepMachine::Results LockstepMachine::runCall(func::CallOp op,
                                                  Frame &frame) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  // A program with deeper calls is assumed to be recursive.
  constexpr unsigned kMaxDepth = 256;
  if (depth == kMaxDepth)
    return op.emitError() << prefix(ErrorCode::EndlessLoop)
                          << "calls are nested more than " << kMaxDepth
                          << " deep";
  FailureOr<Program> program = Program::analyze(callee);
  if (failed(program))
    return failure();
  if (program->isLocal() &&
      (!frame.world.isLocal() ||
       program->getMesh()->name != frame.world.mesh->name))
    return op.emitError()
           << prefix(ErrorCode::BadLocalType)
           << "calls a function of local types on mesh @"
           << program->getMesh()->name
           << " from a function that does not have local types on this mesh";
  ++depth;
  auto results = runFunction(callee, frame.lookup(op.getOperands()),
                             frame.world, frame.observed);
  --depth;
  return results;
}

LockstepMachine::Results
LockstepMachine::runFunction(func::FuncOp function,
                             ArrayRef<DeviceValues> arguments,
                             const World &world, bool observed) {
  if (!function.getBody().hasOneBlock())
    return emitError(function.getLoc())
           << prefix(ErrorCode::NotEvaluable) << "function '"
           << function.getName()
           << (function.isExternal() ? "' has no body"
                                     : "' has more than one block");
  Frame frame(world);
  frame.observed = observed;
  return runBlock(function.getBody().front(), arguments, frame);
}

//===----------------------------------------------------------------------===//
// Interpreter
//===----------------------------------------------------------------------===//

LogicalResult tp::interp::checkArguments(const Program &program,
                                         const InterpreterOptions &options) {
  func::FuncOp function = program.getFunction();
  for (Type type : function.getArgumentTypes())
    if (failed(checkSize(function, Program::getWholeType(type),
                         /*devices=*/1, options)))
      return failure();
  return success();
}

FailureOr<SmallVector<TensorValue>>
Interpreter::run(const Program &program, ArrayRef<TensorValue> arguments) {
  func::FuncOp function = program.getFunction();
  LockstepMachine machine(evaluator, options);
  World world{program.getMesh(),
              program.getNumDevices(),
              program.isLocal() ? World::Local : World::Whole,
              {}};
  if (failed(machine.checkDevices(function, world.devices)))
    return failure();
  if (arguments.size() != function.getNumArguments())
    return emitError(function.getLoc())
           << prefix(ErrorCode::InterfaceMismatch) << "the function expects "
           << function.getNumArguments() << " arguments, got "
           << arguments.size();
  SmallVector<DeviceValues> values;
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    Type type = function.getArgumentTypes()[index];
    RankedTensorType whole = Program::getWholeType(type);
    if (argument->getShape() != whole.getShape() ||
        argument->getType().getElementType() != whole.getElementType())
      return emitError(function.getLoc())
             << prefix(ErrorCode::InterfaceMismatch) << "expects argument #"
             << index << " to be " << whole << ", got " << argument->getType();
    if (failed(checkSize(function, type, world.devices, options)))
      return failure();
    if (!program.isLocal()) {
      values.push_back({argument});
      continue;
    }
    Padding padding = function.getArgAttr(index, kDonatedAttr)
                          ? Padding::Garbage
                          : Padding::Zero;
    values.push_back(machine.distributor.scatter(
        argument, getLayout(cast<RankedTensorType>(type), *program.getMesh()),
        cast<RankedTensorType>(type), padding));
  }
  auto outputs =
      machine.runFunction(function, values, world, /*observed=*/true);
  mostIterations = machine.mostIterations;
  if (failed(outputs))
    return failure();
  SmallVector<TensorValue> results;
  for (auto [index, output] : llvm::enumerate(*outputs)) {
    Type type = function.getResultTypes()[index];
    if (!program.isLocal()) {
      results.push_back(output.front());
      continue;
    }
    auto whole = machine.distributor.gather(
        output, getLayout(cast<RankedTensorType>(type), *program.getMesh()),
        Program::getWholeType(type), options.tolerance);
    if (auto *reason = std::get_if<std::string>(&whole))
      return emitError(function.getLoc())
             << prefix(ErrorCode::DevicesDisagree) << "function '"
             << function.getName() << "', result #" << index << ": " << *reason;
    results.push_back(std::get<TensorValue>(whole));
  }
  return results;
}

FailureOr<SmallVector<DeviceValues>>
Interpreter::runOnDevices(const Program &program,
                          ArrayRef<DeviceValues> arguments) {
  func::FuncOp function = program.getFunction();
  LockstepMachine machine(evaluator, options);
  World world{program.getMesh(), program.getNumDevices(), World::Local, {}};
  if (failed(machine.checkDevices(function, world.devices)))
    return failure();
  for (Type type : function.getArgumentTypes())
    if (failed(checkSize(function, type, world.devices, options)))
      return failure();
  return machine.runFunction(function, arguments, world, /*observed=*/true);
}

std::optional<TensorValue> Interpreter::gather(const Program &program,
                                               Type type,
                                               ArrayRef<TensorValue> parts) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.getEncoding())
    return parts.size() == 1 ? std::optional(parts.front()) : std::nullopt;
  auto whole = Distributor(evaluator).gather(
      parts, getLayout(tensor, *program.getMesh()), Program::getWholeType(type),
      options.tolerance);
  if (auto *value = std::get_if<TensorValue>(&whole))
    return *value;
  return std::nullopt;
}
