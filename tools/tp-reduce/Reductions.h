// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What --reduction-tree tries to make of functions, whatever dialect their
// operations are of: of those that are only read, such as stablehlo's, nothing
// is known but their structure.

#ifndef TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H
#define TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H

#include "Trials.h"

#include "mlir/IR/DialectRegistry.h"

#include <memory>

namespace tp {

/// Makes a function smaller if the program stays interesting with it. It need
/// not mean the same.
class Reduction : public mlir::OpRewritePattern<mlir::func::FuncOp> {
public:
  Reduction(mlir::MLIRContext *context, std::shared_ptr<Trials> trials)
      : OpRewritePattern(context), trials(std::move(trials)) {}

  mlir::LogicalResult
  matchAndRewrite(mlir::func::FuncOp function,
                  mlir::PatternRewriter &rewriter) const final;

protected:
  /// Returns whether it is smaller. The function is one block.
  virtual bool reduce(mlir::func::FuncOp function,
                      mlir::PatternRewriter &rewriter) const = 0;

  const std::shared_ptr<Trials> trials;
};

/// Adds the reductions of one file.
void addBodyReductions(mlir::RewritePatternSet &patterns,
                       const std::shared_ptr<Trials> &trials);
void addRegionReductions(mlir::RewritePatternSet &patterns,
                         const std::shared_ptr<Trials> &trials);
void addSignatureReductions(mlir::RewritePatternSet &patterns,
                            const std::shared_ptr<Trials> &trials);
void addAttributeReductions(mlir::RewritePatternSet &patterns,
                            const std::shared_ptr<Trials> &trials);

/// Makes --reduction-tree use all of them.
void registerReductions(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TPOPT_TOOLS_TP_REDUCE_REDUCTIONS_H
