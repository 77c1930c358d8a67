// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads machines from JSON.

#include "lib/Cost/Machine.h"
#include "lib/Support/JsonFile.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace tp;
using namespace tp::cost;

static llvm::Error makeError(llvm::StringRef path, JsonFile::Position position,
                             const llvm::Twine &what,
                             std::error_code why = {}) {
  std::string place = path.str();
  if (position.line != 0)
    place += ":" + std::to_string(position.line) + ":" +
             std::to_string(position.column);
  return createError(getFileError(why, ErrorCode::BadMachineFile),
                     place + ": " + what);
}

namespace {

/// A key of a machine file or of an object in the file, and the variable in
/// which its number is stored.
struct Key {
  llvm::StringLiteral name;
  bool required;
  double *target;
};

/// Reads one object; stops at the first error.
class MachineReader {
public:
  MachineReader(llvm::StringRef path, const JsonFile &json)
      : path(path), json(json) {}

  llvm::Expected<Machine> read() {
    const llvm::json::Object *root = json.getRoot().getAsObject();
    if (!root)
      return fail({}, "expects a single JSON object in the file");

    Machine machine;
    machine.name = path.str();
    if (const llvm::json::Value *name = root->get("name")) {
      if (!name->getAsString() || name->getAsString()->empty())
        return fail({"name"}, "\"name\" must be a string that is not empty");
      machine.name = name->getAsString()->str();
    }
    if (llvm::Error error =
            readNumbers(*root, {}, {"name", "link", "host"},
                        {{"flops", true, &machine.flops},
                         {"memory_bandwidth", true, &machine.memoryBandwidth},
                         {"memory_bytes", false, &machine.memoryBytes},
                         {"flops_8", false, &machine.flops8},
                         {"flops_32", false, &machine.flops32},
                         {"flops_64", false, &machine.flops64}}))
      return error;

    if (llvm::Error error = readLink(*root, {}, machine.link))
      return error;
    if (const llvm::json::Value *host = root->get("host"))
      if (llvm::Error error = readHost(*host, machine))
        return error;
    return machine;
  }

private:
  using Path = llvm::SmallVector<llvm::StringRef, 2>;

  /// A link is required, as communication would be free without one.
  llvm::Error readLink(const llvm::json::Object &object, Path at, Link &link) {
    at.push_back("link");
    const llvm::json::Object *own = object.getObject("link");
    if (!own)
      return fail(at, "\"link\" is missing: write {\"us\": .., \"gbps\": ..}");
    double us = 0, gbps = 0;
    if (llvm::Error error = readNumbers(
            *own, at, {}, {{"us", true, &us}, {"gbps", true, &gbps}}))
      return error;
    link = {us * 1e-6, 1e-9 / gbps};
    return llvm::Error::success();
  }

  llvm::Error readHost(const llvm::json::Value &value, Machine &machine) {
    const llvm::json::Object *host = value.getAsObject();
    if (!host)
      return fail({"host"}, "\"host\" must be {\"devices\": .., \"link\": ..}");
    double devices = 0;
    if (llvm::Error error = readNumbers(*host, {"host"}, {"link"},
                                        {{"devices", true, &devices}}))
      return error;
    if (devices != std::floor(devices) || devices > kMaxDevices)
      return fail({"host", "devices"},
                  "\"devices\" must be a whole number of at most " +
                      llvm::Twine(kMaxDevices));
    machine.hostDevices = static_cast<int64_t>(devices);
    return readLink(*host, {"host"}, machine.hostLink);
  }

  /// Reads the numbers with the keys `keys` from the object at path `at`. Keys
  /// that are neither in `keys` nor in `others` are errors.
  llvm::Error readNumbers(const llvm::json::Object &object, const Path &at,
                          llvm::ArrayRef<llvm::StringRef> others,
                          llvm::ArrayRef<Key> keys) {
    auto failAt = [&](llvm::StringRef name, const llvm::Twine &what) {
      Path place = at;
      place.push_back(name);
      return fail(place, what);
    };
    for (const Key &key : keys) {
      const llvm::json::Value *value = object.get(key.name);
      if (!value) {
        if (key.required)
          return failAt(key.name, "\"" + key.name + "\" is missing");
        continue;
      }
      std::optional<double> number = value->getAsNumber();
      if (!number || !std::isfinite(*number) || *number <= 0)
        return failAt(key.name,
                      "\"" + key.name + "\" must be a positive number");
      *key.target = *number;
    }
    // Sorted, so that the message does not depend on the order in a hash table.
    llvm::SmallVector<llvm::StringRef> names;
    for (const auto &entry : object)
      names.push_back(entry.first);
    llvm::sort(names);
    for (llvm::StringRef name : names)
      if (!llvm::is_contained(others, name) &&
          llvm::none_of(keys, [&](const Key &key) { return key.name == name; }))
        return failAt(name, "\"" + name + "\" is not a key of a machine file");
    return llvm::Error::success();
  }

  llvm::Error fail(const Path &at, const llvm::Twine &what) const {
    return makeError(path, json.find(at), what);
  }

  llvm::StringRef path;
  const JsonFile &json;
};

} // namespace

static llvm::Expected<Machine>
read(llvm::StringRef path,
     const std::variant<JsonFile, JsonFile::Error> &parsed) {
  if (const auto *error = std::get_if<JsonFile::Error>(&parsed))
    return makeError(path, error->position, error->message, error->why);
  return MachineReader(path, std::get<JsonFile>(parsed)).read();
}

llvm::Expected<Machine> tp::cost::parseMachine(llvm::StringRef text,
                                               llvm::StringRef path) {
  return read(path, JsonFile::parse(text));
}

llvm::Expected<Machine> tp::cost::readMachineFile(llvm::StringRef path) {
  constexpr uint64_t maxBytes = 1 << 20;
  return read(path, JsonFile::read(path, maxBytes));
}
