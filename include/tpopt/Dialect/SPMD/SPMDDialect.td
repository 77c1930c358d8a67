// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `spmd` dialect: how a program is distributed over a mesh of devices.

#ifndef TPOPT_DIALECT_SPMD_SPMDDIALECT
#define TPOPT_DIALECT_SPMD_SPMDDIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def SPMD_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::tp::spmd";
  let summary = "How a program is distributed over a mesh of devices";
  let description = [{
    A mesh names the device grid, shardings say how each tensor lies on it, and
    collectives move data between shardings. Everything up to `tp-localize`
    works on *global* types: a tensor keeps the size the author gave it, and its
    sharding says which part of it a device holds. After `tp-localize` types are
    what one device holds, and their encoding remembers the global size.

    Shardings stand in three places: the attribute `spmd.sharding` of function
    arguments and results, the attribute `spmd.shardings` of operations (one
    entry per result), and inside the ops of this dialect.

    The notation is Shardy's, see `tpopt/Sharding/Sharding.h` for an
    introduction.
  }];
  let useDefaultAttributePrinterParser = 1;
  let discardableAttrs = (ins
    // Arguments and results of functions.
    "::tp::spmd::ShardingAttr":$sharding,
    // Ops.
    "::mlir::ArrayAttr":$shardings);
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

class SPMD_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<SPMD_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def SPMD_LinkAttr : SPMD_Attr<"Link", "link"> {
  let summary = "What a step along a mesh axis costs";
  let description = [{
    Sending n bytes along an axis takes `us` microseconds plus n bytes at `gbps`
    gigabytes (10^9 bytes) per second.

    **Constraints:** `us` is at least 0, `gbps` above 0.

    Example: `#spmd.link<us=2.0, gbps=370.0>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$us, "::mlir::FloatAttr":$gbps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def SPMD_MeshAttr : SPMD_Attr<"Mesh", "mesh"> {
  let summary = "A grid of devices with named axes";
  let description = [{
    Places are numbered row-major, the first axis slowest, and place p has device
    p, or `device_ids[p]`. Rank d of a program holds the blocks of device d's
    place. The results and the order of sums do not depend on this numbering; only the
    links of the machine that an axis uses do.

    **Constraints:** axis names are distinct and not empty; sizes are at least
    one; `device_ids`, if given, is a permutation of the device numbers.

    Example: `#spmd.mesh<["data"=2, "model"=4]>`,
    `#spmd.mesh<["x"=2], device_ids=[1, 0]>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes,
                        OptionalArrayRefParameter<"int64_t">:$deviceIds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def SPMD_AxisRefAttr : SPMD_Attr<"AxisRef", "axis"> {
  let summary = "A mesh axis, or a part of one";
  let description = [{
    `"x"` is a whole axis. `"x":(1)2` reads x as 1 * 2 * rest and takes the
    middle part; see `tp::AxisRef`. A `size` of zero stands for the whole axis.

    **Constraints:** both numbers of a written sub-axis are at least 1.

    Example: `#spmd.axis<"x":(1)2>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$pre,
                        "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def SPMD_AxisListAttr : SPMD_Attr<"AxisList", "axes"> {
  let summary = "An ordered list of axes, major first";
  let description = "Example: `#spmd.axes<{\"x\", \"y\":(1)2}>`";
  let parameters = (ins OptionalArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Parse and print the list without the angle brackets, as ops write it:
    /// `{"x"}`.
    static ::mlir::FailureOr<AxisListAttr> parseList(::mlir::AsmParser &parser);
    void printList(::mlir::AsmPrinter &printer) const;
  }];
}

def SPMD_DimShardingAttr : SPMD_Attr<"DimSharding", "dim"> {
  let summary = "How one dimension is cut";
  let description = [{
    `{"x", "y"}`: cut along x, then y, closed. `{"x", ?}`: propagation may add
    axes. `{"x"}p1`: with priority 1. A `priority` of -1 stands for none.

    Example: `#spmd.dim<{"x", ?}p1>`
  }];
  let parameters = (ins OptionalArrayRefParameter<"AxisRefAttr">:$axes,
                        "bool":$open, "int64_t":$priority);
  let hasCustomAssemblyFormat = 1;
}

def SPMD_ShardingAttr : SPMD_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor is distributed over the devices of a mesh";
  let description = [{
    One entry per dimension, then the axes along which the value must stay replicated,
    then the axes along which devices hold partial values.

    **Constraints** (checked where the sharding is used, because they need the mesh):
    the mesh exists and has the axes; one entry per tensor dimension; sub-axes divide
    their axis; an axis is used once; neighbouring sub-axes that make a larger one are
    written as that one; an empty open dimension has no priority.

    Example:

    ```mlir
    #spmd.sharding<@mesh, [{"data"}, {} ]>
    #spmd.sharding<@mesh, [{"data", ?}p1, {?} ], replicated={"model"}>
    #spmd.sharding<@mesh, [{}, {} ], unreduced={"model"}>
    #spmd.sharding<@mesh, [{} ], unreduced=max{"model":(1)2}>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                        OptionalArrayRefParameter<"DimShardingAttr">:$dims,
                        OptionalArrayRefParameter<"AxisRefAttr">:$replicated,
                        OptionalArrayRefParameter<"AxisRefAttr">:$unreduced,
                        "::tp::ReduceKind":$kind);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Resolves the axis names of this sharding in `mesh`, for a tensor of rank
    /// `rank`. Returns an error if this is not possible.
    std::variant<::tp::TensorSharding, ::tp::ShardingError>
    resolve(const ::tp::Mesh &mesh, unsigned rank) const;
    /// The attribute for `sharding` over `mesh`.
    static ShardingAttr get(::mlir::MLIRContext *context,
                            const ::tp::Mesh &mesh,
                            const ::tp::TensorSharding &sharding);
  }];
}

def SPMD_LocalAttr : SPMD_Attr<"Local", "local", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "The encoding of a per-device tensor type";
  let description = [{
    Describes which part of which global tensor a device's buffer is, so that no rewrite
    can lose a partial sum, the global size or the padding.

    **Constraints:** `global` has one size of at least 0 for each dimension of the
    sharding, and the tensor as many dimensions.

    Example: `tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {} ], global=[14, 6]>>`
  }];
  let parameters = (ins "ShardingAttr":$sharding,
                        OptionalArrayRefParameter<"int64_t">:$global);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // TPOPT_DIALECT_SPMD_SPMDDIALECT
