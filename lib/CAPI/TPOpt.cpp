// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The C API over the C++ library.

#include "tpopt-c/TPOpt.h"

#include "lib/Import/ParserErrors.h"
#include "lib/Import/ReadProgram.h"
#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/InitAll.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

using namespace mlir;

static DialectRegistry getDialects() {
  DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  // The context is private to this library, so it never contains the real
  // StableHLO and Shardy dialects.
  tp::stablehlo::registerReaders(registry);
  tp::sdy::registerReader(registry);
  registry.insert<func::FuncDialect>();
  func::registerInlinerExtension(registry);
  return registry;
}

/// The pass registry is global to the process and not thread-safe.
static void registerPassesOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    tp::registerTPOptPasses();
    registerTransformsPasses();
  });
}

static TPOptSeverity toSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return TPOPT_ERROR;
  case DiagnosticSeverity::Warning:
    return TPOPT_WARNING;
  case DiagnosticSeverity::Remark:
    return TPOPT_REMARK;
  case DiagnosticSeverity::Note:
    return TPOPT_NOTE;
  }
  llvm_unreachable("covered switch");
}

static StringRef getWord(TPOptSeverity severity) {
  static const StringRef words[] = {"error", "warning", "remark", "note"};
  return words[severity];
}

struct TPOptSessionImpl {
  MLIRContext context;
  std::string messages;
  /// The text that tpoptModuleGetText() returned last.
  std::string text;
  TPOptMessageCallback callback = nullptr;
  void *userData = nullptr;

  TPOptSessionImpl() : context(getDialects()) {
    // Passes may emit diagnostics from several threads. The diagnostic engine
    // calls handlers under a lock.
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (tp::repeatParserError(diagnostic, getDialects()))
        return success();
      add(diagnostic);
      for (Diagnostic &note : diagnostic.getNotes())
        add(note);
      return success();
    });
    context.printOpOnDiagnostic(false);
  }

  void add(TPOptSeverity severity, const Twine &message) {
    std::string line = message.str();
    messages += line + '\n';
    if (callback)
      callback(severity, line.c_str(), userData);
  }

private:
  void add(Diagnostic &diagnostic) {
    std::string message;
    llvm::raw_string_ostream os(message);
    if (auto loc = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>()) {
      os << loc.getFilename().getValue() << ':';
      if (loc.getLine() != 0)
        os << loc.getLine() << ':' << loc.getColumn() << ':';
      os << ' ';
    }
    TPOptSeverity severity = toSeverity(diagnostic.getSeverity());
    os << getWord(severity) << ": " << diagnostic;
    add(severity, message);
  }
};

struct TPOptModuleImpl {
  TPOptSession session;
  OwningOpRef<ModuleOp> module;
  bool failed = false; ///< A failed pipeline left the module half-changed.
};

unsigned tpoptGetVersion(void) {
  return TPOPT_VERSION_MAJOR * 1000 + TPOPT_VERSION_MINOR;
}

TPOptSession tpoptSessionCreate(void) {
  registerPassesOnce();
  return new TPOptSessionImpl;
}

void tpoptSessionDestroy(TPOptSession session) { delete session; }

void tpoptSessionSetMessageCallback(TPOptSession session,
                                    TPOptMessageCallback callback,
                                    void *userData) {
  if (!session)
    return;
  session->callback = callback;
  session->userData = userData;
}

const char *tpoptSessionGetMessages(TPOptSession session) {
  return session ? session->messages.c_str() : "";
}

TPOptStatus tpoptModuleParse(TPOptSession session, const char *text,
                             size_t length, const char *name,
                             TPOptModule *module) {
  if (module)
    *module = nullptr;
  if (!session || !module || !text)
    return TPOPT_INVALID;
  session->messages.clear();
  OwningOpRef<ModuleOp> parsed = tp::parseProgram(
      StringRef(text, length), name ? name : "<text>", &session->context);
  if (!parsed)
    return TPOPT_INVALID;
  *module = new TPOptModuleImpl{session, std::move(parsed)};
  return TPOPT_OK;
}

TPOptStatus tpoptModuleRunPipeline(TPOptModule module, const char *pipeline) {
  if (!module || !pipeline)
    return TPOPT_INVALID;
  TPOptSession session = module->session;
  session->messages.clear();
  if (module->failed) {
    session->add(TPOPT_ERROR, "error: a pipeline has failed on this module: "
                              "parse the program again");
    return TPOPT_INVALID;
  }
  PassManager manager(&session->context);
  std::string error;
  llvm::raw_string_ostream os(error);
  if (failed(parsePassPipeline(pipeline, manager, os))) {
    session->add(TPOPT_ERROR, StringRef(error).trim());
    return TPOPT_INVALID;
  }
  module->failed = failed(manager.run(*module->module));
  return module->failed ? TPOPT_INVALID : TPOPT_OK;
}

const char *tpoptModuleGetText(TPOptModule module) {
  if (!module || module->failed)
    return "";
  std::string &text = module->session->text;
  text.clear();
  llvm::raw_string_ostream os(text);
  module->module->print(os);
  return text.c_str();
}

void tpoptModuleDestroy(TPOptModule module) { delete module; }
