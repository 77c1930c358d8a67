// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the words of a recipe are read. What is refused: test/Train/invalid.test.

#include "passes/Train/Recipe.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tp;

namespace {
class RecipeTest : public testing::Test {
protected:
  RecipeTest()
      : handler(&context, [this](Diagnostic &error) { last = error.str(); }) {}

  FailureOr<Arguments> parse(StringRef text) {
    return Arguments::parse(text, "optimizer", ErrorCode::BadOptimizer,
                            UnknownLoc::get(&context));
  }
  FailureOr<Recipe> parse(const RecipeText &text) {
    return Recipe::parse(text, UnknownLoc::get(&context));
  }

  MLIRContext context;
  std::string last;
  ScopedDiagnosticHandler handler;
};
} // namespace

TEST_F(RecipeTest, ArgumentsOfAName) {
  FailureOr<Arguments> parsed =
      parse(" adamw ( lr = 3e-4, betas=(0.9 , 0.95),fused=true ) ");
  ASSERT_TRUE(succeeded(parsed));
  EXPECT_EQ(parsed->getName(), "adamw");
  EXPECT_EQ(parsed->getNumber("lr", 1, kNotNegative), 3e-4);
  EXPECT_EQ(parsed->getPair("betas", {0, 0}, kDecay),
            (std::pair<double, double>(0.9, 0.95)));
  EXPECT_TRUE(failed(parsed->finish()));
  EXPECT_NE(
      last.find("'adamw' has no argument 'fused': write one of lr, betas"),
      std::string::npos)
      << last;
}

TEST_F(RecipeTest, ArgumentsThatAreNotGivenHaveDefaults) {
  for (StringRef text : {"sgd", "sgd()"}) {
    FailureOr<Arguments> parsed = parse(text);
    ASSERT_TRUE(succeeded(parsed));
    EXPECT_EQ(parsed->getNumber("lr", 1e-3, kNotNegative), 1e-3);
    EXPECT_EQ(parsed->getSteps("steps"), std::nullopt);
    EXPECT_FALSE(parsed->getFlag("nesterov"));
    EXPECT_TRUE(succeeded(parsed->finish()));
  }
}

TEST_F(RecipeTest, TextThatIsNoNameWithArguments) {
  for (StringRef text :
       {"", "sgd(", "sgd)", "sgd(lr)", "sgd(lr=)", "sgd(=1)", "sgd(lr=1)x",
        "sgd lr", "(lr=1)", "sgd(lr=1,lr=2)", "sgd(lr=1,,)"})
    EXPECT_TRUE(failed(parse(text))) << text.str();
}

TEST_F(RecipeTest, NumbersHaveRanges) {
  auto accepts = [&](StringRef text, const NumberRange &range) {
    FailureOr<Arguments> parsed = parse(("sgd(x=" + text + ")").str());
    (void)parsed->getNumber("x", 0, range);
    return succeeded(parsed->finish());
  };
  EXPECT_TRUE(accepts("0", kDecay));
  EXPECT_FALSE(accepts("1", kDecay));
  EXPECT_TRUE(accepts("1", kShare));
  EXPECT_FALSE(accepts("1.5", kShare));
  EXPECT_FALSE(accepts("0", kPositive));
  EXPECT_TRUE(accepts("1e-30", kPositive));
  EXPECT_TRUE(accepts("-0.8", kNotPositive));
  EXPECT_TRUE(accepts("0", kNotPositive));
  EXPECT_FALSE(accepts("0.1", kNotPositive));
  EXPECT_FALSE(accepts("0.9", kAtLeastOne));
  for (StringRef text : {"nan", "inf", "1e999", "1x", "(1)"})
    EXPECT_FALSE(accepts(text, kNotNegative)) << text.str();
}

TEST_F(RecipeTest, DecayIsMaskedByNames) {
  RecipeText text;
  text.loss = "loss";
  text.optimizer = "adamw";
  text.decay = "layers.*,{head,embed}.weight";
  text.noDecay = "*.bias,*norm.weight";
  FailureOr<Recipe> recipe = parse(text);
  ASSERT_TRUE(succeeded(recipe)) << last;
  EXPECT_TRUE(recipe->decays("model.layers.0.mlp.weight"));
  EXPECT_TRUE(recipe->decays("embed.weight"));
  EXPECT_FALSE(recipe->decays("layers.0.mlp.bias"));
  EXPECT_FALSE(recipe->decays("layers.0.norm.weight"));
  EXPECT_FALSE(recipe->decays("other.weight"));
  text.decay.clear();
  EXPECT_TRUE(parse(text)->decays("other.weight"));
}

TEST_F(RecipeTest, AllWords) {
  RecipeText text;
  text.loss = "loss";
  text.weight = "tokens";
  text.train = "layers.*";
  text.optimizer = "sgd(momentum=0.9)";
  text.schedule = "cosine(warmup=10,steps=100,min=0.1)";
  text.clip = "0.5";
  text.accumulate = "8";
  text.master = "f32";
  FailureOr<Recipe> recipe = parse(text);
  ASSERT_TRUE(succeeded(recipe)) << last;
  EXPECT_EQ(recipe->optimizer->getName(), "sgd");
  EXPECT_EQ(recipe->optimizer->getRate(), 1e-3);
  EXPECT_EQ(recipe->optimizer->getStates(2).size(), 1u);
  EXPECT_EQ(recipe->clip, 0.5);
  EXPECT_EQ(recipe->accumulate, 8);
  EXPECT_TRUE(recipe->master);
  EXPECT_EQ(recipe->train.size(), 1u);
}
