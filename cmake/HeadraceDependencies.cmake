# Everything else we link, under one family of names: headrace_dep::{fmt,json,zstd,lz4,snappy,xxhash,libedit,libpq,
# rdkafka,httplib,roaring,cli11,rapidjson}. A room names what it uses in its CMakeLists.txt; nothing is linked by default but Arrow.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# house_name(name target): headrace_dep::name stands for an existing target.
function(house_name name target)
  add_library(headrace_dep_${name} INTERFACE)
  target_link_libraries(headrace_dep_${name} INTERFACE ${target})
  add_library(headrace_dep::${name} ALIAS headrace_dep_${name})
endfunction()

find_package(fmt REQUIRED CONFIG)
house_name(fmt fmt::fmt)

find_package(nlohmann_json REQUIRED CONFIG)
house_name(json nlohmann_json::nlohmann_json)

find_package(CLI11 REQUIRED CONFIG)
house_name(cli11 CLI11::CLI11)

foreach(pair "zstd=libzstd" "lz4=liblz4" "snappy=snappy" "xxhash=libxxhash" "libedit=libedit")
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 name)
  list(GET pair 1 package)
  pkg_check_modules(headrace_pc_${name} REQUIRED IMPORTED_TARGET GLOBAL ${package})
  house_name(${name} PkgConfig::headrace_pc_${name})
endforeach()

pkg_check_modules(headrace_pc_libpq REQUIRED IMPORTED_TARGET GLOBAL libpq)
house_name(libpq PkgConfig::headrace_pc_libpq)

pkg_check_modules(headrace_pc_rdkafka REQUIRED IMPORTED_TARGET GLOBAL rdkafka++ rdkafka)
house_name(rdkafka PkgConfig::headrace_pc_rdkafka)

pkg_check_modules(headrace_pc_httplib REQUIRED IMPORTED_TARGET GLOBAL cpp-httplib)
house_name(httplib PkgConfig::headrace_pc_httplib)

# pyarrow's libparquet exports an OpenSSL of its own. Libraries that speak TLS must not find half of their functions there and half in
# the system's: so whatever links them names the system's OpenSSL itself, in front of Arrow's libraries, and as needed though it calls
# nothing of it.
find_package(OpenSSL REQUIRED)
foreach(name rdkafka httplib libpq)
  target_link_libraries(headrace_dep_${name} INTERFACE "-Wl,--push-state,--no-as-needed,${OPENSSL_SSL_LIBRARY},${OPENSSL_CRYPTO_LIBRARY},--pop-state")
endforeach()

find_package(roaring REQUIRED CONFIG)
house_name(roaring roaring::roaring)

find_path(HEADRACE_RAPIDJSON_INCLUDE rapidjson/reader.h REQUIRED)
add_library(headrace_dep_rapidjson INTERFACE)
target_include_directories(headrace_dep_rapidjson SYSTEM INTERFACE "${HEADRACE_RAPIDJSON_INCLUDE}")
add_library(headrace_dep::rapidjson ALIAS headrace_dep_rapidjson)

if(HEADRACE_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck CONFIG QUIET)
  include(GoogleTest)
endif()
if(HEADRACE_BENCH)
  find_package(benchmark REQUIRED CONFIG)
endif()
