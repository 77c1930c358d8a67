// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reductions.h"

#include "Functions.h"

#include "mlir/Reducer/ReductionPatternInterface.h"

#include <memory>

using namespace mlir;
using namespace tp;

namespace {

class Reduce : public OpRewritePattern<func::FuncOp> {
public:
  Reduce(MLIRContext *context, Reduction reduction,
         std::shared_ptr<Trials> trials)
      : OpRewritePattern(context), reduction(reduction),
        trials(std::move(trials)) {}

  LogicalResult matchAndRewrite(func::FuncOp function,
                                PatternRewriter &rewriter) const override {
    return success(endsInReturn(function) &&
                   reduction(function, rewriter, *trials));
  }

private:
  const Reduction reduction;
  const std::shared_ptr<Trials> trials;
};

/// Erases operations of the module that nothing uses any more.
class EraseFromModule : public RewritePattern {
public:
  EraseFromModule(MLIRContext *context, std::shared_ptr<Trials> trials)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context),
        trials(std::move(trials)) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return success(isa_and_nonnull<ModuleOp>(op->getParentOp()) &&
                   trials->erase(op, rewriter));
  }

private:
  const std::shared_ptr<Trials> trials;
};

class ReductionInterface : public DialectReductionPatternInterface {
public:
  explicit ReductionInterface(Dialect *dialect)
      : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &) const override {}

  void populateReductionPatternsWithTester(RewritePatternSet &patterns,
                                           Tester &tester) const override {
    auto trials = std::make_shared<Trials>(tester);
    for (ArrayRef<Reduction> reductions :
         {getBodyReductions(), getSignatureReductions(), getRegionReductions(),
          getAttributeReductions()})
      for (Reduction reduction : reductions)
        patterns.add<Reduce>(patterns.getContext(), reduction, trials);
    patterns.add<EraseFromModule>(patterns.getContext(), trials);
  }
};

} // namespace

void tp::registerReductions(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, func::FuncDialect *dialect) {
    dialect->addInterfaces<ReductionInterface>();
  });
}
