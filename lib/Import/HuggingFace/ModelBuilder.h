// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The tools with which every model family's importer builds its graph: entries,
// weights, scopes, and functions that create ops.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_MODELBUILDER_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_MODELBUILDER_H

#include "Checkpoint.h"

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tp::hf {

/// A stored tensor and how the computation reads it; this becomes `tp.source`.
/// A query weight that is stored as [out, in] and read as [hidden, kv, group,
/// head] is
///
///     Stored({576, 576}).read({3, 3, 64, 576}).order({3, 0, 1, 2})
class Stored {
public:
  explicit Stored(llvm::ArrayRef<int64_t> shape);
  /// The weight of a linear layer, stored as [out, in] and read as [ins..,
  /// outs..]. For example, linear({576}, {3, 3, 64}) is stored as [576, 576]
  /// and read as [576, 3, 3, 64].
  static Stored linear(llvm::ArrayRef<int64_t> ins,
                       llvm::ArrayRef<int64_t> outs);
  /// Returns the part with `length` entries of dimension `dim`, from `begin`
  /// on. `label` becomes part of the name of the argument.
  Stored part(unsigned dim, int64_t begin, int64_t length,
              llvm::StringRef label) const;
  /// Reads the same elements with dimensions of these sizes.
  Stored read(llvm::ArrayRef<int64_t> sizes) const;
  /// Puts dimension `dims[i]` at position i.
  Stored order(llvm::ArrayRef<int64_t> dims) const;

  llvm::ArrayRef<int64_t> getStoredShape() const { return stored; }
  llvm::SmallVector<int64_t> getShape() const;
  llvm::StringRef getLabel() const { return label; }
  SourceAttr toAttr(mlir::MLIRContext *context, llvm::StringRef tensor) const;

private:
  llvm::SmallVector<int64_t> stored, start, size, view, permutation;
  llvm::StringRef label;
};

/// Builds the entries of a model. A path of nested scopes, one per module of
/// the model, gives ops their locations and weights their names. An argument is
/// added to its entry when the graph first needs it.
class ModelBuilder {
public:
  /// Weights are of type `element`. The stored names of the base model's
  /// weights begin with `prefix` if the checkpoint says so. If `checkpoint` is
  /// null, or does not show this, they begin with `prefix` if `isStored` is
  /// true.
  ModelBuilder(mlir::ModuleOp module, mlir::Type element,
               Checkpoint *checkpoint, llvm::StringRef prefix, bool isStored);

  /// Weights whose path begins with `path` belong to the head, which is not
  /// part of the base model: their stored names have no prefix.
  void setHead(llvm::StringRef path) { head = path; }

  /// Makes `name` part of the path while the scope is alive.
  class Scope {
  public:
    Scope(ModelBuilder &builder, const llvm::Twine &name);
    ~Scope() { builder.path.resize(length); }

  private:
    ModelBuilder &builder;
    size_t length;
  };

  //===--- Entries --------------------------------------------------------===//
  void beginEntry(llvm::StringRef name);
  mlir::Value input(llvm::StringRef name, mlir::RankedTensorType type);
  /// A KV cache, which the result with index `result` overwrites.
  mlir::Value cache(llvm::StringRef name, mlir::RankedTensorType type,
                    unsigned result);
  /// The weight `leaf` of the module at the current path.
  mlir::Value weight(llvm::StringRef leaf, const Stored &stored);
  void endEntry(llvm::ArrayRef<std::pair<std::string, mlir::Value>> results);
  /// Returns true if a weight was missing from the checkpoint or did not match
  /// it.
  bool failed() const { return hasFailed; }

  //===--- Types ----------------------------------------------------------===//
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape,
                                mlir::Type element = {}) const {
    return mlir::RankedTensorType::get(shape,
                                       element ? element : this->element);
  }
  mlir::Type i32() { return builder.getI32Type(); }
  /// The type of norms, softmax, logits and the loss: f32, or f64 in a model of
  /// f64.
  mlir::Type wide() { return element.isF64() ? element : builder.getF32Type(); }
  mlir::Type i1() { return builder.getI1Type(); }

  //===--- Ops ------------------------------------------------------------===//
  /// Creates an OpT with these operands and the result type `type`, at the
  /// current path.
  template <typename OpT, typename... Args>
  mlir::Value op(mlir::Type type, Args &&...args) {
    return OpT::create(builder, getLoc(), type, std::forward<Args>(args)...)
        ->getResult(0);
  }
  /// The result's shape is inferred from the equation. Its element type is that
  /// of the operands unless `element` is given.
  mlir::Value einsum(llvm::StringRef equation, mlir::Value a, mlir::Value b,
                     mlir::Type element = {});
  mlir::Value add(mlir::Value a, mlir::Value b);
  /// Adds `bias` at every position of the leading dimensions of `x`.
  mlir::Value addBias(mlir::Value x, mlir::Value bias);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  mlir::Value convert(mlir::Value x, mlir::Type element);
  mlir::Value integer(int32_t value, llvm::ArrayRef<int64_t> shape = {});
  /// Ids that equal `padding` contribute no gradient to the table, as with
  /// torch.nn.Embedding's padding_idx.
  mlir::Value embedding(mlir::Value table, mlir::Value ids,
                        std::optional<int64_t> padding = std::nullopt);
  mlir::Value rmsNorm(mlir::Value x, double epsilon);
  mlir::Value layerNorm(mlir::Value x, double epsilon);
  mlir::Value activation(Activation kind, mlir::Value x);
  /// Causal attention. `offset`, which may be null, is the position of the
  /// first query.
  mlir::Value causalAttention(mlir::Value query, mlir::Value key,
                              mlir::Value value, mlir::Value offset,
                              double scale, std::optional<int64_t> window);
  /// Attention in which every query sees the keys where `mask` [b, s, t] is
  /// true.
  mlir::Value maskedAttention(mlir::Value query, mlir::Value key,
                              mlir::Value value, mlir::Value mask,
                              double scale);

private:
  mlir::Location getLoc();
  mlir::Value addArgument(llvm::StringRef name, mlir::RankedTensorType type);

  mlir::OpBuilder builder;
  mlir::ModuleOp module;
  mlir::Type element;
  Checkpoint *checkpoint;
  std::string prefix, head;
  bool isStored;
  std::string path;
  mlir::func::FuncOp entry;
  /// The attributes of the arguments that the entry has so far.
  std::vector<mlir::NamedAttrList> arguments;
  bool hasFailed = false;
};

/// The sizes of a tensor value.
llvm::ArrayRef<int64_t> getShape(mlir::Value value);

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_MODELBUILDER_H
