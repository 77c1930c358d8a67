// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Machines, and times on them.

#include "lib/Cost/Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <cassert>

using namespace tp;
using namespace tp::cost;

/// The built-in machines. Rates of matrix products are 0.8 times, and memory
/// bandwidths 0.9 times those of NVIDIA's data sheets. Library kernels reach
/// them: on an H200, we measured 788e12 operations per second for 8192^3 in
/// bf16 on random data, and 4.3e12 bytes per second for copies. 32-bit products
/// have full precision, not that of TF32. Links have the bandwidth that NCCL's
/// rings reach on NVLink 4, whose peak is 450 GB/s, and the latency of a small
/// all-reduce over 8 devices.
///
/// `cpu` is one core of a Zen 5 with AVX-512 as used by oneDNN; ranks are
/// threads that exchange data through shared memory. Its memory capacity
/// depends on the host.
static const Machine &getBuiltIn(unsigned index) {
  static const Machine machines[] = {
      {"h100", 790e12, 3.0e12, 80e9, {10e-6, 1 / 370e9}, 1580e12, 53e12, 53e12},
      {"h200",
       790e12,
       4.3e12,
       141e9,
       {10e-6, 1 / 370e9},
       1580e12,
       53e12,
       53e12},
      {"cpu", 450e9, 42e9, 0, {1e-6, 1 / 8e9}, 450e9, 225e9, 112e9},
  };
  return machines[index];
}

llvm::ArrayRef<llvm::StringLiteral> tp::cost::getMachineNames() {
  static constexpr llvm::StringLiteral names[] = {"h100", "h200", "cpu"};
  return names;
}

llvm::Expected<Machine> tp::cost::getMachine(llvm::StringRef name) {
  for (auto [index, known] : llvm::enumerate(getMachineNames()))
    if (known == name)
      return getBuiltIn(index);
  if (std::error_code error =
          llvm::sys::fs::access(name, llvm::sys::fs::AccessMode::Exist))
    return createError(getFileError(error, ErrorCode::UnknownMachine),
                       "machine '" + name + "' is neither one of " +
                           llvm::join(getMachineNames(), ", ") +
                           " nor a file that can be read: " + error.message());
  return readMachineFile(name);
}

double Machine::getFlops(unsigned bits) const {
  // Elements narrower than 8 bits are widened to 8.
  if (bits <= 8)
    return flops8 ? flops8 : flops;
  if (bits <= 16)
    return flops;
  if (bits <= 32)
    return flops32 ? flops32 : flops / 2;
  return flops64 ? flops64 : getFlops(32) / 2;
}

/// Returns true if devices that differ only along the axis are on one host.
static bool staysOnHost(const Mesh &mesh, unsigned axis, int64_t hostDevices) {
  int64_t size = mesh.axes[axis].size, stride = 1;
  for (const Axis &inner : llvm::drop_begin(mesh.axes, axis + 1))
    stride *= inner.size;
  for (int64_t place = 0, n = mesh.getNumDevices(); place < n; ++place) {
    int64_t first = place - place / stride % size * stride;
    if (mesh.getDevice(place) / hostDevices !=
        mesh.getDevice(first) / hostDevices)
      return false;
  }
  return true;
}

Mesh tp::cost::withMachineLinks(Mesh mesh,
                                const std::optional<Machine> &machine) {
  if (mesh.hasLinks || !machine)
    return mesh;
  int64_t hostDevices = machine->hostDevices;
  for (auto [index, axis] : llvm::enumerate(mesh.axes))
    axis.link = hostDevices == 0 || staysOnHost(mesh, index, hostDevices)
                    ? machine->link
                    : machine->hostLink;
  mesh.hasLinks = true;
  return mesh;
}

Link tp::cost::getLink(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes) {
  Link link{0, 0};
  for (const AxisRef &axis : axes) {
    link.alpha = std::max(link.alpha, mesh.axes[axis.axis].link.alpha);
    link.beta = std::max(link.beta, mesh.axes[axis.axis].link.beta);
  }
  return link;
}

llvm::SmallVector<unsigned> tp::cost::getAxisLinks(const Mesh &mesh) {
  llvm::SmallVector<Link, 2> speeds;
  llvm::SmallVector<unsigned> links;
  for (const Axis &axis : mesh.axes) {
    auto known = llvm::find(speeds, axis.link);
    links.push_back(known - speeds.begin());
    if (known == speeds.end())
      speeds.push_back(axis.link);
  }
  return links;
}

llvm::SmallVector<unsigned, 2>
tp::cost::getLinks(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes) {
  llvm::SmallVector<unsigned> axisLinks = getAxisLinks(mesh);
  llvm::SmallVector<unsigned, 2> links;
  for (const AxisRef &axis : axes)
    links.push_back(axisLinks[axis.axis]);
  if (links.empty())
    return {0};
  llvm::sort(links);
  links.erase(llvm::unique(links), links.end());
  return links;
}

double tp::cost::getCollectiveTime(const Mesh &mesh,
                                   llvm::ArrayRef<AxisRef> axes, double bytes) {
  assert(mesh.hasLinks && "expects a mesh whose links are known");
  Link link = getLink(mesh, axes);
  return link.alpha + link.beta * bytes;
}

double tp::cost::getTime(const Machine &machine, const Work &work) {
  return std::max(work.flops / machine.getFlops(work.bits),
                  work.bytes / machine.memoryBandwidth);
}

bool tp::cost::isContraction(const ShardingRule &rule) {
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    unsigned operands = 0, results = 0;
    for (unsigned i = 0; i < rule.operands.size(); ++i)
      operands += rule.hasFactor(i, f);
    for (unsigned i = 0; i < rule.results.size(); ++i)
      results += rule.hasFactor(rule.operands.size() + i, f);
    if (operands >= 2 && results == 0 && rule.factors[f].size > 1)
      return true;
  }
  return false;
}
