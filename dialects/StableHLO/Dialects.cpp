// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The foreign dialects that can be read.

#include "Syntax.h"

#include "tpopt/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tp;

namespace {

/// The common base of the dialects.
class HLODialect : public reader::ReaderDialect {
public:
  using ReaderDialect::ReaderDialect;

  std::optional<ParseOpHook>
  getParseOperationHook(StringRef name) const override {
    return ParseOpHook(reader::getForm(name));
  }

protected:
  Attribute read(StringRef text) const override {
    return stablehlo::readAttribute(getContext(), text);
  }
};

// MLIR identifies a dialect by its class, so each dialect needs its own.

struct StableHLODialect : HLODialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StableHLODialect)
  static constexpr StringLiteral getDialectNamespace() { return "stablehlo"; }
  explicit StableHLODialect(MLIRContext *context)
      : HLODialect(getDialectNamespace(), context,
                   TypeID::get<StableHLODialect>()) {}
};

struct CHLODialect : HLODialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CHLODialect)
  static constexpr StringLiteral getDialectNamespace() { return "chlo"; }
  explicit CHLODialect(MLIRContext *context)
      : HLODialect(getDialectNamespace(), context, TypeID::get<CHLODialect>()) {
  }
};

struct MHLODialect : HLODialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MHLODialect)
  static constexpr StringLiteral getDialectNamespace() { return "mhlo"; }
  explicit MHLODialect(MLIRContext *context)
      : HLODialect(getDialectNamespace(), context, TypeID::get<MHLODialect>()) {
  }
};

} // namespace

void stablehlo::registerReaders(DialectRegistry &registry) {
  registry.insert<StableHLODialect, CHLODialect, MHLODialect>();
}

bool stablehlo::isPortableArtifact(StringRef bytes) {
  // MLIR bytecode begins with its producer; a serialized `jax.export.Exported`
  // is a FlatBuffer that contains the bytecode.
  StringRef head = bytes.take_front(1 << 16);
  size_t begin = head.find("ML\xefR");
  return begin != StringRef::npos &&
         head.drop_front(begin).take_front(64).contains("StableHLO_v");
}
