// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Rule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <numeric>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

bool ShardingRule::hasFactor(unsigned i, unsigned factor) const {
  return llvm::any_of(getTensor(i), [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// Marks the factors that are in no result as reductions.
static void markReductions(ShardingRule &rule) {
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    bool inResult = llvm::any_of(rule.results, [&](const TensorFactors &t) {
      return llvm::any_of(
          t, [&](const DimFactors &dim) { return llvm::is_contained(dim, f); });
    });
    if (!inResult && rule.factors[f].kind == FactorKind::PassThrough)
      rule.factors[f].kind = FactorKind::Reduction;
  }
}

namespace {

/// Reads one equation. A letter gets a factor where it first occurs. `...` gets
/// one factor for each dimension that it covers, counted from the right so that
/// ranks may differ.
class EquationParser {
public:
  EquationParser(StringRef equation, unsigned numOperands, unsigned numResults)
      : equation(equation) {
    rule.operands.resize(numOperands);
    rule.results.resize(numResults);
  }

  llvm::Expected<ShardingRule> parse(ArrayRef<ArrayRef<int64_t>> operandShapes,
                                     ArrayRef<ArrayRef<int64_t>> resultShapes) {
    auto [left, right] = equation.split("->");
    if (!equation.contains("->"))
      return error("the equation has no '->'");
    if (auto err = parseSide(left, operandShapes, rule.operands, "operand"))
      return std::move(err);
    if (auto err = parseSide(right, resultShapes, rule.results, "result"))
      return std::move(err);
    for (const Factor &info : rule.factors)
      if (info.size == unknownSize)
        return error("the size of letter '" +
                     llvm::Twine(info.name ? info.name : '?') +
                     "' cannot be determined");
    if (auto err = checkProducts(rule.operands, operandShapes, "operand"))
      return std::move(err);
    if (auto err = checkProducts(rule.results, resultShapes, "result"))
      return std::move(err);
    markReductions(rule);
    return std::move(rule);
  }

private:
  /// Describes the tensor being parsed, for errors.
  std::string getPlace() const {
    return (place.first + " #" + llvm::Twine(place.second)).str();
  }

  /// The size of a factor that no dimension has determined yet.
  static constexpr int64_t unknownSize = -1;

  llvm::Error error(const llvm::Twine &why) {
    return llvm::createStringError("equation \"" + equation + "\": " + why);
  }

  llvm::Error wrongProduct(size_t dim, const llvm::Twine &what, int64_t size,
                           int64_t product) {
    return error("dimension " + llvm::Twine(dim) + " of " + what +
                 " has size " + llvm::Twine(size) +
                 ", but the sizes of its letters multiply to " +
                 llvm::Twine(product));
  }

  /// Checks the products that could not be checked while factors were unknown.
  llvm::Error checkProducts(ArrayRef<TensorFactors> tensors,
                            ArrayRef<ArrayRef<int64_t>> shapes,
                            StringRef what) {
    for (size_t i = 0; i < tensors.size(); ++i)
      for (size_t dim = 0; dim < tensors[i].size(); ++dim) {
        int64_t product = 1;
        for (unsigned f : tensors[i][dim])
          product *= rule.factors[f].size;
        if (product != shapes[i][dim])
          return wrongProduct(dim, what + " #" + llvm::Twine(i), shapes[i][dim],
                              product);
      }
    return llvm::Error::success();
  }

  llvm::Error parseSide(StringRef side, ArrayRef<ArrayRef<int64_t>> shapes,
                        llvm::MutableArrayRef<TensorFactors> tensors,
                        StringRef what) {
    SmallVector<StringRef> terms;
    if (!side.trim().empty() || !shapes.empty())
      side.split(terms, ',');
    if (terms.size() != shapes.size())
      return error("the equation has " + llvm::Twine(terms.size()) + " " +
                   what + "s, but the op has " + llvm::Twine(shapes.size()));
    for (auto [index, term] : llvm::enumerate(terms)) {
      place = {what, unsigned(index)};
      if (auto err = parseTerm(term.trim(), shapes[index], tensors[index]))
        return err;
    }
    return llvm::Error::success();
  }

  llvm::Error parseTerm(StringRef term, ArrayRef<int64_t> shape,
                        TensorFactors &dims) {
    // The number of dimensions that `...` covers: those without a written
    // letter.
    unsigned written = 0;
    bool ellipsis = term.contains("...");
    for (StringRef rest = term; !rest.empty();) {
      if (rest.consume_front("...") || rest.consume_front("!") ||
          rest.consume_front("~"))
        continue;
      ++written;
      // A missing ')' ends the term here and is reported below.
      rest = rest.front() == '(' ? rest.split(')').second : rest.drop_front();
    }
    if (written > shape.size() || (!ellipsis && written != shape.size()))
      return error(getPlace() + " has " + llvm::Twine(written) +
                   " dimensions in the equation, but " +
                   llvm::Twine(shape.size()) + " in its type");
    unsigned hidden = shape.size() - written;

    for (StringRef rest = term; !rest.empty();) {
      if (rest.consume_front("...")) {
        for (unsigned i = hidden; i > 0; --i)
          if (auto err = addDim({getEllipsisFactor(i)}, shape, dims))
            return err;
        continue;
      }
      DimFactors factors;
      bool group = rest.consume_front("(");
      do {
        if (rest.empty())
          return error("'(' is never closed in " + getPlace());
        char letter = rest.front();
        rest = rest.drop_front();
        if (group && letter == ')')
          break;
        if (letter == '1' && !group)
          break; // a dimension without a factor
        if (!llvm::isAlpha(letter))
          return error("'" + llvm::Twine(letter) + "' in " + getPlace() +
                       " is not a letter");
        unsigned factor = getFactor(letter);
        if (rest.consume_front("!"))
          rule.factors[factor].kind = FactorKind::Whole;
        else if (rest.consume_front("~"))
          rule.factors[factor].kind = FactorKind::Exchanged;
        factors.push_back(factor);
      } while (group);
      if (auto err = addDim(factors, shape, dims))
        return err;
    }
    return llvm::Error::success();
  }

  llvm::Error addDim(const DimFactors &factors, ArrayRef<int64_t> shape,
                     TensorFactors &dims) {
    int64_t size = shape[dims.size()];
    int64_t known = 1;
    unsigned numUnknown = 0;
    Factor *unknown = nullptr;
    for (unsigned f : factors) {
      if (rule.factors[f].size == unknownSize) {
        unknown = &rule.factors[f];
        ++numUnknown;
      } else {
        known *= rule.factors[f].size;
      }
    }
    // If one factor is unknown, it gets the quotient. If several are unknown,
    // they may become known only when the whole equation has been read.
    if (numUnknown == 1 && known != 0 && size % known == 0) {
      unknown->size = size / known;
      known = size;
    }
    if (numUnknown <= 1 && known != size) {
      if (factors.size() == 1)
        return error("letter '" +
                     llvm::Twine(rule.factors[factors[0]].name
                                     ? rule.factors[factors[0]].name
                                     : '.') +
                     "' has size " + llvm::Twine(known) + ", but dimension " +
                     llvm::Twine(dims.size()) + " of " + getPlace() +
                     " has size " + llvm::Twine(size));
      return wrongProduct(dims.size(), getPlace(), size, known);
    }
    for (const DimFactors &dim : dims)
      for (unsigned f : factors)
        if (llvm::is_contained(dim, f))
          return error("'" + llvm::Twine(rule.factors[f].name) +
                       "' appears twice in " + getPlace());
    dims.push_back(factors);
    return llvm::Error::success();
  }

  unsigned getFactor(char letter) { return getFactor(letters[letter], letter); }

  /// The factor of one of the dimensions that `...` covers. `fromRight` is 1
  /// for the last of these dimensions, 2 for the one before it, and so on.
  unsigned getEllipsisFactor(unsigned fromRight) {
    if (ellipsis.size() < fromRight)
      ellipsis.resize(fromRight, 0);
    return getFactor(ellipsis[fromRight - 1], /*name=*/0);
  }

  template <typename Number> unsigned getFactor(Number &entry, char name) {
    if (entry == 0) {
      Factor factor;
      factor.size = unknownSize;
      factor.name = name;
      rule.factors.push_back(factor);
      entry = rule.factors.size();
    }
    return entry - 1;
  }

  StringRef equation;
  std::pair<StringRef, unsigned> place;
  ShardingRule rule;
  /// The factor plus 1 of each letter, and of each dimension that `...` covers;
  /// 0 if it has no factor yet.
  std::array<unsigned, 128> letters{};
  SmallVector<unsigned, 4> ellipsis;
};

} // namespace

llvm::Expected<ShardingRule>
ShardingRule::parse(StringRef equation, ArrayRef<ArrayRef<int64_t>> operands,
                    ArrayRef<ArrayRef<int64_t>> results) {
  return EquationParser(equation, operands.size(), results.size())
      .parse(operands, results);
}

void ShardingRule::print(llvm::raw_ostream &os) const {
  // Factors keep their letters in the equation; those without a letter get an
  // unused one.
  SmallVector<char> names;
  std::string free = "zyxwutsrqponmlkjihgfedcbavZYXWVUTSRQPONMLKJIHGFEDCBA";
  for (const Factor &factor : factors)
    if (factor.name)
      free.erase(std::remove(free.begin(), free.end(), factor.name),
                 free.end());
  for (const Factor &factor : factors) {
    if (factor.name) {
      names.push_back(factor.name);
    } else {
      names.push_back(free.empty() ? '?' : free.back());
      if (!free.empty())
        free.pop_back();
    }
  }
  auto printTensor = [&](const TensorFactors &tensor) {
    for (const DimFactors &dim : tensor) {
      if (dim.empty())
        os << '1';
      if (dim.size() > 1)
        os << '(';
      for (unsigned f : dim) {
        os << names[f];
        if (factors[f].kind == FactorKind::Whole)
          os << '!';
        else if (factors[f].kind == FactorKind::Exchanged)
          os << '~';
      }
      if (dim.size() > 1)
        os << ')';
    }
  };
  llvm::interleave(operands, os, printTensor, ",");
  os << "->";
  llvm::interleave(results, os, printTensor, ",");
  os << " {";
  llvm::interleaveComma(
      llvm::seq<unsigned>(0, factors.size()), os,
      [&](unsigned f) { os << names[f] << '=' << factors[f].size; });
  os << '}';
}

RuleBuilder::RuleBuilder(unsigned numOperands, unsigned numResults) {
  rule.operands.resize(numOperands);
  rule.results.resize(numResults);
}

unsigned RuleBuilder::addFactor(int64_t size, FactorKind kind,
                                ReduceKind reduce) {
  Factor factor;
  factor.size = size;
  factor.kind = kind;
  factor.reduce = reduce;
  rule.factors.push_back(factor);
  return rule.factors.size() - 1;
}

void RuleBuilder::addDim(unsigned tensor, ArrayRef<unsigned> factors) {
  TensorFactors &dims = tensor < rule.operands.size()
                            ? rule.operands[tensor]
                            : rule.results[tensor - rule.operands.size()];
  dims.emplace_back(factors.begin(), factors.end());
}

ShardingRule RuleBuilder::build() {
  markReductions(rule);
  return std::move(rule);
}

ShardingRule tp::makeElementwiseRule(unsigned numOperands,
                                     ArrayRef<int64_t> shape) {
  RuleBuilder builder(numOperands, 1);
  for (int64_t size : shape) {
    unsigned factor = builder.addFactor(size);
    for (unsigned tensor = 0; tensor <= numOperands; ++tensor)
      builder.addDim(tensor, factor);
  }
  return builder.build();
}

ShardingRule tp::makeBlockRule(ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> counts, bool toBlock) {
  RuleBuilder builder(1, 1);
  unsigned whole = toBlock ? 0 : 1, block = 1 - whole;
  for (auto [size, count] : llvm::zip_equal(shape, counts)) {
    BlockLayout blocks{size, count};
    FactorKind kind =
        blocks.isUneven() ? FactorKind::Whole : FactorKind::PassThrough;
    unsigned own = builder.addFactor(blocks.block(), kind);
    builder.addDim(block, own);
    if (blocks.isUneven())
      builder.addDim(whole, builder.addFactor(size, kind));
    else if (count == 1)
      builder.addDim(whole, own);
    else
      builder.addDim(whole, {builder.addFactor(count, FactorKind::Whole), own});
  }
  return builder.build();
}

ShardingRule tp::makeReshapeRule(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  RuleBuilder builder(1, 1);
  SmallVector<DimFactors> left(from.size()), right(to.size());
  // Walks both shapes from the major end. `i` and `j` are dimensions with `a`
  // and `b` elements not yet given to a factor.
  size_t i = 0, j = 0;
  int64_t a = from.empty() ? 1 : from[0], b = to.empty() ? 1 : to[0];
  // Moves on to the next dimension that has elements left.
  auto advance = [](ArrayRef<int64_t> shape, size_t &dim, int64_t &rest) {
    while (dim < shape.size() && rest == 1)
      rest = ++dim < shape.size() ? shape[dim] : 1;
  };
  if (llvm::is_contained(from, 0) || llvm::is_contained(to, 0))
    i = from.size(), j = to.size();
  advance(from, i, a);
  advance(to, j, b);
  while (i < from.size() && j < to.size()) {
    int64_t common = std::gcd(a, b);
    if (common > 1 && (common == a || common == b)) {
      unsigned f = builder.addFactor(common);
      left[i].push_back(f);
      right[j].push_back(f);
      a /= common;
      b /= common;
    } else {
      // From here on, the two shapes have no common boundary until the products
      // of their dimensions agree. Only the gcd of `a` and `b` is a common
      // factor.
      if (common > 1) {
        unsigned f = builder.addFactor(common);
        left[i].push_back(f);
        right[j].push_back(f);
        a /= common;
        b /= common;
      }
      int64_t doneA = a, doneB = b;
      left[i].push_back(builder.addFactor(a, FactorKind::Whole));
      right[j].push_back(builder.addFactor(b, FactorKind::Whole));
      a = b = 1;
      while (doneA != doneB) {
        bool takeA = doneA < doneB;
        size_t &dim = takeA ? i : j;
        ArrayRef<int64_t> shape = takeA ? from : to;
        int64_t size = ++dim < shape.size() ? shape[dim] : 1;
        if (dim >= shape.size())
          break; // only if the shapes have different numbers of elements
        // A dimension that ends inside a dimension of the other shape becomes
        // one Whole factor. The other shape may contain the dimension's minor
        // part, too, but then blocks of this part differ in the two shapes.
        (takeA ? left : right)[dim].push_back(
            builder.addFactor(size, FactorKind::Whole));
        (takeA ? doneA : doneB) *= size;
      }
    }
    advance(from, i, a);
    advance(to, j, b);
  }
  for (const DimFactors &dim : left)
    builder.addDim(0, dim);
  for (const DimFactors &dim : right)
    builder.addDim(1, dim);
  return builder.build();
}
