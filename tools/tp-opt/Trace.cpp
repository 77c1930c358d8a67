// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Trace.h"

#include "lib/Support/OutputFile.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

static llvm::cl::opt<std::string>
    path("tp-trace", llvm::cl::value_desc("file"),
         llvm::cl::desc("Write when each pass ran, for ui.perfetto.dev"));

bool tp::PassTrace::isRequested() { return path.getNumOccurrences(); }

class tp::PassTrace::Instrumentation : public PassInstrumentation {
public:
  explicit Instrumentation(PassTrace &trace) : trace(trace) {}

  void runBeforePass(Pass *pass, Operation *op) override { add(pass, op, "B"); }
  void runAfterPass(Pass *pass, Operation *op) override { add(pass, op, "E"); }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    add(pass, op, "E");
  }

private:
  void add(Pass *pass, Operation *op, StringRef phase) {
    // Adaptors only pass functions on to their passes, which are recorded
    // separately.
    if (pass->getArgument().empty())
      return;
    std::chrono::duration<double, std::micro> time =
        Clock::now() - trace.origin;
    llvm::json::Object event{{"ph", phase},
                             {"name", pass->getArgument()},
                             {"pid", 0},
                             {"tid", int64_t(llvm::get_threadid())},
                             {"ts", time.count()}};
    if (phase == "B") {
      std::string on = op->getName().getStringRef().str();
      if (auto name =
              op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        on += " @" + name.str();
      event["args"] = llvm::json::Object{{"on", llvm::json::fixUTF8(on)}};
    }
    std::lock_guard<std::mutex> lock(trace.mutex);
    trace.events.push_back(std::move(event));
  }

  PassTrace &trace;
};

void tp::PassTrace::attach(PassManager &manager) {
  manager.addInstrumentation(std::make_unique<Instrumentation>(*this));
}

llvm::Error tp::PassTrace::write() {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object{
                                        {"traceEvents", std::move(events)}})
                                 << "\n";
  return writeFile(path, text);
}
