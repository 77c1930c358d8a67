# Flags of this project's own code, on top of what HandleLLVMOptions sets, which
# turns the warnings on.
function(tp_compile_options target)
  target_compile_options(${target} PRIVATE
    $<$<BOOL:${TPOPT_WERROR}>:-Werror>)
  if(TPOPT_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=address,undefined -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/AsanOptions.cpp)
    endif()
  endif()
endfunction()

# tp_precompile_headers(<target> [HEADER <header>] [LINK_LIBS ...])
#
# Parses cmake/<header>.h, Precompiled.h if none is named, once for all targets,
# which halves the time of a build. The header needs what LINK_LIBS say. A build
# with TPOPT_PRECOMPILE=OFF finds what a file forgot to include. Libraries and
# programs are compiled with -fPIC and -fPIE, which may not share.
function(tp_precompile_headers target)
  if(NOT TPOPT_PRECOMPILE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "HEADER" "LINK_LIBS" ${ARGN})
  set(header Precompiled)
  if(ARG_HEADER)
    set(header ${ARG_HEADER})
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set(option -fPIE)
  else()
    set(option -fPIC)
  endif()
  set(headers TPOpt${header}${option})
  if(NOT TARGET ${headers})
    add_library(${headers} OBJECT ${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp)
    set_target_properties(${headers} PROPERTIES
                          POSITION_INDEPENDENT_CODE OFF UNITY_BUILD OFF)
    target_compile_options(${headers} PRIVATE ${option}
      "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    target_precompile_headers(${headers} PRIVATE
                              ${PROJECT_SOURCE_DIR}/cmake/${header}.h)
    target_link_libraries(${headers} PRIVATE ${ARG_LINK_LIBS})
    add_dependencies(${headers} TPOptSPMDIncGen TPOptTPIncGen)
    llvm_update_compile_flags(${headers})
    tp_compile_options(${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# add_tp_library(<name> <sources>...
#                [DEPENDS ...] [LINK_LIBS PUBLIC ...] [MLIR_LIBS ...]
#                [PRECOMPILE <header>])
#
# A library of this project. Upstream libraries go in MLIR_LIBS, so that
# mlir_target_link_libraries() can turn them into libMLIR.so. Installation is
# ours because add_mlir_library() installs neither headers nor an export.
function(add_tp_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILE" "MLIR_LIBS" ${ARGN})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS} DISABLE_INSTALL)
  mlir_target_link_libraries(${name} PUBLIC ${ARG_MLIR_LIBS})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  tp_compile_options(${name})
  if(TARGET obj.${name}) # add_mlir_library() compiles there
    tp_compile_options(obj.${name})
    tp_precompile_headers(obj.${name} HEADER ${ARG_PRECOMPILE})
  endif()
  install(TARGETS ${name} EXPORT TPOptTargets
          ARCHIVE DESTINATION lib LIBRARY DESTINATION lib)
endfunction()

# add_tp_support_library(<name> <sources>... LINK_LIBS ...)
#
# A library of this project that knows no MLIR.
function(add_tp_support_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  llvm_update_compile_flags(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  tp_compile_options(${name})
  install(TARGETS ${name} EXPORT TPOptTargets ARCHIVE DESTINATION lib)
endfunction()

# add_tp_tool(<name> <sources>... [LINK_LIBS ...]): an executable in bin/.
function(add_tp_tool name)
  cmake_parse_arguments(ARG "SUPPORT_PLUGINS" "" "LINK_LIBS" ${ARGN})
  if(ARG_SUPPORT_PLUGINS)
    add_llvm_executable(${name} ${ARG_UNPARSED_ARGUMENTS} SUPPORT_PLUGINS)
  else()
    add_llvm_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR)
  tp_compile_options(${name})
  tp_precompile_headers(${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()
