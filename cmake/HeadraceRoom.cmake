# headrace_room(name DEPENDS rooms… LIBS targets… [FOLDER folder] [CONCURRENT] [APART files…])
#   The static library headrace_<name> from src/<name>/*.cc, and the test program <name>_tests from src/<name>/*_test.cc,
#   which links only this room and what lies below it. A room without code yet is an interface library.
#   A room sees src/ and include/; Arrow is always there. FOLDER: the code is there and not in src/<name> (the faces).
#   main.cc is left out: it belongs to the program that a face makes of its room.
#
# HEADRACE_TOGETHER compiles eight files of a target as one, which takes half the time. APART names those that keep names of their
# own (in unnamed namespaces) that other files of the target have too; APART ALL: every file is compiled by itself.
#
# headrace_program(name SOURCES… ROOMS… LIBS…)            a program in <build>/bin
# headrace_test_program(name SOURCES… ROOMS… LIBS… [NO_MAIN] [CONCURRENT] [APART files…])
#   a GoogleTest program in <build>/tests, its tests known to ctest. NO_MAIN: the sources bring their own main().
#
# CONCURRENT: the tests run threads. They have the label `concurrent`, and are what the target concurrent_tests builds and the thread
# sanitizer looks at (make tsan).
#
# Tests find their fixtures through the macro HEADRACE_FIXTURES, the path of tests/fixtures. It comes from a forced
# include and not from a -D, so that only the files that use it depend on where the source folder is (ccache).

set(headrace_fixtures_header "${CMAKE_BINARY_DIR}/generated/headrace_fixtures.h")
file(CONFIGURE OUTPUT "${headrace_fixtures_header}" CONTENT
  "#ifndef HEADRACE_FIXTURES\n#define HEADRACE_FIXTURES \"${CMAKE_SOURCE_DIR}/tests/fixtures\"\n#endif\n")

# headrace_together(target files…): eight files of the target as one, but for these and those of other folders. What CMake's UNITY_BUILD would do, with paths that
# are the same in every clone (ccache).
function(headrace_together target)
  if(NOT HEADRACE_TOGETHER OR "ALL" IN_LIST ARGN)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(number 0)
  set(joined "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR "${source}" NORMALIZE is_of_the_folder)
    if(NOT is_of_the_folder OR source IN_LIST ARGN)
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE name)
    string(APPEND joined "#include \"${name}\"\n")
    # For all targets of the folder: none of them compiles the file by itself.
    set_source_files_properties("${source}" PROPERTIES HEADER_FILE_ONLY ON)
    math(EXPR number "${number} + 1")
    math(EXPR full "${number} % 8")
    if(full EQUAL 0)
      headrace_join(${target} ${number} "${joined}")
      set(joined "")
    endif()
  endforeach()
  if(joined)
    headrace_join(${target} ${number} "${joined}")
  endif()
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}")
  # A type with a member of an unnamed namespace's type is a mistake in a header; here the file only looks like one.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

# What headrace_together makes of up to eight includes.
function(headrace_join target number text)
  set(file "${CMAKE_BINARY_DIR}/generated/together/${target}_${number}.cc")
  file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
  target_sources(${target} PRIVATE "${file}")
endfunction()

# headrace_executable(name sources…): what every program and test program here is.
function(headrace_executable name)
  add_executable(${name} ${ARGN})
  if(HEADRACE_SANITIZE)
    target_sources(${name} PRIVATE "${CMAKE_SOURCE_DIR}/cmake/sanitizer_defaults.cc")
  endif()
endfunction()

# One variable only: gtest_discover_tests takes a list of them apart.
set(headrace_test_environment "TZ=UTC")

# Seconds a test may take. Sanitizers slow one down five- to tenfold.
set(headrace_test_timeout 300)
if(HEADRACE_SANITIZE)
  set(headrace_test_timeout 900)
endif()

add_custom_target(concurrent_tests)

# The third argument: TRUE for tests that run threads.
function(headrace_add_tests target prefix concurrent)
  set(labels)
  if(concurrent)
    set(labels LABELS concurrent)
    add_dependencies(concurrent_tests ${target})
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_compile_options(${target} PRIVATE -include "${headrace_fixtures_header}")
  gtest_discover_tests(${target}
    TEST_PREFIX "${prefix}."
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    PROPERTIES TIMEOUT ${headrace_test_timeout} ENVIRONMENT "${headrace_test_environment}" ${labels})
endfunction()

function(headrace_room name)
  cmake_parse_arguments(ARG "CONCURRENT" "FOLDER" "DEPENDS;LIBS;APART" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "headrace_room(${name}): unknown argument ${ARG_UNPARSED_ARGUMENTS}")
  endif()

  set(folder "${CMAKE_SOURCE_DIR}/src/${name}")
  if(ARG_FOLDER)
    set(folder "${CMAKE_SOURCE_DIR}/${ARG_FOLDER}")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")

  set(library headrace_${name})
  if(sources)
    add_library(${library} STATIC ${sources})
    headrace_together(${library} ${ARG_APART})
    set(scope PUBLIC)
  else()
    add_library(${library} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${library} ${scope} "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/include")
  # Every header must compile alone: the target all_verify_interface_header_sets (make headers).
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${folder}/*.h")
  if(name STREQUAL "api")
    file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/include/*.h")
    list(APPEND headers ${public_headers})
  endif()
  foreach(header IN LISTS headers)
    file(STRINGS "${header}" for_tests REGEX "HEADRACE_FIXTURES|_test_kit[.]h" LIMIT_COUNT 1)
    if(for_tests)   # compiles only in a test program
      list(REMOVE_ITEM headers "${header}")
    endif()
  endforeach()
  target_sources(${library} ${scope} FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}" FILES ${headers})
  set_target_properties(${library} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

  if(ARG_FOLDER)
    target_include_directories(${library} ${scope} "${CMAKE_SOURCE_DIR}")
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND headrace_)
  target_link_libraries(${library} ${scope} ${ARG_DEPENDS} ${ARG_LIBS} headrace_dep::arrow Threads::Threads)

  if(HEADRACE_TESTS AND tests)
    headrace_executable(${name}_tests ${tests})
    headrace_together(${name}_tests ${ARG_APART})
    target_link_libraries(${name}_tests PRIVATE ${library} GTest::gmock GTest::gtest_main)
    headrace_add_tests(${name}_tests ${name} ${ARG_CONCURRENT})
  endif()
endfunction()

function(headrace_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBS" ${ARGN})
  headrace_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_ROOMS PREPEND headrace_)
  target_link_libraries(${name} PRIVATE ${ARG_ROOMS} ${ARG_LIBS})
endfunction()

function(headrace_test_program name)
  if(NOT HEADRACE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "NO_MAIN;CONCURRENT" "" "SOURCES;ROOMS;LIBS;APART" ${ARGN})
  headrace_executable(${name} ${ARG_SOURCES})
  headrace_together(${name} ${ARG_APART})
  list(TRANSFORM ARG_ROOMS PREPEND headrace_)
  target_link_libraries(${name} PRIVATE ${ARG_ROOMS} ${ARG_LIBS} GTest::gmock)
  if(NOT ARG_NO_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  headrace_add_tests(${name} ${name} ${ARG_CONCURRENT})
endfunction()
