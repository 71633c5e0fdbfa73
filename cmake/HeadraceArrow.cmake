# Arrow C++ as headrace_dep::{arrow,parquet,arrow_compute,arrow_acero,arrow_dataset}.
#
# An Arrow installation of the user's own (apt, brew, conda, vcpkg) is taken first. Otherwise the headers and shared
# libraries inside the pyarrow wheel are used: of the Python given by -DPython3_EXECUTABLE, else of .venv in the source
# folder (scripts/bootstrap makes it), else of the python3 on the path.
# Sets HEADRACE_ARROW_FROM ("package" or "wheel") and, for the wheel, HEADRACE_ARROW_DIR.

set(headrace_arrow_libs arrow parquet arrow_compute arrow_acero arrow_dataset)

find_package(Arrow 26 CONFIG QUIET)
if(Arrow_FOUND)
  set(HEADRACE_ARROW_FROM package)
  set(config_arrow Arrow)
  set(config_parquet Parquet)
  set(config_arrow_compute ArrowCompute)
  set(config_arrow_acero ArrowAcero)
  set(config_arrow_dataset ArrowDataset)
  foreach(lib IN LISTS headrace_arrow_libs)
    find_package(${config_${lib}} CONFIG REQUIRED HINTS "${Arrow_DIR}/..")
    add_library(headrace_dep_${lib} INTERFACE)
    target_link_libraries(headrace_dep_${lib} INTERFACE ${config_${lib}}::${lib}_shared)
    add_library(headrace_dep::${lib} ALIAS headrace_dep_${lib})
  endforeach()
  message(STATUS "Arrow ${Arrow_VERSION}: ${Arrow_DIR}")
  return()
endif()

set(HEADRACE_ARROW_FROM wheel)
if(Python3_EXECUTABLE)
  set(python "${Python3_EXECUTABLE}")
elseif(EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python")
  set(python "${CMAKE_SOURCE_DIR}/.venv/bin/python")
else()
  find_program(HEADRACE_PYTHON NAMES python3 REQUIRED)
  set(python "${HEADRACE_PYTHON}")
endif()
execute_process(
  COMMAND "${python}" -c
    "import importlib.util as u,os;s=u.find_spec('pyarrow');print(os.path.dirname(s.origin) if s else '')"
  OUTPUT_VARIABLE HEADRACE_ARROW_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS "${HEADRACE_ARROW_DIR}/include/arrow/util/config.h")
  message(FATAL_ERROR
    "Arrow C++ 26 was not found: neither a CMake package nor the pyarrow wheel of ${python}. "
    "Run scripts/bootstrap, or give -DPython3_EXECUTABLE=… of a Python with pyarrow==26.0.1, or -DArrow_DIR=….")
endif()

set(config_h "${HEADRACE_ARROW_DIR}/include/arrow/util/config.h")
file(STRINGS "${config_h}" so_line REGEX "define ARROW_SO_VERSION")
string(REGEX MATCH "[0-9]+" so "${so_line}")
file(STRINGS "${config_h}" version_line REGEX "define ARROW_VERSION_STRING")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" HEADRACE_ARROW_VERSION "${version_line}")
if(NOT HEADRACE_ARROW_VERSION MATCHES "^26\\.")
  message(FATAL_ERROR "the pyarrow of ${python} is ${HEADRACE_ARROW_VERSION}; Headrace needs 26: run scripts/bootstrap.")
endif()

# The wheel has no unversioned .so: link the full file names. SYSTEM keeps our warnings out of Arrow's headers.
foreach(lib IN LISTS headrace_arrow_libs)
  add_library(headrace_dep::${lib} SHARED IMPORTED GLOBAL)
  set_target_properties(headrace_dep::${lib} PROPERTIES
    IMPORTED_LOCATION "${HEADRACE_ARROW_DIR}/lib${lib}.so.${so}" IMPORTED_SONAME "lib${lib}.so.${so}")
  target_include_directories(headrace_dep::${lib} SYSTEM INTERFACE "${HEADRACE_ARROW_DIR}/include")
endforeach()
target_link_libraries(headrace_dep::parquet INTERFACE headrace_dep::arrow)
target_link_libraries(headrace_dep::arrow_compute INTERFACE headrace_dep::arrow)
target_link_libraries(headrace_dep::arrow_acero INTERFACE headrace_dep::arrow_compute)
target_link_libraries(headrace_dep::arrow_dataset INTERFACE headrace_dep::arrow_acero headrace_dep::parquet)
message(STATUS "Arrow ${HEADRACE_ARROW_VERSION}: wheel in ${HEADRACE_ARROW_DIR}")
