// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The exam's programs on compiled ranks, on their own mesh and on those of
// their MESHES lines: the numbers of the whole program.

#include "CompiledProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace tp;

namespace {

struct Item {
  std::string path;
  std::string mesh; ///< `dp=2,tp=3`
};

class Exam : public CompiledProgram,
             public ::testing::WithParamInterface<Item> {};

} // namespace

/// The mesh that `program` declares, as `dp=2,tp=3`; empty if there is none,
/// which fails under the program's name.
static std::string getOwnMesh(StringRef program) {
  llvm::Regex declaration("spmd\\.mesh @mesh <\\[([^]]*)]>");
  SmallVector<StringRef> groups;
  if (!declaration.match(program, &groups))
    return "";
  std::string mesh = groups[1].str();
  llvm::erase_if(mesh, [](char c) { return c == '"' || c == ' '; });
  return mesh;
}

/// Its own mesh, and those of its line `// MESHES: x=3; x=1,y=2`.
static std::vector<std::string> getMeshes(StringRef program) {
  std::vector<std::string> meshes{getOwnMesh(program)};
  StringRef others = program.split("// MESHES: ").second.split('\n').first;
  for (StringRef mesh : llvm::split(others, ';'))
    if (!mesh.trim().empty())
      meshes.push_back(mesh.trim().str());
  return meshes;
}

static std::vector<Item> findItems() {
  std::vector<Item> items;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator file(TPOPT_EXAM, error), end;
       !error && file != end; file.increment(error)) {
    // Loops and conditionals have no steps: Lower says so, with an error.
    if (llvm::sys::path::extension(file->path()) != ".mlir" ||
        StringRef(file->path()).contains("DataFlow"))
      continue;
    auto text = llvm::MemoryBuffer::getFile(file->path());
    if (!text)
      continue;
    for (const std::string &mesh : getMeshes((*text)->getBuffer()))
      items.push_back({file->path(), mesh});
  }
  llvm::sort(items, [](const Item &a, const Item &b) {
    return std::tie(a.path, a.mesh) < std::tie(b.path, b.mesh);
  });
  return items;
}

/// The product of the sizes in `dp=2,tp=3`.
static int countDevices(StringRef mesh) {
  int devices = 1;
  for (StringRef axis : llvm::split(mesh, ',')) {
    int size = 0;
    EXPECT_FALSE(axis.split('=').second.getAsInteger(10, size)) << mesh.str();
    devices *= size;
  }
  return devices;
}

TEST_P(Exam, ComputesTheWholeProgram) {
  const Item &item = GetParam();
  expectWholeProgram(readFile(item.path), item.mesh, countDevices(item.mesh),
                     1e-5);
}

INSTANTIATE_TEST_SUITE_P(Programs, Exam, ::testing::ValuesIn(findItems()),
                         [](const ::testing::TestParamInfo<Item> &info) {
                           std::string name =
                               (llvm::sys::path::stem(info.param.path) + "_" +
                                info.param.mesh)
                                   .str();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !llvm::isAlnum(c); }, '_');
                           return name;
                         });
