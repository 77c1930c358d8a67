// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NamePattern.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace tp;

llvm::Expected<NamePattern> NamePattern::create(MLIRContext *context,
                                                StringRef text) {
  StringRef owned = StringAttr::get(context, text);
  llvm::Expected<llvm::GlobPattern> glob =
      llvm::GlobPattern::create(owned, /*MaxSubPatterns=*/64);
  if (!glob)
    return glob.takeError();
  return NamePattern(owned, std::move(*glob));
}

llvm::Expected<std::vector<NamePattern>>
NamePattern::createList(MLIRContext *context, StringRef text) {
  std::vector<NamePattern> patterns;
  while (!text.empty()) {
    unsigned depth = 0;
    size_t end = 0;
    for (; end < text.size() && (depth || text[end] != ','); ++end)
      if (StringRef("{[").contains(text[end]))
        ++depth;
      else if (depth && StringRef("}]").contains(text[end]))
        --depth;
    llvm::Expected<NamePattern> pattern = create(context, text.take_front(end));
    if (!pattern)
      return pattern.takeError();
    patterns.push_back(std::move(*pattern));
    text = text.drop_front(std::min(end + 1, text.size()));
  }
  return patterns;
}

/// Returns the name of the module that the tensor `name` belongs to: removes
/// `#number`, `.weight` and `.bias` from the end.
static StringRef getModule(StringRef name) {
  StringRef tensor = name.split('#').first;
  if (!tensor.consume_back(".weight"))
    tensor.consume_back(".bias");
  return tensor;
}

SmallVector<StringRef, 6> tp::getNameForms(StringRef name) {
  SmallVector<StringRef, 6> forms;
  StringRef relative = name;
  relative.consume_front("model.");
  for (StringRef form : {name, relative})
    for (StringRef shorter : {form, form.split('#').first, getModule(form)})
      if (!llvm::is_contained(forms, shorter))
        forms.push_back(shorter);
  return forms;
}

bool NamePattern::matches(StringRef name) const {
  return llvm::any_of(getNameForms(name),
                      [&](StringRef form) { return matchesWhole(form); });
}

std::string tp::writeNumbersAsStars(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

std::string tp::getNearNames(StringRef pattern, ArrayRef<StringRef> names) {
  std::set<std::string> distinct;
  for (StringRef name : names) {
    name.consume_front("model.");
    distinct.insert(writeNumbersAsStars(name));
  }
  SmallVector<std::pair<unsigned, std::string>> ranked;
  for (const std::string &name : distinct)
    ranked.push_back({std::min(pattern.edit_distance(name),
                               pattern.edit_distance(getModule(name))),
                      name});
  llvm::sort(ranked);
  std::string text;
  for (auto &[distance, name] : llvm::make_range(
           ranked.begin(), ranked.begin() + std::min<size_t>(3, ranked.size())))
    text += (text.empty() ? "" : ", ") + name;
  return text;
}
