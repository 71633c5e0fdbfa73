# DuckDB's C API as headrace_dep::duckdb.
#
# -DHEADRACE_DUCKDB_ROOT=…: a folder with duckdb.h and libduckdb.so (include/ and lib/ below it are looked at too), as DuckDB releases
# them. Otherwise what scripts/bootstrap made in .deps/duckdb.

set(HEADRACE_DUCKDB_ROOT "" CACHE PATH "A folder with duckdb.h and libduckdb.so; empty: .deps/duckdb")
set(root "${CMAKE_SOURCE_DIR}/.deps/duckdb")
if(HEADRACE_DUCKDB_ROOT)
  set(root "${HEADRACE_DUCKDB_ROOT}")
endif()
find_path(HEADRACE_DUCKDB_INCLUDE duckdb.h PATHS "${root}" PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(HEADRACE_DUCKDB_LIBRARY duckdb PATHS "${root}" PATH_SUFFIXES lib NO_DEFAULT_PATH)
if(NOT HEADRACE_DUCKDB_INCLUDE OR NOT HEADRACE_DUCKDB_LIBRARY)
  message(FATAL_ERROR "DuckDB's duckdb.h and libduckdb.so were not found in ${root}: run scripts/bootstrap, or give -DHEADRACE_DUCKDB_ROOT=….")
endif()

add_library(headrace_dep::duckdb SHARED IMPORTED GLOBAL)
set_target_properties(headrace_dep::duckdb PROPERTIES
  IMPORTED_LOCATION "${HEADRACE_DUCKDB_LIBRARY}" IMPORTED_SONAME libduckdb.so)
target_include_directories(headrace_dep::duckdb SYSTEM INTERFACE "${HEADRACE_DUCKDB_INCLUDE}")
