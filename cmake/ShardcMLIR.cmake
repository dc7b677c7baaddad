# LLVM and MLIR 22 as shared libraries, and the functions that declare dialects and libraries of the compiler.

# Debian keeps each LLVM in a folder of its own, which its llvm-config knows.
find_program(SHARDC_LLVM_CONFIG NAMES llvm-config-22)
if(SHARDC_LLVM_CONFIG AND NOT MLIR_DIR)
  execute_process(COMMAND ${SHARDC_LLVM_CONFIG} --prefix OUTPUT_VARIABLE llvm_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND CMAKE_PREFIX_PATH ${llvm_prefix})
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLVM_DEFINITIONS is one string; whole static archives next to libLLVM.so would register options twice.
separate_arguments(SHARDC_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_library(shardc_mlir INTERFACE)
target_include_directories(shardc_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_include_directories(shardc_mlir INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
target_compile_definitions(shardc_mlir INTERFACE ${SHARDC_LLVM_DEFINITIONS})
target_link_libraries(shardc_mlir INTERFACE shardc_options MLIR LLVM)

# The importer reads protobuf messages, whose headers need exceptions; nothing else does.
set(SHARDC_NO_EXCEPTIONS -fno-exceptions)

set(SHARDC_TABLEGEN_INCLUDES -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/include)
foreach(dir ${MLIR_INCLUDE_DIRS})
  list(APPEND SHARDC_TABLEGEN_INCLUDES -I ${dir})
endforeach()
find_program(SHARDC_MLIR_TBLGEN NAMES mlir-tblgen mlir-tblgen-22 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)

add_custom_target(shardc-headers)
add_custom_target(shardc-doc)

# shardc_tablegen(<source.td> <output> <mlir-tblgen arguments…>): runs mlir-tblgen with a dependency file.
function(shardc_tablegen source output)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${output})
  get_filename_component(dir ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${SHARDC_MLIR_TBLGEN} ${ARGN} ${SHARDC_TABLEGEN_INCLUDES} ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${out}
            -d ${out}.d --write-if-changed
    DEPENDS ${source}
    DEPFILE ${out}.d
    COMMENT "mlir-tblgen ${output}")
  set_property(GLOBAL APPEND PROPERTY SHARDC_GENERATED ${out})
  set(SHARDC_LAST_OUTPUT ${out} PARENT_SCOPE)
endfunction()

# shardc_library(<name> <sources…> LINK <libraries…>): a library of the compiler.
function(shardc_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} shardc-headers)
  target_link_libraries(${name} PUBLIC shardc_mlir ${ARG_LINK})
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(${name} PRIVATE ${SHARDC_NO_EXCEPTIONS})
    if(TARGET shardc_precompiled)
      target_precompile_headers(${name} REUSE_FROM shardc_precompiled)
    endif()
  endif()
endfunction()

# One precompiled header for all libraries of the compiler.
if(NOT SHARDC_NO_PCH)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  add_library(shardc_precompiled STATIC ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(shardc_precompiled PUBLIC shardc_mlir)
  target_compile_options(shardc_precompiled PRIVATE ${SHARDC_NO_EXCEPTIONS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(shardc_precompiled PRIVATE -Xclang -fno-pch-timestamp)
  endif()
  target_precompile_headers(shardc_precompiled PRIVATE
    <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
    <mlir/IR/Diagnostics.h> <mlir/IR/DialectImplementation.h> <mlir/IR/IRMapping.h> <mlir/IR/OpImplementation.h>
    <mlir/IR/PatternMatch.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Interfaces/InferTypeOpInterface.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h> <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h>)
endif()
