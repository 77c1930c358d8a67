// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads machines from JSON.

#include "tpopt/Cost/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace tp;

namespace {

/// One key of a machine file, or of its link.
struct Key {
  llvm::StringLiteral name;
  bool required;
  double *target;
};

/// Reads one object; the first thing that is wrong ends it.
class MachineReader {
public:
  explicit MachineReader(llvm::StringRef path) : path(path) {}

  llvm::Expected<Machine> read(llvm::StringRef text) {
    auto json = llvm::json::parse(text);
    if (!json)
      return fail(llvm::toString(json.takeError()));
    const llvm::json::Object *root = json->getAsObject();
    if (!root)
      return fail("the file is not one JSON object");

    Machine machine;
    machine.name = path.str();
    if (const llvm::json::Value *name = root->get("name")) {
      if (!name->getAsString() || name->getAsString()->empty())
        return fail("\"name\" is a string that is not empty");
      machine.name = name->getAsString()->str();
    }
    if (llvm::Error error =
            readNumbers(*root, {"name", "link"},
                        {{"flops", true, &machine.flops},
                         {"memory_bandwidth", true, &machine.memoryBandwidth},
                         {"memory_bytes", false, &machine.memoryBytes},
                         {"flops_8", false, &machine.flops8},
                         {"flops_32", false, &machine.flops32},
                         {"flops_64", false, &machine.flops64}}))
      return error;

    // Without one, communication would be free.
    const llvm::json::Object *link = root->getObject("link");
    if (!link)
      return fail("\"link\" is missing: write {\"us\": .., \"gbps\": ..}");
    double us = 0, gbps = 0;
    if (llvm::Error error =
            readNumbers(*link, {}, {{"us", true, &us}, {"gbps", true, &gbps}}))
      return error;
    machine.link = {us * 1e-6, 1e-9 / gbps};
    return machine;
  }

private:
  llvm::Error readNumbers(const llvm::json::Object &object,
                          llvm::ArrayRef<llvm::StringRef> others,
                          llvm::ArrayRef<Key> keys) {
    for (const Key &key : keys) {
      const llvm::json::Value *value = object.get(key.name);
      if (!value) {
        if (key.required)
          return fail("\"" + key.name + "\" is missing");
        continue;
      }
      std::optional<double> number = value->getAsNumber();
      if (!number || !std::isfinite(*number) || *number <= 0)
        return fail("\"" + key.name + "\" is a positive number");
      *key.target = *number;
    }
    // Sorted, so that the message does not depend on a hash.
    llvm::SmallVector<llvm::StringRef> names;
    for (const auto &entry : object)
      names.push_back(entry.first);
    llvm::sort(names);
    for (llvm::StringRef name : names)
      if (!llvm::is_contained(others, name) &&
          llvm::none_of(keys, [&](const Key &key) { return key.name == name; }))
        return fail("\"" + name + "\" is no key of a machine");
    return llvm::Error::success();
  }

  llvm::Error fail(const llvm::Twine &what) const {
    return llvm::createStringError(prefix(ErrorCode::BadMachineFile) + path +
                                   ": " + what);
  }

  llvm::StringRef path;
};

} // namespace

llvm::Expected<Machine> tp::parseMachine(llvm::StringRef text,
                                         llvm::StringRef path) {
  return MachineReader(path).read(text);
}
