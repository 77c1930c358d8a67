// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Batches.h"

using namespace tprt;

std::vector<Batch>
tprt::getBatches(const MatmulRow &row,
                 absl::Span<const MatmulOperand *const> operands) {
  std::vector<Batch> batches;
  for (unsigned i = 0; i < kMaxBatch; ++i) {
    if (row.batch[i] == 1)
      continue;
    Batch batch{row.batch[i], {}};
    for (const MatmulOperand *operand : operands)
      batch.strides.push_back(operand->strides[i]);
    bool continues = !batches.empty();
    for (size_t o = 0; continues && o < operands.size(); ++o)
      continues = batches.back().strides[o] == batch.size * batch.strides[o];
    if (continues)
      batches.back() = {batches.back().size * batch.size, batch.strides};
    else
      batches.push_back(std::move(batch));
  }
  return batches;
}
