// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FrontDoor.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

void tp::setVersion(StringRef tool) {
  cl::SetVersionPrinter([tool](raw_ostream &os) {
    os << tool << " " TPOPT_VERSION " (" TPOPT_BUILD_TYPE
       << " build)\nMLIR and LLVM " LLVM_VERSION_STRING "\n";
  });
}

bool tp::answerHelp(int argc, char **argv, StringRef help) {
  static char all[] = "--help";
  for (char *&argument : MutableArrayRef<char *>(argv, argc).drop_front()) {
    StringRef text = argument;
    if (text == "--help" || text == "-help" || text == "-h") {
      outs() << help;
      return true;
    }
    if (text == "--help-mlir" || text == "-help-mlir")
      argument = all;
  }
  return false;
}

void tp::hideRegisteredOptions() {
  for (auto &entry : cl::getRegisteredOptions()) {
    StringRef name = entry.first;
    if (!name.starts_with("help") && name != "version")
      entry.second->setHiddenFlag(cl::Hidden);
  }
}

void tp::printHint(ErrorCode code) {
  StringRef name = getText(code).trim("[] ");
  errs() << "note: for more about " << name
         << " run tp-opt --explain-error=" << name << "\n";
}
