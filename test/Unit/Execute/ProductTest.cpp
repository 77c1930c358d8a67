// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products whose operands are broadcast, transposed or sliced, in sizes that
// the matrix library computes and in some that it does not, against the
// interpreter.

#include "CompiledProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>
#include <map>

using namespace tp;

namespace {

/// Writes a program of random products, each with operands of its own.
class Products {
public:
  explicit Products(unsigned seed) : engine(seed) {}
  std::string write(unsigned count);

private:
  bool percent(unsigned chance) { return engine() % 100 < chance; }
  std::string getType(const std::string &letters, unsigned extra = 0) {
    std::string type = "tensor<";
    for (char letter : letters)
      type += std::to_string(sizes[letter] + extra) + "x";
    return type + element + ">";
  }
  std::string shuffle(std::string letters) {
    std::shuffle(letters.begin(), letters.end(), engine);
    return letters;
  }
  std::string addOperand(const std::string &letters);
  void addProduct();

  std::mt19937 engine;
  std::map<char, int> sizes; ///< Of the letters of the current product.
  std::string element;
  unsigned numValues = 0;
  std::vector<std::string> arguments, lines, results, types;
};

class RandomProducts : public CompiledProgram,
                       public ::testing::WithParamInterface<unsigned> {};

} // namespace

/// A tensor of these letters that has only some of them to begin with.
std::string Products::addOperand(const std::string &letters) {
  std::string own;
  for (char letter : letters)
    if (!percent(25))
      own += letter;
  std::string name = "%a" + std::to_string(arguments.size());
  unsigned extra = percent(20) && !own.empty(); // one more row of each
  arguments.push_back(name + ": " + getType(own, extra));
  auto define = [&](const std::string &op, const std::string &from,
                    const std::string &to) {
    std::string next = "%v" + std::to_string(numValues++);
    lines.push_back(next + " = tp." + op + " : " + from + " -> " + to);
    name = next;
  };
  if (extra)
    define("slice " + name + " starts = [" +
               llvm::join(std::vector<std::string>(own.size(), "1"), ", ") +
               "] strides = [" +
               llvm::join(std::vector<std::string>(own.size(), "1"), ", ") +
               "]",
           getType(own, extra), getType(own));
  if (own == letters)
    return name;
  std::vector<std::string> dims;
  for (char letter : own)
    dims.push_back(std::to_string(letters.find(letter)));
  define("broadcast " + name + " dims = [" + llvm::join(dims, ", ") + "]",
         getType(own), getType(letters));
  return name;
}

void Products::addProduct() {
  element = percent(30) ? "bf16" : "f32";
  std::string a = "ik", b = "kj", c = "ij";
  for (char batch : {'x', 'y'})
    if (percent(30)) {
      a += batch;
      b += batch;
      c += batch;
    }
  for (char letter : a + b)
    sizes[letter] = std::array{1, 2, 3, 9, 17, 33}[engine() % 6];
  sizes['x'] = 2, sizes['y'] = 3;
  a = shuffle(a), b = shuffle(b);
  if (percent(50))
    c = shuffle(c);
  std::string left = addOperand(a), right = addOperand(b);
  std::string value = "%v" + std::to_string(numValues++);
  lines.push_back(value + " = tp.einsum \"" + a + "," + b + "->" + c + "\" " +
                  left + ", " + right + " : (" + getType(a) + ", " +
                  getType(b) + ") -> " + getType(c));
  if (percent(40)) {
    std::string other = addOperand(c), sum = "%v" + std::to_string(numValues++);
    lines.push_back(sum + " = tp.add " + value + ", " + other + " : " +
                    getType(c));
    value = sum;
  }
  results.push_back(value);
  types.push_back(getType(c));
}

std::string Products::write(unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    addProduct();
  return "func.func @main(" + llvm::join(arguments, ", ") + ") -> (" +
         llvm::join(types, ", ") + ") {\n  " + llvm::join(lines, "\n  ") +
         "\n  return " + llvm::join(results, ", ") + " : " +
         llvm::join(types, ", ") + "\n}\n";
}

// Terms are multiples of 1/64, so that sums in f32 are exact in any order; bf16
// is rounded once, and again by what follows.
TEST_P(RandomProducts, AreTheInterpreters) {
  std::string source = Products(GetParam()).write(12);
  SCOPED_TRACE(source);
  expectWholeProgram(source, "x=1", 1, 8e-3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProducts, ::testing::Range(1u, 31u));
