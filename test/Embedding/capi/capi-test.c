/* Part of the tp-opt project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A C program that embeds the compiler: every function of the C API once, and
 * every way to fail. */

#include "tpopt-c/TPOpt.h"

#include <stdio.h>
#include <string.h>

static const char *const program =
    "spmd.mesh @mesh <[\"model\"=4]>\n"
    "func.func @f(%x: tensor<8x16xf32> {spmd.sharding = "
    "#spmd.sharding<@mesh, [{}, {\"model\"}]>}, %w: tensor<16x4xf32>)\n"
    "    -> tensor<8x4xf32> {\n"
    "  %0 = tp.einsum \"bi,io->bo\" %x, %w : (tensor<8x16xf32>, "
    "tensor<16x4xf32>) -> tensor<8x4xf32>\n"
    "  return %0 : tensor<8x4xf32>\n"
    "}\n";

static const char *const exported =
    "sdy.mesh @mesh = <[\"model\"=4]>\n"
    "func.func public @main(%x: tensor<8x16xf32> {sdy.sharding = "
    "#sdy.sharding<@mesh, [{\"model\"}, {}]>}) -> tensor<8x16xf32> {\n"
    "  %0 = stablehlo.tanh %x : tensor<8x16xf32>\n"
    "  return %0 : tensor<8x16xf32>\n"
    "}\n";

static const char *const wrong =
    "func.func @f(%x: tensor<4xf32>) {\n"
    "  %0 = tp.reduce sum %x dims = [1] : tensor<4xf32> -> tensor<4xf32>\n"
    "  return\n"
    "}\n";

static const char *const unknown = "func.func @f(%x: tensor<4xf32>) {\n"
                                   "  %0 = tp.gelo %x : tensor<4xf32>\n"
                                   "  return\n"
                                   "}\n";

static void count(TPOptSeverity severity, const char *message, void *data) {
  (void)message;
  ((int *)data)[severity]++;
}

static int failures;

static void expect(int condition, const char *what) {
  if (!condition) {
    printf("FAILED: %s\n", what);
    failures++;
  }
}

/* No pass has compared the type with the mesh before tp-shard does. */
static const char *const local = "spmd.mesh @mesh <[\"x\"=2]>\n"
                                 "func.func @f(%x: tensor<2xf32, "
                                 "#spmd.local<@mesh, [{\"z\"}], global=[4]>>) "
                                 "{\n"
                                 "  return\n"
                                 "}\n";

/* Whatever a call is given, it returns. */
static void checkOddArguments(TPOptSession session) {
  TPOptModule module;
  expect(tpoptModuleParse(session, local, strlen(local), NULL, &module) ==
             TPOPT_OK,
         "a file needs no name");
  expect(tpoptModuleRunPipeline(module, "tp-shard") == TPOPT_INVALID,
         "a wrong local type is refused");
  printf("local: %s", tpoptSessionGetMessages(session));
  expect(tpoptModuleRunPipeline(module, "tp-shard") == TPOPT_INVALID &&
             !strcmp(tpoptModuleGetText(module), ""),
         "a module is of no use after a failure");
  printf("again: %s", tpoptSessionGetMessages(session));
  expect(tpoptModuleRunPipeline(module, NULL) == TPOPT_INVALID,
         "no pipeline is refused");
  tpoptModuleDestroy(module);

  expect(tpoptModuleParse(NULL, local, strlen(local), "f", &module) ==
                 TPOPT_INVALID &&
             module == NULL,
         "no session is refused");
  expect(tpoptModuleParse(session, NULL, 0, "f", &module) == TPOPT_INVALID,
         "no text is refused");
  expect(tpoptModuleParse(session, local, strlen(local), "f", NULL) ==
             TPOPT_INVALID,
         "no place for the module is refused");
  expect(tpoptModuleRunPipeline(NULL, "tp-shard") == TPOPT_INVALID,
         "no module is refused");
  expect(!strcmp(tpoptModuleGetText(NULL), ""), "no module has no text");
  expect(!strcmp(tpoptSessionGetMessages(NULL), ""),
         "no session has no messages");
  tpoptSessionSetMessageCallback(NULL, NULL, NULL);
}

int main(void) {
  expect(tpoptGetVersion() == TPOPT_VERSION_MAJOR * 1000 + TPOPT_VERSION_MINOR,
         "header and library have one version");

  TPOptSession session = tpoptSessionCreate();
  TPOptSession other = tpoptSessionCreate();
  int counts[4] = {0, 0, 0, 0};
  tpoptSessionSetMessageCallback(session, count, counts);

  /* A good program goes through a pipeline. */
  TPOptModule module;
  expect(tpoptModuleParse(session, program, strlen(program), "f.mlir",
                          &module) == TPOPT_OK,
         "a good program is read");
  expect(!strcmp(tpoptSessionGetMessages(session), ""), "without a message");
  expect(tpoptModuleRunPipeline(module, "tp-shard") == TPOPT_OK,
         "the pipeline runs");
  fputs(tpoptSessionGetMessages(session), stdout);
  puts(tpoptModuleGetText(module));

  /* A pipeline that is none leaves the module as it is. */
  expect(tpoptModuleRunPipeline(module, "tp-nonsense") == TPOPT_INVALID,
         "an unknown pass is refused");
  printf("pipeline: %s", tpoptSessionGetMessages(session));
  expect(counts[TPOPT_ERROR] == 1, "the callback got the error");
  expect(strstr(tpoptModuleGetText(module), "@f") != NULL,
         "the module is still there");
  tpoptModuleDestroy(module);

  /* What JAX exports is a program as well. */
  expect(tpoptModuleParse(session, exported, strlen(exported), "jax.mlir",
                          &module) == TPOPT_OK,
         "an exported program is read");
  expect(tpoptModuleRunPipeline(module, "tp-shard") == TPOPT_OK, "and sharded");
  puts(tpoptModuleGetText(module));
  tpoptModuleDestroy(module);
  expect(tpoptModuleParse(session, "ML\xefRStableHLO_v1.0.0", 18, "jax.bin",
                          &module) == TPOPT_INVALID,
         "a portable artifact is refused");
  printf("artifact: %s", tpoptSessionGetMessages(session));

  /* A wrong program is refused, in this session and without a callback. */
  expect(tpoptModuleParse(session, wrong, strlen(wrong), "wrong.mlir",
                          &module) == TPOPT_INVALID &&
             module == NULL,
         "a wrong program is refused");
  printf("program: %s", tpoptSessionGetMessages(session));
  expect(counts[TPOPT_ERROR] == 3, "the callback got every error");
  tpoptSessionSetMessageCallback(session, NULL, NULL);
  expect(tpoptModuleParse(session, "?", 1, "mark", &module) == TPOPT_INVALID,
         "text that is no program is refused");
  expect(counts[TPOPT_ERROR] == 3, "the callback is gone");
  expect(!strcmp(tpoptSessionGetMessages(other), ""),
         "sessions do not hear each other");

  /* An unknown operation has a code, and values their names in the text. */
  expect(tpoptModuleParse(session, unknown, strlen(unknown), "unknown.mlir",
                          &module) == TPOPT_INVALID,
         "an unknown operation is refused");
  printf("unknown: %s", tpoptSessionGetMessages(session));
  expect(tpoptModuleParse(session, program, strlen(program), "f.mlir",
                          &module) == TPOPT_OK &&
             tpoptModuleRunPipeline(module,
                                    "tp-propagate{explain=true},"
                                    "tp-explain{name=ww}") == TPOPT_INVALID,
         "there is no value of that name");
  printf("name: %s", tpoptSessionGetMessages(session));
  tpoptModuleDestroy(module);

  checkOddArguments(session);
  tpoptModuleDestroy(NULL);
  tpoptSessionDestroy(other);
  tpoptSessionDestroy(session);
  tpoptSessionDestroy(NULL);
  printf("%d failures\n", failures);
  return failures != 0;
}
