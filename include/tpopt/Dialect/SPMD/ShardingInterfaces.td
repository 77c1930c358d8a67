// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The interfaces through which an op describes its properties to the sharding
// passes.

#ifndef TPOPT_DIALECT_SPMD_SHARDINGINTERFACES
#define TPOPT_DIALECT_SPMD_SHARDINGINTERFACES

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::tp::spmd";
  let description = [{
    How the dimensions of an op's tensors belong together: its sharding rule, an
    equation over factors (see `tpopt/Sharding/Rule.h`). Ops of other dialects
    join through an external model. An op without a rule is an error that names
    it; nothing is replicated in silence.
  }];
  let methods = [
    InterfaceMethod<[{
        The equation in einsum notation, such as `"...d!,d->...d"`. Ops whose
        equation depends on attributes override getShardingRule instead.
      }], "std::string", "getShardingEquation", (ins), [{}], [{ return ""; }]>,
    InterfaceMethod<[{
        The rule for the shapes at hand. Never fails on a verified op.
      }], "::tp::ShardingRule", "getShardingRule", (ins), [{}], [{
        return ::tp::spmd::parseShardingRule($_op, $_op.getShardingEquation());
      }]>,
    InterfaceMethod<[{
        How eagerly propagation goes through the op.
      }], "::tp::spmd::PropagationClass", "getPropagationClass", (ins), [{}], [{
        return ::tp::spmd::PropagationClass::Other;
      }]>,
  ];
}

def LinearOpInterface : OpInterface<"LinearOpInterface"> {
  let cppNamespace = "::tp::spmd";
  let description = [{
    Which operands a partial value may flow through. A matrix product of a
    partial sum is the partial sum of the product; gelu of a partial sum is not
    the partial sum of gelu. An op without this interface lets none through.
  }];
  let methods = [
    InterfaceMethod<[{
        How the op commutes with combining partial values of `kind` in
        `operand`.
      }], "::tp::spmd::Linearity", "getLinearity",
      (ins "unsigned":$operand, "::tp::ReduceKind":$kind)>,
  ];
}

def ExchangeOpInterface : OpInterface<"ExchangeOpInterface"> {
  let cppNamespace = "::tp::spmd";
  let description = [{
    For ops whose local form sends something when an exchanged factor of their
    rule is cut, as a slice whose rows lie on two devices does. Partition adds
    the price to that of computing. The local form is LocalizeOpInterface's.
  }];
  let methods = [
    InterfaceMethod<[{
        What the local form sends with the op's tensors in `layouts`, operands
        first, in its order. None if it would take so many launches that
        another way is better.
      }], "::std::optional<::llvm::SmallVector<::tp::spmd::Exchange>>",
      "getExchanges",
      (ins "::llvm::ArrayRef<::tp::TensorSharding>":$layouts)>,
  ];
}

def LocalizeOpInterface : OpInterface<"LocalizeOpInterface"> {
  let cppNamespace = "::tp::spmd";
  let description = [{
    For ops that are more than themselves on a part of their tensors: an iota
    over a cut dimension starts where the device's block starts. Ops without
    this interface are cut by giving them the local types.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the op's local form at the insertion point of `localizer` and
        returns the local values of its results. `operands` are local values.
      }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "localize",
      (ins "::tp::spmd::Localizer &":$localizer,
           "::mlir::ValueRange":$operands)>,
  ];
}

#endif // TPOPT_DIALECT_SPMD_SHARDINGINTERFACES
