// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Annotates named arguments with the shardings of a plan.

#include "DataParallel.h"
#include "Features.h"
#include "Plan.h"
#include "SequenceParallel.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Passes/Import/Passes.h"

#include "llvm/ADT/StringSet.h"

namespace tp {
#define GEN_PASS_DEF_APPLYPLANPASS
#include "tpopt/Passes/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {
/// Applies one plan to the functions of a module.
class PlanApplier {
public:
  /// `axis` is the mesh axis along which words such as `colwise` shard. It is
  /// required if the plan has such a word.
  PlanApplier(const Plan &plan, const Mesh &mesh, std::optional<unsigned> axis,
              bool isBuiltIn)
      : plan(plan), mesh(mesh),
        axis(axis ? AxisRef::full(mesh, *axis) : AxisRef()),
        isBuiltIn(isBuiltIn), uses(plan.getRules().size()) {}

  LogicalResult apply(func::FuncOp function);
  /// Reports rules that matched nothing or had no effect.
  LogicalResult checkUses(ModuleOp module);

private:
  /// How a rule was used: whether it matched any name, whether it was the first
  /// rule to match one, and whether an argument or result that it matched had
  /// no sharding yet.
  struct RuleUse {
    bool matched = false, isFirst = false, applied = false;
  };

  /// Returns true if rules may refer to unnamed arguments by number. A built-in
  /// plan uses only the names that Hugging Face gives to arguments.
  bool goesByNumbers(func::FuncOp function) const {
    return !isBuiltIn && isEntry(function);
  }
  /// Returns the first rule that matches one of `names`, or null. Records the
  /// use of every rule that matches. `isAnnotated`: the argument already has a
  /// sharding. `isState`: the argument is optimizer state.
  const PlanRule *find(ArrayRef<StringRef> names, bool isAnnotated,
                       bool isState);
  /// Returns the dimensions of `argument` that the rule's word, such as
  /// `colwise`, shards; none if the word does not apply to the argument.
  /// `isOwnName`: the rule gives the argument's full name, not only that of its
  /// module.
  SmallVector<unsigned> getCutDims(const PlanRule &rule, Value argument,
                                   const Features *features,
                                   bool isOwnName) const;
  FailureOr<TensorSharding> getSharding(const PlanRule &rule, Value argument,
                                        StringRef name,
                                        const Features *features);
  /// Returns the sharding that a rule gives to `what`, of type `type`, if the
  /// rule lists axes or says `replicate`. If the rule shards features, reports
  /// that it does not fit. Errors of a built-in plan are reported at `loc`, the
  /// location of `what`.
  FailureOr<TensorSharding> getExplicit(const PlanRule &rule,
                                        RankedTensorType type, Location loc,
                                        const Twine &what);
  LogicalResult applyToResults(func::FuncOp function);
  /// Closes the shardings of logits, because picking the next token needs whole
  /// rows of logits.
  void closeLogits(FunctionOpInterface function);
  /// Returns the sharding that the plan gives to arguments that no rule
  /// matches.
  std::optional<TensorSharding> getDefault(func::FuncOp function,
                                           BlockArgument argument) const;
  void cut(TensorSharding &sharding, ArrayRef<unsigned> dims, Value argument);

  const Plan &plan;
  const Mesh &mesh;
  AxisRef axis;
  bool isBuiltIn;
  SmallVector<RuleUse> uses;
  std::vector<std::string> names;
};
} // namespace

static RankedTensorType getType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

const PlanRule *PlanApplier::find(ArrayRef<StringRef> names, bool isAnnotated,
                                  bool isState) {
  // A state that is named after a parameter gets that parameter's sharding by
  // propagation.
  bool isFollower = isState && names.front().contains('/');
  const PlanRule *first = nullptr;
  for (auto [rule, use] : llvm::zip_equal(plan.getRules(), uses)) {
    auto isMeant = [&, &rule = rule](StringRef name) {
      return matches(rule, name);
    };
    if (llvm::none_of(names, isMeant) ||
        (isFollower && !rule.pattern.getText().contains('/')))
      continue;
    use.matched = true;
    // A rule for a module's activations does not shard the module's weights, so
    // a later rule may match the weights.
    if (rule.word && rule.word->action == PlanWord::Action::Activations) {
      use.isFirst = use.applied = true;
      continue;
    }
    if (!first) {
      first = &rule;
      use.isFirst = true;
      use.applied |= !isAnnotated;
    }
  }
  return first;
}

/// Shards features along the axis. Either `dims` is one dimension with all
/// features, or the last of `dims` holds the features of one head, and the
/// dimensions before it hold the heads. In the latter case, only the dimensions
/// of the heads are sharded.
void PlanApplier::cut(TensorSharding &sharding, ArrayRef<unsigned> dims,
                      Value argument) {
  if (dims.empty())
    return;
  if (dims.size() == 1) {
    sharding.dims[dims[0]].axes = {axis};
    return;
  }
  ArrayRef<int64_t> shape = getType(argument).getShape();
  bool hasGroup = dims.size() > 2;
  int64_t group = 1;
  if (hasGroup)
    group = shape[dims[1]];
  else if (AttentionOp attention = findAttention(argument))
    group = getType(attention.getQuery()).getDimSize(3);
  HeadAxes axes = cutHeads(shape[dims[0]], group, axis);
  sharding.dims[dims[0]].axes = axes.kv;
  if (hasGroup)
    sharding.dims[dims[1]].axes = axes.group;
}

FailureOr<TensorSharding> PlanApplier::getExplicit(const PlanRule &rule,
                                                   RankedTensorType type,
                                                   Location loc,
                                                   const Twine &what) {
  if (!isBuiltIn)
    loc = rule.loc;
  auto sharding = TensorSharding::replicate(type.getRank());
  if (!rule.word) {
    sharding.dims.resize(rule.axes.size());
    for (auto [dim, axes] : llvm::zip_equal(sharding.dims, rule.axes))
      dim.axes = axes;
    if (std::optional<ShardingError> error =
            verify(sharding, mesh, type.getRank()))
      return emitError(loc)
             << prefix(ErrorCode::PlanDoesNotFit) << "plan entry \""
             << rule.pattern.getText() << "\" does not fit " << what
             << " of type " << type << ": " << error->message;
  } else if (rule.word->action != PlanWord::Action::Replicate) {
    return emitError(loc)
           << prefix(ErrorCode::PlanDoesNotFit) << "plan entry \""
           << rule.pattern.getText() << "\" cuts the features of " << what
           << ", but only the features of a projection, an embedding or a bias "
              "can be cut; write \"replicate\" or a list of axes per dimension";
  }
  return sharding;
}

/// Returns the rank of the stored tensor that a weight is read from.
static int64_t getStoredRank(Value argument) {
  auto own = cast<BlockArgument>(argument);
  auto function = cast<func::FuncOp>(own.getOwner()->getParentOp());
  if (auto source = function.getArgAttrOfType<SourceAttr>(own.getArgNumber(),
                                                          kSourceAttr))
    return source.getStored().size();
  return getType(argument).getRank();
}

SmallVector<unsigned> PlanApplier::getCutDims(const PlanRule &rule,
                                              Value argument,
                                              const Features *features,
                                              bool isOwnName) const {
  int64_t rank = getType(argument).getRank();
  using Action = PlanWord::Action;
  if (rule.word->action == Action::Experts)
    return rank > 0 ? SmallVector<unsigned>{0} : SmallVector<unsigned>();
  bool isColwise = rule.word->action == Action::Colwise;
  if (rule.isShipped) {
    // Hugging Face Transformers shards a stack of matrices by stored dimension,
    // regardless of which dimension the op contracts. It also shards vectors
    // that are not biases, but only if a rule names them.
    if (rank == 3 && getStoredRank(argument) == 3)
      return {isColwise ? 1u : 2u};
    if (rank == 1 && !features && isColwise && isOwnName)
      return {0};
  }
  if (!features)
    return {};
  // In shipped and built-in plans, a table that is both embedding and output
  // head counts as the head, unless the rule's word is for embeddings.
  bool isHead = (rule.isShipped || isBuiltIn) && !rule.word->isEmbedding;
  if (isColwise && isHead && !features->headOut.empty())
    return features->headOut;
  return isColwise ? features->out : features->in;
}

FailureOr<TensorSharding> PlanApplier::getSharding(const PlanRule &rule,
                                                   Value argument,
                                                   StringRef name,
                                                   const Features *features) {
  RankedTensorType type = getType(argument);
  if (!rule.word || rule.word->action == PlanWord::Action::Replicate)
    return getExplicit(rule, type, argument.getLoc(), "argument " + name);
  bool isOwnName = name.ends_with(
      rule.pattern.getText().substr(rule.pattern.getText().rfind('.') + 1));
  SmallVector<unsigned> dims = getCutDims(rule, argument, features, isOwnName);
  // It is no error if `rowwise` shards no dimension of a bias, which has no
  // input features, or if a rule matches an unused argument: PyTorch exports a
  // tied table under two names, and one of the two arguments is unused.
  if (dims.empty() && !features && !argument.use_empty())
    return getExplicit(rule, type, argument.getLoc(), "argument " + name);
  if (rule.word->isPacked && !dims.empty() && !name.contains('#'))
    return emitError(rule.loc)
           << prefix(ErrorCode::PlanDoesNotFit) << "plan entry \""
           << rule.pattern.getText() << "\" cuts each part of argument " << name
           << ", but the argument has no parts: write \"colwise\", "
              "\"rowwise\" or a list of axes per dimension; tp-split-packed "
              "only splits an argument that the program slices into parts and "
              "that reads a whole stored tensor of its own name (tp.source)";
  auto sharding = TensorSharding::replicate(type.getRank());
  cut(sharding, dims, argument);
  return sharding;
}

std::optional<TensorSharding>
PlanApplier::getDefault(func::FuncOp function, BlockArgument argument) const {
  RankedTensorType type = getType(argument);
  auto sharding = TensorSharding::replicate(type.getRank());
  auto has = [&](StringRef attribute) {
    return bool(function.getArgAttr(argument.getArgNumber(), attribute));
  };
  // An argument that the program overwrites may be a buffer of a module, such
  // as a cache: its sharding follows from that of the value written into it.
  if (plan.keepsOthersWhole() && !has(kDonatedAttr) &&
      getRole(function, argument.getArgNumber()) == Role::Parameter)
    return sharding;
  if (!isBuiltIn)
    return std::nullopt;
  if (has(kSourceAttr))
    return sharding;
  AttentionOp attention = findAttention(argument);
  bool isCache = attention && type.getRank() == 4;
  std::optional<unsigned> batch =
      getBatchDim(function, argument.getArgNumber());
  if (!batch || !(isCache || isIntegerTensor(type)))
    return std::nullopt;
  if (std::optional<unsigned> data = mesh.find("data");
      data && *data != axis.axis)
    sharding.dims[*batch].axes = {AxisRef::full(mesh, *data)};
  // The dimensions of a cache are [batch, position, kv, head].
  if (isCache)
    sharding.dims[2].axes =
        cutHeads(type.getDimSize(2),
                 getType(attention.getQuery()).getDimSize(3), axis)
            .kv;
  return sharding;
}

LogicalResult PlanApplier::apply(func::FuncOp function) {
  if (function.isExternal())
    return success();
  llvm::DenseMap<Value, Features> features = getFeatures(function);
  SmallVector<ShardingAttr> shardings(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    auto getAttr = [&](StringRef name) {
      return function.getArgAttr(argument.getArgNumber(), name);
    };
    // If the name comes from the program's text, `%up`, rules may use either
    // the name or the argument's number, because a printer that drops names
    // leaves only numbers.
    StringAttr written = getTextName(argument);
    bool isNamed = getAttr(kNameAttr) && getAttr(kNameAttr) != written;
    if (!getType(argument) || (!isNamed && !goesByNumbers(function)))
      continue;
    StringAttr name = getInputName(function, argument.getArgNumber());
    std::string number = ("arg" + Twine(argument.getArgNumber())).str();
    SmallVector<StringRef> all = {name};
    if (written && !isNamed) {
      name = written;
      all = {written, number};
    }
    names.push_back(name.str());
    bool isAnnotated = bool(getAttr(kShardingAttr));
    const PlanRule *rule = find(all, isAnnotated,
                                getRole(function, argument.getArgNumber()) ==
                                    Role::OptimizerState);
    if (isAnnotated)
      continue;
    std::optional<TensorSharding> sharding;
    if (rule) {
      auto known = features.find(argument);
      FailureOr<TensorSharding> planned =
          getSharding(*rule, argument, name,
                      known == features.end() ? nullptr : &known->second);
      if (failed(planned))
        return failure();
      sharding = std::move(*planned);
    } else {
      sharding = getDefault(function, argument);
    }
    if (sharding)
      shardings[argument.getArgNumber()] =
          ShardingAttr::get(function->getContext(), mesh, *sharding);
  }
  setSignature(function, shardings, {});
  if (!isBuiltIn)
    return applyToResults(function);
  closeLogits(function);
  return success();
}

LogicalResult PlanApplier::applyToResults(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    if (!type ||
        (!function.getResultAttr(i, kNameAttr) && !goesByNumbers(function)))
      continue;
    // Rules refer to a part of a result by the name of the whole result.
    auto part = function.getResultAttrOfType<SourceAttr>(i, kSourceAttr);
    StringAttr name = part ? part.getTensor() : getOutputName(function, i);
    names.push_back(name.str());
    for (auto [rule, use] : llvm::zip_equal(plan.getRules(), uses)) {
      // Patterns are meant for arguments, so a result needs an exact match.
      // Otherwise a pattern could gather a result by accident.
      if (rule.pattern.getText() != name.getValue())
        continue;
      bool isAnnotated = bool(function.getResultAttr(i, kShardingAttr));
      use = {/*matched=*/true, /*isFirst=*/true, use.applied || !isAnnotated};
      if (isAnnotated)
        break;
      FailureOr<TensorSharding> planned = getExplicit(
          rule, type, function.getLoc(), "result " + name.getValue());
      if (failed(planned))
        return failure();
      function.setResultAttr(
          i, kShardingAttr,
          ShardingAttr::get(function->getContext(), mesh, *planned));
      break;
    }
  }
  return success();
}

void PlanApplier::closeLogits(FunctionOpInterface function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    if (!name || name.getValue() != "logits" || !type || type.getRank() == 0 ||
        function.getResultAttr(i, kShardingAttr))
      continue;
    auto sharding = TensorSharding::replicate(type.getRank());
    if (std::optional<unsigned> data = mesh.find("data");
        data && *data != axis.axis)
      sharding.dims[0].axes = {AxisRef::full(mesh, *data)};
    function.setResultAttr(
        i, kShardingAttr,
        ShardingAttr::get(function->getContext(), mesh, sharding));
  }
}

LogicalResult PlanApplier::checkUses(ModuleOp module) {
  if (isBuiltIn) {
    // A built-in plan has rules for several families, so most rules match
    // nothing.
    if (llvm::any_of(uses, [](const RuleUse &use) { return use.matched; }))
      return success();
    return emitError(module.getLoc())
           << prefix(ErrorCode::UnmatchedPattern)
           << "the plan recognizes none of the arguments by name; set tp.name "
              "to the names that Hugging Face uses, or write a plan file";
  }
  SmallVector<StringRef> known(names.begin(), names.end());
  bool isUnmatched = false;
  SmallVector<Attribute> idle;
  for (auto [rule, use] : llvm::zip_equal(plan.getRules(), uses)) {
    auto addIdle = [&, &rule = rule] {
      idle.push_back(
          StringAttr::get(module.getContext(), rule.pattern.getText()));
    };
    if (!use.matched && rule.isShipped) {
      addIdle();
      emitWarning(rule.loc)
          << prefix(ErrorCode::UnmatchedPattern) << "plan entry \""
          << rule.pattern.getText() << "\" matches no argument";
    } else if (!use.matched) {
      isUnmatched = true;
      std::string near = getNearNames(rule.pattern.getText(), known);
      InFlightDiagnostic diagnostic = emitError(rule.loc);
      diagnostic << prefix(ErrorCode::UnmatchedPattern) << "plan entry \""
                 << rule.pattern.getText()
                 << "\" matches neither an argument nor the name of a result";
      if (near.empty())
        diagnostic.attachNote() << "the program has no arguments";
      else
        diagnostic.attachNote() << "near names are " << near;
    } else if (!use.applied) {
      addIdle();
      emitWarning(rule.loc)
          << prefix(ErrorCode::IdlePlanEntry) << "plan entry \""
          << rule.pattern.getText() << "\" has no effect: "
          << (use.isFirst
                  ? "all arguments that it matches have shardings of their own"
                  : "patterns before it match all of its arguments");
    }
  }
  if (!idle.empty())
    module->setAttr(kIdleEntriesAttr,
                    ArrayAttr::get(module.getContext(), idle));
  return failure(isUnmatched);
}

namespace {
struct ApplyPlanPass : tp::impl::ApplyPlanPassBase<ApplyPlanPass> {
  using ApplyPlanPassBase::ApplyPlanPassBase;

  FailureOr<MeshOp> getMesh() {
    auto meshes = llvm::to_vector(getOperation().getOps<MeshOp>());
    if (meshes.size() != 1)
      return emitError(getOperation().getLoc())
             << prefix(ErrorCode::PlanNeedsMesh) << "the module has "
             << meshes.size()
             << " meshes, but a plan expects exactly one; write spmd.mesh "
                "@mesh <[\"data\"=2, \"model\"=4]>";
    return meshes[0];
  }

  /// Returns the mesh axis along which words such as `colwise` shard. A plan
  /// that lists the axes of each dimension needs no such axis.
  FailureOr<std::optional<unsigned>> getAxis(MeshOp at, const Mesh &mesh,
                                             const Plan &read) {
    std::optional<unsigned> found = mesh.find(axis);
    if (found || (!read.cutsByWords() && axis == "model"))
      return found;
    return complainAboutAxis(at, mesh, axis)
           << ", along which the words of a plan cut tensors; give an axis "
              "this name, or list axes for each dimension, chosen from"
           << writeAxes(mesh);
  }

  InFlightDiagnostic complainAboutAxis(MeshOp at, const Mesh &mesh,
                                       StringRef name) {
    return emitError(at.getLoc())
           << prefix(ErrorCode::PlanNeedsMesh) << "mesh @" << mesh.name
           << " has no axis \"" << name << "\"";
  }
  static std::string writeAxes(const Mesh &mesh) {
    std::string text;
    for (const Axis &known : mesh.axes)
      text += (" \"" + known.name + "\"");
    return text;
  }

  /// Applies the rules of the plan, then shards along the sequence if asked to.
  LogicalResult applyRules(MeshOp at, const Mesh &mesh,
                           const PlanWords &words) {
    FailureOr<Plan> read = words.isMegatron
                               ? Plan::getMegatron(&getContext())
                               : Plan::read(&getContext(), words.file, mesh);
    if (failed(read))
      return failure();
    FailureOr<std::optional<unsigned>> own = getAxis(at, mesh, *read);
    if (failed(own))
      return failure();
    PlanApplier applier(*read, mesh, *own, words.isMegatron);
    auto functions = getOperation().getOps<func::FuncOp>();
    for (func::FuncOp function : functions)
      if (failed(applier.apply(function)))
        return failure();
    if (failed(applier.checkUses(getOperation())))
      return failure();
    unsigned count = 0;
    if (words.cutsSequence)
      for (func::FuncOp function : functions)
        count += cutSequences(function, mesh, AxisRef::full(mesh, **own));
    if (words.cutsSequence && count == 0)
      return emitError(getOperation().getLoc())
             << prefix(ErrorCode::IdlePlanWord)
             << "sp cuts activations along the sequence, but no weight that "
                "megatron cuts is applied to a sequence of two or more tokens: "
                "write plan=megatron";
    return success();
  }

  LogicalResult applyData(MeshOp at, const Mesh &mesh, const PlanWords &words) {
    std::optional<unsigned> found = mesh.find(words.dataAxis);
    if (!found)
      return complainAboutAxis(at, mesh, words.dataAxis)
             << ", along which ddp, fsdp and zero= cut tensors; write "
                "zero=N:AXIS with "
                "one of"
             << writeAxes(mesh) << ", or give an axis this name";
    DataParallel data(mesh, *found, words);
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      data.apply(function);
    return data.checkUses(getOperation());
  }

  void runOnOperation() override {
    FailureOr<PlanWords> words =
        PlanWords::parse(plan, zero, getOperation().getLoc());
    if (failed(words))
      return signalPassFailure();
    FailureOr<MeshOp> meshOp = getMesh();
    if (failed(meshOp))
      return signalPassFailure();
    Mesh mesh = meshOp->toMesh();
    bool hasRules = words->isMegatron || !words->file.empty();
    if (hasRules && failed(applyRules(*meshOp, mesh, *words)))
      return signalPassFailure();
    bool cutsData = words->cutsBatch || words->zero != ZeroStage::None;
    if (cutsData && failed(applyData(*meshOp, mesh, *words)))
      return signalPassFailure();
  }
};
} // namespace
