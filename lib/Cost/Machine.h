// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The capabilities of a device, and the costs of work on it.
///
/// # Two units
///
/// With links on the mesh, all costs are in seconds. Without links, they are
/// bytes sent per device, and compute is converted to bytes as well: a
/// contraction costs one byte for every 64 operations. So a product is not
/// repeated on every device to save a few bytes, nor is a small product sharded
/// at the price of sending its result. All other work only breaks ties: it
/// never justifies a launch.
///
/// # Time
///
/// The time of an op is the longer of its arithmetic and its memory traffic
/// (roofline, Williams et al., CACM 2009). The time of a collective is
///
///     T = alpha + beta * bytes sent by a device on a ring
///
/// with the largest alpha and the largest beta of its axes: one launch runs all
/// its rings in lockstep. The reshard planner minimises the same time.
///
/// For example, an all-reduce of 8 MiB over 4 devices of an h200 sends 2 * 3/4
/// * 8 MiB = 12.6 MB. That takes 10 us to start and 34 us at 370 GB/s.
///
/// # Machine files
///
///     {"name": "a100", "flops": 250e12, "memory_bandwidth": 1.8e12,
///      "memory_bytes": 80e9, "link": {"us": 10.0, "gbps": 230.0}}
///
/// `flops` is the number of operations per second in 16-bit products; a
/// multiply-add counts as two. `flops_8`, `flops_32` and `flops_64` are the
/// rates for other widths. By default, 8 bits are as fast as 16, and each
/// doubling of the width beyond 16 halves the rate. All are rates that library
/// kernels reach, rather than those of a data sheet. Unknown keys are errors.
///
///     "host": {"devices": 8, "link": {"us": 20.0, "gbps": 45.0}}
///
/// says that devices 8h .. 8h + 7 share host h, and gives the link between
/// hosts. An axis along which any device communicates with another host has
/// that link; all other axes have the machine's link. The mesh determines the
/// device at each position. The two links can be busy at the same time.

#ifndef TPOPT_COST_MACHINE_H
#define TPOPT_COST_MACHINE_H

#include "tpopt/Sharding/Reshard.h"
#include "tpopt/Sharding/Rule.h"

#include "llvm/Support/Error.h"

namespace tp::cost {

/// The capabilities of one device.
struct Machine {
  std::string name;
  double flops = 0;           ///< Operations per second of a 16-bit product.
  double memoryBandwidth = 0; ///< Bytes per second, read plus written.
  double memoryBytes = 0;     ///< Capacity; 0 if unknown.
  Link link = {0, 0};         ///< For axes without links in the mesh.
  /// Like `flops`, for other widths; 0 if unknown.
  double flops8 = 0, flops32 = 0, flops64 = 0;
  int64_t hostDevices = 0; ///< Devices per host; 0 if there is one host.
  Link hostLink = {0, 0};  ///< The link between hosts.

  /// Operations per second on elements of `bits`.
  double getFlops(unsigned bits) const;
};

/// The names of the built-in machines.
llvm::ArrayRef<llvm::StringLiteral> getMachineNames();

/// The built-in machine called `name`, or else the one described by the JSON
/// file `name`. Messages begin with their error code.
llvm::Expected<Machine> getMachine(llvm::StringRef name);

/// Parses the text of a machine file. `path` is used in messages, which give
/// line and column, and as the machine's name if the text gives none.
llvm::Expected<Machine> parseMachine(llvm::StringRef text,
                                     llvm::StringRef path);
/// Reads a machine file of at most 1 MiB.
llvm::Expected<Machine> readMachineFile(llvm::StringRef path);

/// Returns `mesh`. If it has no links and there is a machine, its axes get the
/// machine's links.
Mesh withMachineLinks(Mesh mesh, const std::optional<Machine> &machine);

/// The link for a collective along `axes`: the largest alpha and the largest
/// beta among these axes.
Link getLink(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

/// Returns for each axis the number of the link that its collectives use. Axes
/// of equal speed share a link: inside a host it is the host's fabric, between
/// hosts it is the network. Axes of different speeds have links of their own,
/// which can be busy at the same time. Without links, all axes share one.
/// Numbers begin at 0, in the order of axes.
llvm::SmallVector<unsigned> getAxisLinks(const Mesh &mesh);

/// The numbers of the links that a collective along `axes` occupies, in
/// ascending order. There is at least one. Its time is that of the slowest
/// (`getLink`).
llvm::SmallVector<unsigned, 2> getLinks(const Mesh &mesh,
                                        llvm::ArrayRef<AxisRef> axes);

/// The time in seconds of a launch along `axes` in which a device sends
/// `bytes`. The mesh must have links.
double getCollectiveTime(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes,
                         double bytes);

/// Work of one op on one device.
struct Work {
  double flops = 0;
  double bytes = 0; ///< Bytes read plus bytes written.
  bool contraction = false;
  unsigned bits = 16; ///< Width of the elements that `flops` counts.
};

/// The time of `work` in seconds, by the roofline.
double getTime(const Machine &machine, const Work &work);

/// Returns true if an op with this rule multiplies along a factor that its
/// operands share and its results lack.
bool isContraction(const ShardingRule &rule);

} // namespace tp::cost

#endif // TPOPT_COST_MACHINE_H
