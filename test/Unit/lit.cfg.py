# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os

import lit.formats

config.name = "tp-opt-unit"
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.suffixes = []
config.test_source_root = os.path.join(config.tp_obj_root, "test", "Unit")
config.test_exec_root = config.test_source_root
config.environment["TPOPT_SOURCE_DIR"] = config.tp_source_root
config.environment["TPOPT_BINARY_DIR"] = config.tp_obj_root
