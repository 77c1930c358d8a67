// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowProduct.h"

#include <map>

using namespace mlir;
using namespace tp;

RowProduct::RowProduct(EinsumOp op, unsigned rowsOperand)
    : op(op), rows(op->getOperand(rowsOperand)),
      other(op->getOperand(1 - rowsOperand)) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  rowsTerm = (rowsOperand == 0 ? terms.lhs : terms.rhs).str();
  otherTerm = (rowsOperand == 0 ? terms.rhs : terms.lhs).str();
  result = terms.result.str();
}

bool RowProduct::hasOwn(char letter) const {
  return StringRef(result).contains(letter) &&
         !StringRef(otherTerm).contains(letter);
}

void RowProduct::rename(StringRef letters) {
  std::map<char, char> names;
  for (auto [from, to] : llvm::zip_equal(rowsTerm, letters))
    names[from] = to;
  auto getNext = [](char letter) {
    return letter == 'z' ? 'A' : char(letter + 1);
  };
  char next = 'a';
  auto getName = [&](char from) {
    auto [it, isNew] = names.try_emplace(from);
    if (isNew) {
      while (letters.contains(next))
        next = getNext(next);
      it->second = next;
      next = getNext(next);
    }
    return it->second;
  };
  for (std::string *term : {&rowsTerm, &otherTerm, &result})
    for (char &letter : *term)
      letter = getName(letter);
}
