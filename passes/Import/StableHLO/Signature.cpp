// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The attributes of functions' arguments and results.

#include "Signature.h"

#include "Conversion.h"

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

std::string stablehlo::toDotted(StringRef path) {
  std::string name;
  for (size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '[') {
      if (!name.empty() && name.back() != '.')
        name += '.';
    } else if (c != ']' && c != '\'' && c != '"' && c != ' ') {
      name += c;
    }
  }
  return name;
}

/// Returns the name that JAX gives an argument through its location.
static StringRef getLocatedName(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getName().getValue() : StringRef();
}

namespace {
/// Converts the attributes of arguments and results.
class Signature {
public:
  Signature(func::FuncOp function, const ForeignShardings &shardings)
      : function(function), shardings(shardings) {}

  LogicalResult import();

private:
  /// Returns the attributes that are not foreign, plus the sharding that
  /// foreign attributes give.
  FailureOr<NamedAttrList> convert(DictionaryAttr attributes, Type type);
  void setName(NamedAttrList &attributes, StringRef path,
               llvm::StringSet<> &seen);
  void warnOfDonors(ArrayRef<unsigned> donors);

  func::FuncOp function;
  const ForeignShardings &shardings;
};
} // namespace

FailureOr<NamedAttrList> Signature::convert(DictionaryAttr attributes,
                                            Type type) {
  NamedAttrList own;
  if (!attributes)
    return own;
  for (NamedAttribute attribute : attributes) {
    StringRef dialect = attribute.getName().getValue().split('.').first;
    if (dialect != "mhlo" && dialect != "jax" && dialect != "sdy" &&
        dialect != "tf")
      own.push_back(attribute);
  }
  auto sharding = shardings.read(function, attributes, type);
  if (failed(sharding))
    return failure();
  if (sharding->front())
    own.set(spmd::kShardingAttr, sharding->front());
  return own;
}

/// Gives a value the name `path`. If another value already has this name, the
/// value remains without one, and is identified by its number.
void Signature::setName(NamedAttrList &attributes, StringRef path,
                        llvm::StringSet<> &seen) {
  if (auto given = dyn_cast_or_null<StringAttr>(attributes.get(kNameAttr))) {
    seen.insert(given.getValue());
    return;
  }
  std::string name = toDotted(path);
  if (!name.empty() && seen.insert(name).second)
    attributes.set(kNameAttr, StringAttr::get(function.getContext(), name));
}

/// JAX pairs a donated argument with a result if it knows the shardings of
/// both, and otherwise leaves the pairing to XLA. The argument and the result
/// of a pair must have the same sharding, so no pair is guessed here.
void Signature::warnOfDonors(ArrayRef<unsigned> donors) {
  if (donors.empty())
    return;
  Location loc = function.getArgument(donors.front()).getLoc();
  std::string name = toDotted(getLocatedName(loc));
  // JAX writes an argument's name as its location, without a file position.
  bool hasPlace = bool(loc->findInstanceOf<FileLineColLoc>());
  InFlightDiagnostic warning = emitWarning(hasPlace ? loc : function.getLoc());
  warning << "the donated memory of ";
  if (name.empty())
    warning << "argument #" << donors.front();
  else
    warning << "'" << name << "'";
  if (size_t others = donors.size() - 1)
    warning << " and " << others << " other argument"
            << (others > 1 ? "s" : "");
  warning << " is not reused, because JAX does not say which result reuses it; "
             "pass out_shardings to jax.jit that equal the shardings of the "
             "arguments";
}

LogicalResult Signature::import() {
  bool isEntry = function.isPublic() && !function.isExternal();
  SmallVector<DictionaryAttr> arguments, results;
  llvm::StringSet<> names;
  llvm::SmallDenseSet<int64_t> overwritten;
  SmallVector<unsigned> donors;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    DictionaryAttr foreign = function.getArgAttrDict(i);
    auto own = convert(foreign, function.getArgumentTypes()[i]);
    if (failed(own))
      return failure();
    if (isEntry)
      setName(*own, getLocatedName(function.getArgument(i).getLoc()), names);
    auto alias = foreign ? foreign.getAs<IntegerAttr>("tf.aliasing_output")
                         : IntegerAttr();
    int64_t result = alias ? getInt64(alias.getValue()).value_or(-1) : -1;
    if (isEntry && result >= 0 && result < function.getNumResults() &&
        function.getResultTypes()[result] == function.getArgumentTypes()[i] &&
        overwritten.insert(result).second)
      own->set(kDonatedAttr,
               IntegerAttr::get(IntegerType::get(function.getContext(), 64),
                                result));
    else if (isEntry && foreign && foreign.get("jax.buffer_donor"))
      donors.push_back(i);
    arguments.push_back(own->getDictionary(function.getContext()));
  }
  warnOfDonors(donors);
  names.clear();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    DictionaryAttr foreign = function.getResultAttrDict(i);
    auto own = convert(foreign, function.getResultTypes()[i]);
    if (failed(own))
      return failure();
    auto path =
        foreign ? foreign.getAs<StringAttr>("jax.result_info") : StringAttr();
    if (isEntry && path)
      setName(*own, path, names);
    results.push_back(own->getDictionary(function.getContext()));
  }
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
  return success();
}

LogicalResult stablehlo::importSignature(func::FuncOp function,
                                         const ForeignShardings &shardings) {
  return Signature(function, shardings).import();
}

void stablehlo::moveResultConstraints(func::FuncOp function) {
  if (!function.isPublic() || function.isExternal())
    return;
  for (OpOperand &returned :
       function.getBody().front().getTerminator()->getOpOperands()) {
    unsigned index = returned.getOperandNumber();
    while (auto constraint =
               returned.get().getDefiningOp<spmd::ConstraintOp>()) {
      auto known = function.getResultAttrOfType<spmd::ShardingAttr>(
          index, spmd::kShardingAttr);
      // Erases unused constraints that only repeat this one.
      for (Operation *user : llvm::make_early_inc_range(constraint->getUsers()))
        if (auto repeated = dyn_cast<spmd::ConstraintOp>(user);
            repeated && repeated->use_empty() &&
            repeated.getSharding() == constraint.getSharding())
          repeated.erase();
      if (!constraint->hasOneUse() ||
          (known && known != constraint.getSharding()))
        break;
      function.setResultAttr(index, spmd::kShardingAttr,
                             constraint.getSharding());
      returned.set(constraint.getInput());
      constraint.erase();
    }
  }
}
