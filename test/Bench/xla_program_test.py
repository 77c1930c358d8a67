# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What xla_program reads of XLA's text: each notation of device groups, loops by their
trips, tuples, and the times of nested passes once."""

import sys
import unittest

from xla_program import Collective, read_collectives, read_sharding_seconds

MODULE = """HloModule jit_f, is_scheduled=true

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %s = f32[] add(%a, %b)
}

%inner (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %ag = bf16[4,8]{1,0} all-gather(%x), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}
}

%outer (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %w = (s32[], f32[8]{0}) while(%p), condition=%c, body=%inner, backend_config={"known_trip_count":{"n":"3"}}
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %ar = (f32[8]{0}, f32[2,2]{1,0}) all-reduce(%x, %y), replica_groups={{0,1},{2,3}}, to_apply=%add
  %rs = f32[2]{0} reduce-scatter(%x), replica_groups=mesh['a'=2,'b'=4] {'b'}, to_apply=%add
  %sub = f32[8]{0} all-reduce(%x), replica_groups=mesh['a'=8] {'a':(2)2}, to_apply=%add
  %all = f32[8]{0} all-to-all(%x), replica_groups={}, dimensions={0}
  %cp = u8[16]{0} collective-permute(%x), source_target_pairs={{0,1},{1,0}}
  %one = f32[8]{0} all-reduce(%x), replica_groups={{0},{1}}, to_apply=%add
  %w2 = (s32[], f32[8]{0}) while(%p), condition=%c, body=%outer, backend_config={"known_trip_count":{"n":"5"}}
}
"""

LOG = """I1 x.cc:1] Running HLO pass pipeline on module jit_put: spmd-partitioner
I1 x.cc:1] HLO pass: spmd-partitioning time: 5 us (5 us) (cumulative: 1 us)
I1 x.cc:1] Running HLO pass pipeline on module jit_f: spmd-partitioner
I1 x.cc:1] HLO pass: shardy-xla time: 164 ms (164000 us) (cumulative: 205 ms)
I1 x.cc:1] Running HLO pass pipeline on module jit_f: spmd-cleanup
I1 x.cc:1] HLO pass: dce time: 7.4 ms (7400 us) (cumulative: 212 ms)
I1 x.cc:1] HLO pass: spmd-partitioning time: 61 ms (61000 us) (cumulative: 275 ms)
I1 x.cc:1] Running HLO pass pipeline on module jit_f: layout
I1 x.cc:1] HLO pass: shardy-xla time: 9 ms (9000 us) (cumulative: 275 ms)
"""


class Reads(unittest.TestCase):
    def test_collectives(self):
        self.assertCountEqual(read_collectives(MODULE, 8), [
            Collective("all_reduce", 2, 8 * 4 + 4 * 4, 1),
            Collective("reduce_scatter", 4, 2 * 4 * 4, 1),
            Collective("all_reduce", 2, 32, 1),
            Collective("all_to_all", 8, 32, 1),
            Collective("collective_permute", 8, 16, 1),
            Collective("all_gather", 4, 64, 15),
        ])

    def test_wire_bytes(self):
        self.assertEqual([Collective(kind, 4, 64, 1).wire_bytes for kind in (
            "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
            "collective_permute")], [96, 48, 48, 48, 64])

    def test_unknown_groups(self):
        with self.assertRaises(ValueError):
            read_collectives("ENTRY %m (x: f32[]) -> f32[] {\n"
                             "  %a = f32[8]{0} all-reduce(%x), to_apply=%add\n}\n", 4)

    def test_seconds(self):
        self.assertEqual(read_sharding_seconds(LOG),
                         {"shardy-xla": 0.164, "spmd-partitioning": 0.061})
        self.assertIsNone(read_sharding_seconds(""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
