// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Cost/Machine.h"

#include <algorithm>

using namespace tp;

bool tp::isContraction(const ShardingRule &rule) {
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    unsigned operands = 0, results = 0;
    for (unsigned i = 0; i < rule.operands.size(); ++i)
      operands += rule.hasFactor(i, f);
    for (unsigned i = 0; i < rule.results.size(); ++i)
      results += rule.hasFactor(rule.operands.size() + i, f);
    if (operands >= 2 && results == 0 && rule.factors[f].size > 1)
      return true;
  }
  return false;
}

/// Operations that weigh as much as a byte sent, if no machine says otherwise.
static constexpr double kFlopsPerByte = 64;
/// Small enough to break ties only.
static constexpr double kTieBreak = 1e-15;

bool CostModel::countsPadding() const { return machine.has_value(); }

double CostModel::getCompute(const Work &work) const {
  if (machine)
    return std::max(work.flops / machine->flops,
                    work.bytes / machine->memoryBandwidth);
  double bytes = work.contraction ? work.flops / kFlopsPerByte
                                  : (work.flops + work.bytes) * kTieBreak;
  double beta = 1;
  if (mesh.hasLinks) {
    beta = 0;
    for (const Axis &axis : mesh.axes)
      beta = std::max(beta, axis.link.beta);
  }
  return bytes * beta;
}

double CostModel::getLaunchPenalty(double tensorBytes) const {
  return mesh.hasLinks ? 1e-12 : 1e-3 * tensorBytes;
}
