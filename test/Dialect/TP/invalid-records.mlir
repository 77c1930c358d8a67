// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A case for each constraint of a record, in their order.

// RUN: tp-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// expected-error @below {{[TP0304] #tp.plan expects machine and target names that are not empty}}
"test.record"() {record = #tp.plan<machine = "">} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.plan expects memory of at least 0}}
"test.record"() {record = #tp.plan<memory = -1>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.plan expects a target if fp8 is set}}
"test.record"() {record = #tp.plan<fp8 = true>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.plan expects verify_us of at least 0}}
"test.record"() {record = #tp.plan<verify_us = -1.0>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.digests expects values in ascending order}}
"test.record"() {record = #tp.digests<values = [7, -5]>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.reason expects a user that is not empty}}
"test.record"() {record = #tp.reason<kind = moved, user = "">} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.reason expects axes, because its kind is contracted}}
"test.record"() {record = #tp.reason<kind = contracted, user = "tp.add">} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.reason expects no axes, because its kind is moved}}
"test.record"() {record = #tp.reason<kind = moved, user = "tp.add", axes = <{"x"}>>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.reason expects both `from` and `to`, or neither}}
"test.record"() {record = #tp.reason<kind = moved, user = "tp.add", from = <@mesh, [{"x"}]>>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.why expects at least one reason}}
"test.record"() {record = #tp.why<reasons = []>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.why expects each reason only once}}
"test.record"() {record = #tp.why<reasons = [<kind = moved, user = "f">, <kind = moved, user = "f">]>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.arrival expects dim of at least 0, got -1}}
"test.record"() {record = #tp.arrival<axis = <"x">, dim = -1>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.loss expects dim of at least 0, got -1}}
"test.record"() {record = #tp.loss<axis = <"x">, dim = -1, rule = Closed>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.explanation expects id of at least 0, got -1}}
"test.record"() {record = #tp.explanation<id = -1, name = "x", sharding = <@mesh, [{}]>>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.prices expects the plan as its first item}}
"test.record"() {record = #tp.prices<unit = bytes, items = [<kind = loops>]>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.prices expects the plan as its first item}}
"test.record"() {record = #tp.prices<unit = bytes, items = [<kind = plan>, <kind = plan>]>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.prices expects a gap of at least 0}}
"test.record"() {record = #tp.prices<unit = bytes, items = [<kind = plan>], gap = -1.0>} : () -> ()

// -----

// expected-error @below {{[TP0304] #tp.prices expects merged of at least 0, got -1}}
"test.record"() {record = #tp.prices<unit = bytes, items = [<kind = plan>], merged = -1>} : () -> ()

// -----

// expected-error @+2 {{[TP0307] 'Closd' is not a value that this attribute can have; see the reference of the tp dialect}}
// expected-error @below {{failed to parse TP_LossAttr parameter 'rule'}}
"test.record"() {record = #tp.loss<axis = <"x">, dim = 0, rule = Closd>} : () -> ()
