// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attributes in which a stage records data for later stages and for reports.
// Only tp-explain, tp-report and the remarks turn these records into sentences.

#ifndef TPOPT_DIALECT_TP_TPRECORDS
#define TPOPT_DIALECT_TP_TPRECORDS

include "tpopt/Dialect/TP/TPBase.td"

class TP_Record<string name, string attrMnemonic> : AttrDef<TP_Dialect, name> {
  let mnemonic = attrMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
}

/// A floating-point number such as `1.5`. It may be omitted if it is zero.
class TP_Number<string desc> : AttrParameter<"::llvm::APFloat", desc> {
  let comparator = "$_lhs.bitwiseIsEqual($_rhs)";
  let parser = "parseNumber($_parser)";
  let printer = "$_printer.printFloat($_self)";
  let defaultValue = "::llvm::APFloat(0.0)";
}

class TP_Integer<string desc>
    : DefaultValuedParameter<"int64_t", "0", desc>;

class TP_Flag<string desc> : DefaultValuedParameter<"bool", "false", desc>;

/// A list in brackets. It may be omitted if it is empty.
class TP_List<string element> : OptionalArrayRefParameter<element> {
  let parser = "parseList<" # element # ">($_parser)";
  let printer = "printList($_printer, $_self)";
}

//===----------------------------------------------------------------------===//
// The plan of a module
//===----------------------------------------------------------------------===//

def TP_Verified : I32Enum<"Verified", "how far a program has been verified", [
    I32EnumCase<"Off", 0, "off">, I32EnumCase<"Static", 1, "static">,
    I32EnumCase<"Field", 2, "field">]> {
  let cppNamespace = "::tp";
}

def TP_PlanAttr : TP_Record<"Plan", "plan"> {
  let summary = "The machine and the target of a module";
  let description = [{
    `machine` is the option of `tp-partition`, for which later passes predict times;
    `memory` is the number of bytes that a device may use, if it was given. `target` and
    `fp8` are the options of `tp-lower-to-step`, for which `tp-write-artifact` compiles.
    `verified` is how the module was verified, `static` by rules or `field` by
    computing, and `verify_us` the microseconds that this took.

    **Constraints:** names are not empty; `memory` is at least 0; `fp8` needs a
    target; `verify_us` is at least 0.

    Example: `#tp.plan<machine = "h100", verified = field, verify_us = 8.125>`
  }];
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$machine,
      TP_Integer<"bytes; 0 is not given">:$memory,
      OptionalParameter<"::mlir::StringAttr">:$target,
      TP_Flag<"products of f8E4M3FN are computed as such">:$fp8,
      DefaultValuedParameter<"::tp::Verified", "::tp::Verified::Off">:$verified,
      TP_Number<"microseconds">:$verify_us);
  let genVerifyDecl = 1;
}

def TP_DigestsAttr : TP_Record<"Digests", "digests"> {
  let summary = "What a function computed before it was partitioned";
  let description = [{
    `tp-keep-digest` writes it and `tp-verify-structure` reads it: a hash of every
    result in order, and of all values that the function computes, ascending.

    **Constraints:** `values` ascend.

    Example: `#tp.digests<results = [7], values = [-5, 7]>`
  }];
  let parameters = (ins TP_List<"int64_t">:$results,
                        TP_List<"int64_t">:$values);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// The reason for a reshard or a collective

def TP_ReasonKind : I32Enum<"ReasonKind", "why a layout has to change", [
    I32EnumCase<"Contracted", 0, "contracted">,
    I32EnumCase<"Gathered", 1, "gathered">, I32EnumCase<"Moved", 2, "moved">,
    I32EnumCase<"Exchanged", 3, "exchanged">,
    I32EnumCase<"Written", 4, "written">]> {
  let cppNamespace = "::tp";
}

def TP_ReasonAttr : TP_Record<"Reason", "reason"> {
  let summary = "One reason for a communication";
  let description = [{
    `user` is the op that needs it.

    | kind | reason |
    | --- | --- |
    | `contracted` | a dimension sharded along `axes` was contracted, and the user needs the reduction `reduce` of it, by default the sum |
    | `gathered` | the user needs a dimension whole that is sharded along `axes` |
    | `moved` | the user needs the same blocks on different devices |
    | `exchanged` | the user itself sends elements between devices |
    | `written` | the program requests it, but not the gather |

    With `from` and `to`, the whole tensor is gathered between these two shardings,
    because no cheaper way exists from one to the other.

    **Constraints:** `user` is not empty; `contracted` and `gathered` have `axes`,
    the others have none; `from` and `to` must both be given, or neither.

    Example: `#tp.reason<kind = contracted, user = "func.return", axes = <{"model"}>>`
  }];
  let parameters = (ins "::tp::ReasonKind":$kind, "::mlir::StringAttr":$user,
      OptionalParameter<"::tp::spmd::AxisListAttr">:$axes,
      DefaultValuedParameter<"::tp::ReduceKind", "::tp::ReduceKind::Sum">:$reduce,
      OptionalParameter<"::tp::spmd::ShardingAttr">:$from,
      OptionalParameter<"::tp::spmd::ShardingAttr">:$to);
  let genVerifyDecl = 1;
}

def TP_WhyAttr : TP_Record<"Why", "why"> {
  let summary = "Why there is a reshard or a collective";
  let description = [{
    For a combined collective, the reasons of all its parts. `requested` says that an
    annotation requests the communication. A collective without `tp.why` was in the
    program from the start.

    **Constraints:** there is a reason, and none is there twice.

    Example:

    ```mlir
    #tp.why<reasons = [<kind = moved, user = "tp.add">], requested = true>
    ```
  }];
  let parameters = (ins TP_List<"::tp::ReasonAttr">:$reasons,
                        TP_Flag<"by an annotation">:$requested);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Why a value is sharded as it is
//===----------------------------------------------------------------------===//

def TP_ValueIdsAttr : TP_Record<"ValueIds", "ids"> {
  let summary = "The numbers of an op's results in the record of propagation";
  let description = [{
    The metadata of a fused location, as in `loc(fused<#tp.ids<ids = [3]>>["f":1:2])`:
    ops that are created from the op keep it. -1 stands for a result without a record.
    The location of an argument has one number.

    Example: `#tp.ids<ids = [3, 4]>`
  }];
  let parameters = (ins TP_List<"int64_t">:$ids);
}

def TP_HopAttr : TP_Record<"Hop", "hop"> {
  let summary = "One step of an axis through the program";
  let description = [{
    The axis came to the value `to` over the op `over` at `at`, with the user
    priority `priority` in the step `step` of propagation (`OpStep` of
    `tpopt/Sharding/Provenance.h`). Without `to`, the value is the function's result;
    without `over`, the two values are one value in two places of the program.

    Example: `#tp.hop<to = "h", over = "tp.exp", step = SingleUse>`
  }];
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$to,
      OptionalParameter<"::mlir::StringAttr">:$over,
      OptionalParameter<"::mlir::LocationAttr">:$at,
      TP_Integer<"0 comes first">:$priority, "::tp::OpStep":$step);
}

def TP_ArrivalAttr : TP_Record<"Arrival", "arrival"> {
  let summary = "How an axis came to a dimension of a value";
  let description = [{
    The axis is annotated on the value `from`, and was propagated along `hops`, in this
    order. Without hops it is annotated on the value itself.

    **Constraints:** `dim` is at least 0.

    Example:

    ```mlir
    #tp.arrival<axis = <"model">, dim = 1, from = "w", hops = [<to = "h", over = "tp.exp", step = SingleUse>]>
    ```
  }];
  let parameters = (ins "::tp::spmd::AxisRefAttr":$axis, "int64_t":$dim,
      OptionalParameter<"::mlir::StringAttr">:$from,
      TP_List<"::tp::HopAttr">:$hops);
  let genVerifyDecl = 1;
}

def TP_LossAttr : TP_Record<"Loss", "loss"> {
  let summary = "An axis that did not come to a dimension of a value";
  let description = [{
    The axis shards the value `from` and was not propagated over the op `over`. `rule`
    is the reason (`LossRule` of `tpopt/Sharding/Provenance.h`), and `winner` the axis
    that was chosen instead.

    **Constraints:** `dim` is at least 0.

    Example:

    ```mlir
    #tp.loss<axis = <"data">, dim = 0, from = "x", over = "tp.add", rule = DimTaken, winner = <"model">>
    ```
  }];
  let parameters = (ins "::tp::spmd::AxisRefAttr":$axis, "int64_t":$dim,
      OptionalParameter<"::mlir::StringAttr">:$from,
      OptionalParameter<"::mlir::StringAttr">:$over,
      OptionalParameter<"::mlir::LocationAttr">:$at, "::tp::LossRule":$rule,
      OptionalParameter<"::tp::spmd::AxisRefAttr">:$winner);
  let genVerifyDecl = 1;
}

def TP_CostUnit : I32Enum<"CostUnit", "what costs are counted in", [
    I32EnumCase<"Bytes", 0, "bytes">, I32EnumCase<"Seconds", 1, "seconds">]> {
  let cppNamespace = "::tp";
}

def TP_AlternativeAttr : TP_Record<"Alternative", "alternative"> {
  let summary = "Another layout that a value could have";
  let description = [{
    With it, and all other layouts as they are, the program would cost `cost` more per device.

    Example: `#tp.alternative<sharding = <@mesh, [{"x"} ]>, cost = 96.0, unit = bytes>`
  }];
  let parameters = (ins "::tp::spmd::ShardingAttr":$sharding,
      TP_Number<"in the unit">:$cost, "::tp::CostUnit":$unit);
}

def TP_ExplanationAttr : TP_Record<"Explanation", "explanation"> {
  let summary = "Why a value is sharded as it is";
  let description = [{
    `id` is the value's number in the locations of the program (`#tp.ids`),
    `sharding` the result of propagation. `tp-partition` adds the alternatives.

    **Constraints:** `id` is at least 0.

    Example:

    ```mlir
    #tp.explanation<id = 0, name = "w", sharding = <@mesh, [{"x"} ]>, arrivals = [<axis = <"x">, dim = 0>]>
    ```
  }];
  let parameters = (ins "int64_t":$id, "::mlir::StringAttr":$name,
      "::tp::spmd::ShardingAttr":$sharding,
      TP_List<"::tp::ArrivalAttr">:$arrivals,
      TP_List<"::tp::LossAttr">:$losses,
      TP_List<"::tp::AlternativeAttr">:$alternatives);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// What a function costs, stage by stage
//===----------------------------------------------------------------------===//

def TP_PriceKind : I32Enum<"PriceKind", "what changes the price of a function", [
    I32EnumCase<"Plan", 0, "plan">, I32EnumCase<"Loops", 1, "loops">,
    I32EnumCase<"Weights", 2, "weights">,
    I32EnumCase<"Exchanges", 3, "exchanges">,
    I32EnumCase<"Manual", 4, "manual">, I32EnumCase<"Steps", 5, "steps">,
    I32EnumCase<"Combined", 6, "combined">,
    I32EnumCase<"Localized", 7, "localized">,
    I32EnumCase<"Other", 8, "other">,
    I32EnumCase<"Compiled", 9, "compiled">]> {
  let cppNamespace = "::tp";
}

def TP_PriceAttr : TP_Record<"Price", "price"> {
  let summary = "One contribution to the price of a function";
  let description = [{
    `sent` is the cost of sending and `computed` that of computing, in the unit of
    the prices; `launches` counts collectives, `peak` the bytes that values hold
    at one time.

    | kind | after | meaning |
    | --- | --- | --- |
    | `plan` | partition | the cost of the chosen layouts; `count` reshards |
    | `loops` | partition | plans count four iterations of a loop whose number is unknown, the report one |
    | `weights` | partition | without a machine, plans count compute as bytes sent, the report does not |
    | `exchanges` | partition | ops that communicate inside, which is written out by `tp-localize`: `count` |
    | `manual` | partition | manual regions without free axes, which are not planned: `count` collectives |
    | `steps` | collectives | reshards replaced by collectives; `count` reshards |
    | `combined` | collectives | launches that were combined with others: `count` collectives |
    | `localized` | localize | exchanges of ops, shifts, masks |
    | `other` | - | changes by passes that keep no record |
    | `compiled` | lower | in a compilation with a report: how much more or less the compiled program allocates |

    Example: `#tp.price<kind = plan, sent = 1024.0, launches = 2, count = 2>`
  }];
  let parameters = (ins "::tp::PriceKind":$kind, TP_Number<"in the unit">:$sent,
      TP_Number<"in the unit">:$computed, TP_Integer<"collectives">:$launches,
      TP_Integer<"bytes">:$peak, TP_Integer<"see the table">:$count);
}

def TP_PricesAttr : TP_Record<"Prices", "prices"> {
  let summary = "The cost of a function, and how each stage changed it";
  let description = [{
    `tp-partition` writes it if its option `prices` is set, and later passes add to it.
    The sums of all items are the totals of the report. `merged` counts constants that
    were merged with others. `gap` is an upper bound for how much better another plan
    could be, in the unit: 0 if the plan is proved optimal.

    **Constraints:** the first item is the `plan`, and no other is; `gap` and
    `merged` are at least 0.

    Example:

    ```mlir
    #tp.prices<unit = bytes, items = [<kind = plan, sent = 96.0, launches = 1>]>
    ```
  }];
  let parameters = (ins "::tp::CostUnit":$unit,
      TP_List<"::tp::PriceAttr">:$items,
      TP_Integer<"constants">:$merged, TP_Number<"in the unit">:$gap);
  let genVerifyDecl = 1;
}

#endif // TPOPT_DIALECT_TP_TPRECORDS
