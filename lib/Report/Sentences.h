// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Sentences about the records that passes leave in a program
/// (TPRecords.td). All such sentences are made here, and no code parses them. A
/// record and its sentence:
///
///     #tp.reason<kind = gathered, user = "tp.add", axes = <{"x"}>>
///     outer dimension: tp.add needs the whole of a dimension that is cut along
///     {x}

#ifndef TPOPT_REPORT_SENTENCES_H
#define TPOPT_REPORT_SENTENCES_H

#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/TP/TP.h"

#include <string>
#include <vector>

namespace tp {

/// `[{"x"}, {}]`.
std::string formatSharding(spmd::ShardingAttr sharding, ShardingTable &table);

/// The reason for `collective`: all reasons in its `tp.why`, joined into one
/// text. Empty if the collective was in the program from the start.
std::string describeWhy(mlir::Operation *collective, ShardingTable &table);

/// Describes how an axis was propagated to a tensor. The first line names the
/// tensor on which the user wrote the axis. Each further line is for an op that
/// passed it on. Here, tp.exp passed axis "model" from %w to %h:
///
///     "model" on dim 1: written on w
///     to h through tp.exp at mlp.mlir:9:8 (priority 1)
std::vector<std::string> describeArrival(ArrivalAttr arrival);

/// Describes why an axis was not propagated: `"data" did not reach dim 0 from x
/// through tp.add: "model" already cuts the dimension`.
std::string describeLoss(LossAttr loss);

/// Describes the cost of another sharding: `as [{"x"}, {}]: all else equal, 96
/// B more per device, with arithmetic counted in bytes`.
std::string describeAlternative(AlternativeAttr alternative,
                                ShardingTable &table);

/// Describes what an item of a function's price accounts for, for example
/// `reshards as collectives`.
std::string describePrice(PriceKind kind);
/// The stage that the item belongs to, `partition` and so on.
llvm::StringRef getStageOf(PriceKind kind);

} // namespace tp

#endif // TPOPT_REPORT_SENTENCES_H
