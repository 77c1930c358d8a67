// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RuleCheck.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {

/// Checks the rule of one op against the shardings of its tensors, operands
/// first.
class RuleVerifier {
public:
  RuleVerifier(Operation *op, const Mesh &mesh,
               ArrayRef<TensorSharding> shardings, bool isLocal)
      : op(op), mesh(mesh), shardings(shardings), isLocal(isLocal),
        rule(cast<ShardingRuleOpInterface>(op).getShardingRule()) {}

  LogicalResult verify() {
    return failure(failed(verifyFactors()) || failed(verifyPartials()));
  }

private:
  InFlightDiagnostic emit() {
    return op->emitError() << prefix(ErrorCode::RuleViolated) << op->getName()
                           << ": ";
  }
  std::string print(ArrayRef<AxisRef> axes) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printAxes(os, mesh, axes);
    return text;
  }
  std::string nameOf(unsigned tensor) {
    unsigned operands = op->getNumOperands();
    return (tensor < operands ? "operand #" + Twine(tensor)
                              : "result #" + Twine(tensor - operands))
        .str();
  }
  static AxisList normalise(ArrayRef<AxisRef> axes) {
    AxisList list;
    for (const AxisRef &axis : axes)
      if (axis.size > 1)
        appendMerged(list, axis);
    return list;
  }

  LogicalResult verifyFactors();
  LogicalResult verifyPartials();

  Operation *op;
  const Mesh &mesh;
  ArrayRef<TensorSharding> shardings;
  bool isLocal;
  ShardingRule rule;
  AxisList reduced; ///< Axes that split factors absent from all results.
  std::optional<ReduceKind> kind;
};

} // namespace

/// Checks how factors are sharded. A factor must be sharded in the same way in
/// all dimensions that consist of this factor alone, and must not be sharded if
/// the op needs it unsplit. tp-verify-partition checks dimensions that consist
/// of several factors. It also checks local reshapes, in which sizes determine
/// how factors are sharded.
LogicalResult RuleVerifier::verifyFactors() {
  if (isLocal && isa<ReshapeOp>(op))
    return success();
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    // In a local op, a size of one may be the device's part of a longer
    // dimension.
    if (!isLocal && factor.size <= 1)
      continue;
    std::optional<AxisList> axes;
    unsigned first = 0;
    for (unsigned t = 0; t < rule.getNumTensors(); ++t)
      for (auto [dim, factors] :
           llvm::zip_equal(shardings[t].dims, rule.getTensor(t))) {
        if (factors.size() != 1 || factors.front() != index)
          continue;
        AxisList own = normalise(dim.axes);
        if (factor.kind == FactorKind::Whole && !own.empty())
          return emit() << nameOf(t) << " is cut along " << print(own)
                        << " in a dimension that the op's rule does not allow "
                           "to be cut";
        if (axes && *axes != own)
          return emit() << nameOf(t) << " is cut along " << print(own)
                        << ", but " << nameOf(first) << " is cut along "
                        << print(*axes) << " in the corresponding dimension";
        if (!axes)
          first = t;
        axes = own;
      }
    if (factor.kind == FactorKind::Reduction && axes && !axes->empty()) {
      llvm::append_range(reduced, *axes);
      kind = factor.reduce;
    }
  }
  return success();
}

/// Results are partial over the reduced axes and over the axes of partial
/// operands. Only linear ops may have partial operands.
LogicalResult RuleVerifier::verifyPartials() {
  auto linear = dyn_cast<LinearOpInterface>(op);
  AxisList inherited;
  std::optional<unsigned> joint;
  for (unsigned t = 0; t < op->getNumOperands(); ++t) {
    const TensorSharding &sharding = shardings[t];
    AxisList own = getMerged(sharding.unreduced);
    Linearity linearity = linear && !own.empty()
                              ? linear.getLinearity(t, sharding.kind)
                              : Linearity::None;
    if (own.empty())
      continue;
    if (linearity == Linearity::None)
      return emit() << nameOf(t) << " is a " << stringify(sharding.kind)
                    << " that is still unreduced along " << print(own)
                    << ", but the op does not allow an unreduced operand here";
    if (kind && *kind != sharding.kind)
      return emit() << nameOf(t) << " is a partial " << stringify(sharding.kind)
                    << ", but other values of the op are a partial "
                    << stringify(*kind);
    kind = sharding.kind;
    if (linearity == Linearity::Joint && joint) {
      if (own != getMerged(shardings[*joint].unreduced))
        return emit() << nameOf(t) << " is unreduced along " << print(own)
                      << ", but " << nameOf(*joint) << " is unreduced along "
                      << print(shardings[*joint].unreduced);
      continue;
    }
    if (linearity == Linearity::Joint)
      joint = t;
    llvm::append_range(inherited, own);
  }
  AxisList wanted = reduced;
  llvm::append_range(wanted, inherited);
  wanted = getMerged(wanted);
  for (unsigned t = op->getNumOperands(); t < shardings.size(); ++t) {
    AxisList own = getMerged(shardings[t].unreduced);
    if (own != wanted)
      return emit() << nameOf(t) << " must be unreduced along " << print(wanted)
                    << ", but is unreduced along " << print(own);
    if (!own.empty() && kind && shardings[t].kind != *kind)
      return emit() << nameOf(t) << " is a partial "
                    << stringify(shardings[t].kind)
                    << ", but the op computes a partial " << stringify(*kind);
  }
  return success();
}

LogicalResult tp::verifyRule(Operation *op, const Mesh &mesh,
                             ArrayRef<TensorSharding> shardings, bool isLocal) {
  return RuleVerifier(op, mesh, shardings, isLocal).verify();
}
