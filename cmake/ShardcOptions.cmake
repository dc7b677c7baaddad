# Compiler flags of all targets, and the tools that make builds quick where they are present.

add_library(shardc_options INTERFACE)
target_include_directories(shardc_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_options(shardc_options INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 deprecates what its own std::stable_sort uses.
  target_compile_options(shardc_options INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of GCC 12 on `"literal" + std::string` (GCC bugs 105651 and 105329).
  target_compile_options(shardc_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(SHARDC_WERROR)
  target_compile_options(shardc_options INTERFACE -Werror)
endif()
# Fixed reduction orders are part of the contract: nothing may contract or reassociate.
target_compile_options(shardc_options INTERFACE -ffp-contract=off)

if(SHARDC_SANITIZER)
  target_compile_options(shardc_options INTERFACE -fsanitize=${SHARDC_SANITIZER} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  target_link_options(shardc_options INTERFACE -fsanitize=${SHARDC_SANITIZER})
endif()

find_program(SHARDC_CCACHE ccache)
if(SHARDC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A precompiled header must not carry the time of its making, and its macros are part of the header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SHARDC_CCACHE})
endif()
find_program(SHARDC_MOLD mold)
if(SHARDC_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
