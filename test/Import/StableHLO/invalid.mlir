// RUN: tp-opt %s --split-input-file --verify-diagnostics --tp-import-stablehlo

// What is not imported is an error that names the operation and the reason.

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0530] stablehlo.tomorrow is not supported: express it with operations that docs/stablehlo.md lists, or compute it outside of the program}}
  %0 = stablehlo.tomorrow %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @library(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0530] stablehlo.custom_call @lapack_spotrf_ffi is not supported, because only its own library knows what it computes; compute it outside of the program and pass its result as an argument}}
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The result of a Python function is needed.
func.func @pure_callback(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0530] stablehlo.custom_call @xla_ffi_python_cpu_callback is not supported, because only its own library knows what it computes; compute it outside of the program and pass its result as an argument}}
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// jax.debug.print(.., ordered=True)
func.func @ordered(%token: !stablehlo.token, %x: tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>) {
  // expected-error @below {{[TP0530] stablehlo.custom_call has the type '!stablehlo.token', which is not supported: expects a tensor of floats or integers of at most 64 bits; ordered effects are not supported either: write ordered=False, or leave the effects out}}
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%token, %x) {has_side_effect = true} : (!stablehlo.token, tensor<4xf32>) -> !stablehlo.token
  return %0, %x : !stablehlo.token, tensor<4xf32>
}

// -----

func.func @no_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0530] stablehlo.custom_call @mhlo.nothing is not supported: this function is not known}}
  %0 = stablehlo.custom_call @mhlo.nothing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Complex numbers are taken apart inside of functions, and by operations that do so.
func.func @complex(%x: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  %1 = stablehlo.add %0, %0 : tensor<4xcomplex<f32>>
  // expected-error @below {{[TP0533] func.return has the type 'tensor<4xcomplex<f32>>': compute with real and imaginary parts}}
  return %1 : tensor<4xcomplex<f32>>
}

// -----

func.func @root(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  %1 = stablehlo.multiply %0, %0 : tensor<4xcomplex<f32>>
  // expected-error @below {{[TP0533] stablehlo.sqrt has the type 'tensor<4xcomplex<f32>>': compute with real and imaginary parts}}
  %2 = stablehlo.sqrt %1 : tensor<4xcomplex<f32>>
  %3 = stablehlo.real %2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{[TP0209] stablehlo.negate has the type 'tensor<?xf32>': export with static sizes}}
  %0 = stablehlo.negate %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @token() -> !stablehlo.token {
  // expected-error @below {{[TP0530] stablehlo.create_token has the type '!stablehlo.token', which is not supported: expects a tensor of floats or integers of at most 64 bits}}
  %0 = stablehlo.create_token : !stablehlo.token
  return %0 : !stablehlo.token
}

// -----

func.func @comparator(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0530] stablehlo.sort is only supported with a comparator that compares pairs of its arguments by < or >, one pair after the other}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    %p = stablehlo.compare LT, %a, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @region(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{[TP0530] stablehlo.reduce with a region that is not element-wise is not supported}}
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-note @below {{this op is not element-wise}}
    %s = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2xf32>
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @order(%x: tensor<4xf32>, %c: tensor<f32>) {
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @below {{[TP0531] stablehlo.add uses a value before the value is computed}}
    %s = stablehlo.add %s, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @no_return(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0531] stablehlo.negate is the last op of a block, which must end in a return}}
  %0 = stablehlo.negate %x : tensor<4xf32>
}

// -----

func.func @no_end(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-error @below {{[TP0531] stablehlo.add is the last op of a block, which must end in a return}}
    %s = stablehlo.add %a, %b : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @precision(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  // expected-error @below {{[TP0530] stablehlo.reduce_precision of 'f8E5M2' is not supported: expects f64, f32, f16 or bf16}}
  %0 = stablehlo.reduce_precision %x, format = e4m1 : tensor<4xf8E5M2>
  return %0 : tensor<4xf8E5M2>
}

// -----

func.func @exponent(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0531] stablehlo.reduce_precision expects at least one bit for the exponent}}
  %0 = stablehlo.reduce_precision %x, format = e0m7 : tensor<4xf32>
  return
}

// -----

func.func @algorithm(%s: tensor<2xui64>) -> tensor<4xui32> {
  // expected-error @below {{[TP0530] stablehlo.rng_bit_generator with THREE_FRY is not supported: use PHILOX, which is also the DEFAULT}}
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %1 : tensor<4xui32>
}

// -----

func.func @state(%s: tensor<4xui64>) {
  // expected-error @below {{[TP0531] stablehlo.rng_bit_generator with PHILOX expects a state of two or three ui64 values}}
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<4xui64>) -> (tensor<4xui64>, tensor<4xui32>)
  return
}

// -----

func.func @bits(%s: tensor<2xui64>) -> tensor<4xf32> {
  // expected-error @below {{[TP0530] stablehlo.rng_bit_generator of 'f32' is not supported: expects integers of 8 bits or more}}
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xf32>)
  return %1 : tensor<4xf32>
}

// -----

func.func @candidates(%x: tensor<8xf32>, %v: tensor<f32>, %i: tensor<i32>) {
  %n = stablehlo.iota dim = 0 : tensor<8xi32>
  // expected-error @below {{[TP0530] stablehlo.custom_call @ApproxTopK is not supported unless it keeps exactly k elements: set aggregate_to_topk}}
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %n, %v, %i) {called_computations = [], mhlo.backend_config = {aggregate_to_topk = false, reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// -----

func.func @places(%x: tensor<8xf32>, %n: tensor<8xi32>, %v: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0530] stablehlo.custom_call @ApproxTopK is only supported for one tensor of floats and the i32 indices of its elements}}
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %n, %v, %i) {called_computations = [], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @comparator(%x: tensor<8xf32>, %v: tensor<f32>, %i: tensor<i32>) {
  %n = stablehlo.iota dim = 0 : tensor<8xi32>
  // expected-error @below {{[TP0530] stablehlo.custom_call @ApproxTopK is only supported with a function that compares its first two arguments with < or >}}
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %n, %v, %i) {called_computations = [@nothing], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

// An operation that is not as StableHLO has it.
func.func @operands(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0531] stablehlo.negate has the wrong number of operands, results or regions}}
  %0 = "stablehlo.negate"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @missing(%x: tensor<4x4xf32>) {
  // expected-error @below {{[TP0531] stablehlo.iota expects `iota_dimension` to be an integer}}
  %0 = "stablehlo.iota"() : () -> tensor<4x4xf32>
  return
}

// -----

func.func @range(%x: tensor<4x4xf32>) {
  // expected-error @below {{[TP0531] stablehlo.slice cannot take [0:5:1] of a dimension of size 4}}
  %0 = stablehlo.slice %x [0:5, 0:4] : (tensor<4x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @structure(%x: tensor<4x4xf32>) {
  // expected-error @below {{[TP0531] stablehlo.dot_general: dot_dimension_numbers expects `lhs_contracting_dimensions` to name dimensions of a tensor of rank 2, each at most once}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [2] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @types(%x: tensor<4x4xf32>) {
  // expected-error @below {{[TP0531] stablehlo.transpose has the result types ('tensor<4x4xf16>'), but computes results of the types ('tensor<4x4xf32>')}}
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf16>
  return
}

// -----

// What our own ops do not accept they say themselves, at the operation.
func.func @ours(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{'tp.add' op}}
  %0 = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{[TP0534] the sharding "{devices=[2,2]<=[8]}" cannot be read: expects the form {devices=[2,4]<=[8]}, or a list of devices in a regular order}}
func.func @tiles(%x: tensor<4x4xf32> {mhlo.sharding = "{devices=[2,2]<=[8]}"}) -> tensor<4x4xf32> {
  %0 = stablehlo.negate %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// expected-error @below {{[TP0534] the shardings cut the devices in ways that the axes of one mesh cannot express}}
module {
  func.func @factors(%x: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,1,3]<=[6] last_tile_dim_replicate}"}, %y: tensor<6x6xf32> {mhlo.sharding = "{devices=[3,1,2]<=[6] last_tile_dim_replicate}"}) -> tensor<6x6xf32> {
    %0 = stablehlo.add %x, %y : tensor<6x6xf32>
    return %0 : tensor<6x6xf32>
  }
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @axis(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0202]}}
  %0 = sdy.sharding_constraint %x <@mesh, [{"y"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A region of GSPMD's calls that takes nothing ends where its manual values do.
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @nothing(%x: tensor<4xi32>) -> tensor<4xi32> {
    // expected-error @below {{[TP0534] @SPMDShardToFullShape expects the result of @Sharding as its operand}}
    %0 = stablehlo.custom_call @SPMDShardToFullShape(%x) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @gives() -> (tensor<2xi32>, tensor<1xi32>) {
    %x = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{manual}"} : (tensor<1xi32>) -> tensor<1xi32>
    // expected-error @below {{[TP0534] @SPMDShardToFullShape ends a region whose values are also used outside of it, which is not supported}}
    %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<1xi32>) -> tensor<2xi32>
    return %1, %0 : tensor<2xi32>, tensor<1xi32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @axes(%x: tensor<4xi32>) -> tensor<4xi32> {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xi32>) -> tensor<4xi32>
    // expected-error @below {{[TP0534] @SPMDFullToShardShape expects a sharding that makes at least one axis manual}}
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xi32>) -> tensor<2xi32>
    %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{manual}"} : (tensor<2xi32>) -> tensor<2xi32>
    %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<2xi32>) -> tensor<4xi32>
    return %3 : tensor<4xi32>
  }
}

// -----

sdy.mesh @mesh = <["x"=6]>
// expected-error @below {{[TP0534] a sharding in the form {devices=[..]} cuts the devices in a way that the axes of mesh @mesh cannot express}}
func.func @other_devices(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=6]>
// expected-error @below {{[TP0534] a sharding in the form {devices=[..]} cuts the devices in a way that the axes of mesh @mesh cannot express}}
func.func @other_axes(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4,3]<=[3,4]T(1,0) last_tile_dim_replicate}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=4], device_ids=[0, 3, 2, 1]>
// expected-error @below {{[TP0534] a sharding in the form {devices=[..]} cuts the devices in a way that the axes of mesh @mesh cannot express}}
func.func @listed_devices(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @part(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<4xi32>) -> tensor<4xi32>
  // expected-error @below {{[TP0534] a part of axis "x" is manual: only whole axes can be manual; make that part an axis of its own}}
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<4xi32>) -> tensor<2xi32>
  %2 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<2xi32>) -> tensor<2xi32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<2xi32>) -> tensor<4xi32>
  return %3 : tensor<4xi32>
}

// -----

// The calls of Shardy in strings stand around a call of the body.
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2]>}"}} {
  func.func @no_body(%x: tensor<4xi32>) -> tensor<4xi32> {
    // expected-error @below {{[TP0534] @xla.sdy.LocalToGlobalShape expects its operands to be the results of one call, and the operands of that call to be the results of one @xla.sdy.GlobalToLocalShape}}
    %0 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%x) {mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{}]>]>"}} : (tensor<4xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
}

// -----

// Tuples are taken apart, or are no tensors.
func.func @tuple(%x: tensor<4xi32>) -> tuple<tensor<4xi32>, tensor<4xi32>> {
  // expected-error @below {{[TP0530] stablehlo.tuple has the type 'tuple<tensor<4xi32>, tensor<4xi32>>', which is not supported: expects a tensor of floats or integers of at most 64 bits}}
  %0 = stablehlo.tuple %x, %x : tuple<tensor<4xi32>, tensor<4xi32>>
  return %0 : tuple<tensor<4xi32>, tensor<4xi32>>
}

// -----

func.func @element(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{[TP0530] stablehlo.tuple has the type 'tuple<tensor<4xi32>, tensor<2xi32>>'}}
  %0 = "stablehlo.tuple"(%x, %x) : (tensor<4xi32>, tensor<4xi32>) -> tuple<tensor<4xi32>, tensor<2xi32>>
  %1 = "stablehlo.get_tuple_element"(%0) <{index = 2 : i32}> : (tuple<tensor<4xi32>, tensor<2xi32>>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}

// -----

// Beside regions for one device, nothing is exchanged outside of them.
sdy.mesh @mesh = <["x"=2]>
func.func @exchange(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    sdy.return %a : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{[TP0530] stablehlo.all_gather is not supported outside of manual regions if the program has manual regions}}
  %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @groups(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<1xf32>) {
    // expected-error @below {{[TP0535] stablehlo.all_reduce is not supported for device groups that do not follow the axes of mesh @mesh}}
    %1 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<1xf32>) -> tensor<1xf32>
    sdy.return %1 : tensor<1xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// No number of a process is beyond the devices, whatever it counts.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @beyond(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%a: tensor<1xf32>) {
      // expected-error @below {{[TP0531] stablehlo.collective_permute names device 9223372036854775807, which does not exist or is named twice}}
      %1 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, source_target_pairs = dense<[[9223372036854775807, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
      sdy.return %1 : tensor<1xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @beyond_in_a_group(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%a: tensor<1xf32>) {
      // expected-error @below {{[TP0531] stablehlo.all_reduce names device 9223372036854775807, which does not exist or is named twice}}
      %1 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 9223372036854775807]]> : tensor<1x2xi64>}> ({
      ^bb0(%b: tensor<f32>, %c: tensor<f32>):
        %s = stablehlo.add %b, %c : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<1xf32>) -> tensor<1xf32>
      sdy.return %1 : tensor<1xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Lists of one number many times, of more elements than 64 bits count.
func.func @long_list(%x: tensor<4x4xf32>, %zero: tensor<f32>) -> tensor<2x2xf32> {
  // expected-error @below {{[TP0531] stablehlo.reduce_window expects `padding` to be a list of integers}}
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<0> : tensor<9223372036854775807x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{[TP0531] stablehlo.collective_permute expects `source_target_pairs` to be a list of integers}}
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<0> : tensor<9223372036854775807x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @axis(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    // expected-error @below {{[TP0531] stablehlo.all_gather exchanges data along an axis that is not manual in the enclosing region: make the axis manual}}
    %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
    %2 = stablehlo.slice %1 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    sdy.return %2 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @across(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    // expected-error @below {{[TP0531] stablehlo.collective_permute exchanges data along an axis that is not manual in the enclosing region: make the axis manual}}
    %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Some devices get nothing, and which ones differs along an axis that is not manual.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @gaps(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<1xf32>) {
    // expected-error @below {{[TP0531] stablehlo.collective_permute exchanges data along an axis that is not manual in the enclosing region: make the axis manual}}
    %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 2], [5, 7]]> : tensor<2x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
    sdy.return %1 : tensor<1xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A region in another one is about other axes.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
    // expected-error @below {{names axis "x", which is already manual in an enclosing region: inside that region nothing can be cut along this axis; leave it out}}
    %1 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<1xf32>) {
      %2 = stablehlo.negate %b : tensor<1xf32>
      sdy.return %2 : tensor<1xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What JAX 0.4.30 wrote for jax.pmap, and others where it maps over another
// dimension.
module @pmap_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  // expected-error @below {{[TP0534] function 'main', argument #1: devices hold different values, but 'tensor<4xf32>' does not show along which dimension jax.pmap has cut the tensor}}
  func.func @main(%w: tensor<4xf32> {mhlo.is_same_data_across_replicas = true}, %x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %w, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// A partitioned function whose arguments nobody says the whole of.
module attributes {mhlo.num_replicas = 2 : i32} {
  // expected-error @below {{[TP0534] function 'main', argument #0: devices hold different values}}
  func.func @main(%x: tensor<4xf32> {mhlo.parameter_replication = [false]}) -> tensor<8xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// What is wrong is an error also where nobody uses it, and what has more
// meaning than its results is no less used.
func.func @unused(%x: tensor<4xf32>, %y: tensor<4xf8E5M2>) -> tensor<4xf32> {
  %0 = stablehlo.reduce_precision %y, format = e4m1 : tensor<4xf8E5M2>
  // expected-error @below {{[TP0531] stablehlo.slice cannot take [0:5:1] of a dimension of size 4}}
  %1 = stablehlo.slice %x [0:5] : (tensor<4xf32>) -> tensor<5xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @effect(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0530] stablehlo.custom_call @log is not supported, because only its own library knows what it computes; compute it outside of the program and pass its result as an argument}}
  %0 = stablehlo.custom_call @log(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @features(%x: tensor<4x3xf32>, %w: tensor<4xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{[TP0531] stablehlo.batch_norm_training expects scale, offset, mean and variance with 3 numbers of its element type, one for each feature}}
  %0:3 = "stablehlo.batch_norm_training"(%x, %w, %w) <{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0 : tensor<4x3xf32>
}

// -----

func.func @feature(%x: tensor<4x3xf32>, %w: tensor<3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{[TP0531] stablehlo.batch_norm_inference has no dimension 2}}
  %0 = "stablehlo.batch_norm_inference"(%x, %w, %w, %w, %w) <{epsilon = 1.0e-5 : f32, feature_index = 2 : i64}> : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @epsilon(%x: tensor<4x3xf32>, %w: tensor<3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{[TP0531] stablehlo.batch_norm_inference expects a number `epsilon`}}
  %0 = "stablehlo.batch_norm_inference"(%x, %w, %w, %w, %w) <{feature_index = 1 : i64}> : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// Where the module has a mesh, too.
sdy.mesh @mesh = <["x"=2]>
// expected-error @below {{[TP0534] the sharding "{striped}" cannot be read: expects the form {devices=[2,4]<=[8]}, or a list of devices in a regular order}}
func.func @form(%x: tensor<8xf32> {mhlo.sharding = "{striped}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// No program of the mesh has a value on one device alone: all get it, and that
// is said, in GSPMD's form and in Shardy's.
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @maximal(%x: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> tensor<8x4xf32> {
    // expected-warning @below {{the sharding places the value on one device, but tp-opt gives it to every device of the mesh: write a replicated sharding}}
    %0 = stablehlo.exponential %x {mhlo.sharding = "{maximal device=2}"} : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @maximal_mesh_2 = <[], device_ids=[2]>
  sdy.mesh @mesh = <["x"=4]>
  func.func @maximal(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    // expected-warning @below {{the sharding places the value on one device, but tp-opt gives it to every device of the mesh: write a replicated sharding}}
    %0 = stablehlo.exponential %x {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_2, []>]>} : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

func.func @window(%x: tensor<4xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @below {{[TP0531] stablehlo.reduce_window expects a region that returns a scalar of each operand's element type}}
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @reduce(%x: tensor<4xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @below {{[TP0531] stablehlo.reduce expects a region that returns a scalar of each operand's element type}}
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.convert %a : (tensor<f32>) -> tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Neither a byte nor a bit for each.
func.func @booleans() -> tensor<9xi1> {
  // expected-error @below {{[TP0307] expects a hexadecimal string with a byte or a bit for each element of 'tensor<9xi1>'}}
  %0 = stablehlo.constant dense<"0x010101"> : tensor<9xi1>
  return %0 : tensor<9xi1>
}
