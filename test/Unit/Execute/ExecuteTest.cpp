// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs of Inputs/ on 1, 2 and 3 ranks give what the whole program does.
// Sizes are uneven on most of these meshes.

#include "CompiledProgram.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

using namespace mlir;
using namespace tp;

namespace {

/// A program of Inputs/, and by how much f32 may differ from doubles.
struct Case {
  const char *name;
  double tolerance;
};

/// A case on a mesh whose axis has so many devices.
using Parameter = std::tuple<Case, int>;

class Execute : public CompiledProgram,
                public ::testing::WithParamInterface<Parameter> {
protected:
  std::string getSource() {
    return readFile(std::string(TPOPT_TEST_INPUTS) + "/" +
                    std::get<0>(GetParam()).name + ".mlir");
  }

  /// The program's one axis, with the devices of the parameter.
  std::string getMesh() {
    OwningOpRef<ModuleOp> module = parse(getSource());
    spmd::MeshOp mesh = *module->getOps<spmd::MeshOp>().begin();
    return (mesh.getMesh().getNames()[0].getValue() + "=" +
            std::to_string(std::get<1>(GetParam())))
        .str();
  }
};

} // namespace

TEST_P(Execute, ComputesTheWholeProgram) {
  const auto &[program, ranks] = GetParam();
  expectWholeProgram(getSource(), getMesh(), ranks, program.tolerance);
}

TEST_P(Execute, GivesTheSameBytesTwice) {
  std::string bytes = compile(getSource(), getMesh());
  EXPECT_FALSE(bytes.empty());
  EXPECT_TRUE(bytes == compile(getSource(), getMesh()));
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Execute,
    ::testing::Combine(
        ::testing::Values(Case{"mlp", 0}, Case{"embedding", 0},
                          Case{"cache", 0}, Case{"rotary-cache", 1e-6},
                          Case{"movement", 0}, Case{"norms", 2e-6},
                          Case{"attention", 1e-5}, Case{"exchange", 0},
                          Case{"scatter", 0}, Case{"sort", 0},
                          Case{"loops", 1e-6}, Case{"branches", 0},
                          Case{"mixed", 8e-3}),
        ::testing::Values(1, 2, 3)),
    [](const ::testing::TestParamInfo<Parameter> &info) {
      std::string name = std::get<0>(info.param).name;
      llvm::erase(name, '-'); // a name of a test is an identifier
      return name + "On" + std::to_string(std::get<1>(info.param));
    });
