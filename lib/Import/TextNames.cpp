// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Import/TextNames.h"

#include "dialects/TP/Interface.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"

#include <vector>

using namespace mlir;
using namespace tp;

/// Returns true if a character may be in the name of a value.
static bool isNameChar(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-';
}

/// Returns true for the names that a printer gives to values without a name.
static bool isNumber(StringRef name) {
  name.consume_front("arg");
  return llvm::all_of(name, llvm::isDigit);
}

namespace {
class TextNames {
public:
  explicit TextNames(llvm::MemoryBufferRef text) : text(text) {
    StringRef rest = text.getBuffer();
    while (!rest.empty()) {
      auto [line, behind] = rest.split('\n');
      lines.push_back(line);
      rest = behind;
    }
  }

  void give(Operation *op) const {
    if (op->getNumResults() == 1)
      if (StringRef name = getNameBefore(op->getLoc()); !name.empty())
        op->setLoc(withTextName(op->getLoc(), name));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (StringRef name = getNameAt(argument.getLoc()); !name.empty())
            argument.setLoc(withTextName(argument.getLoc(), name));
  }

private:
  /// Returns the line of the text that contains a location, and the part of the
  /// line before it; empty for locations outside the text.
  std::pair<StringRef, StringRef> find(Location location) const {
    auto place = dyn_cast<FileLineColLoc>(location);
    if (!place || place.getFilename() != text.getBufferIdentifier() ||
        place.getLine() == 0 || place.getLine() > lines.size())
      return {};
    StringRef line = lines[place.getLine() - 1];
    return {line, line.take_front(std::max(1u, place.getColumn()) - 1)};
  }

  /// Returns the name of an argument, such as `up` for the location of `%up:
  /// tensor<..>`.
  StringRef getNameAt(Location location) const {
    auto [line, before] = find(location);
    StringRef name = line.drop_front(before.size());
    if (!name.consume_front("%"))
      return {};
    name = name.take_while(isNameChar);
    return isNumber(name) ? StringRef() : name;
  }

  /// Returns the name of an op's result, such as `h` for the location of
  /// `tp.exp` in `%h = tp.exp %x`.
  StringRef getNameBefore(Location location) const {
    StringRef before = find(location).second.rtrim();
    if (!before.consume_back("="))
      return {};
    before = before.rtrim();
    size_t size = 0;
    while (size < before.size() && isNameChar(before[before.size() - size - 1]))
      ++size;
    StringRef name = before.take_back(size);
    bool isName = before.drop_back(size).ends_with("%") && !isNumber(name);
    return isName ? name : StringRef();
  }

  llvm::MemoryBufferRef text;
  std::vector<StringRef> lines;
};
} // namespace

void tp::keepTextNames(Operation *program, llvm::MemoryBufferRef text) {
  TextNames names(text);
  program->walk([&](Operation *op) { names.give(op); });
}
