# cmake --install <build> --prefix DIR: the program `headrace` in bin/, self-contained.
#
# DuckDB's library, and Arrow's from the wheel, are copied to lib/headrace, and the program finds them by a path relative to
# itself, so the prefix can be moved and the source folder deleted. Arrow from a package: the program keeps the package's path.

include(GNUInstallDirs)

if(NOT TARGET headrace)
  return()
endif()

install(TARGETS headrace RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(HEADRACE_ARROW_FROM STREQUAL "wheel")
  set_target_properties(headrace PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/headrace" INSTALL_RPATH_USE_LINK_PATH OFF)
  # Only what the program loads, directly or through another of these libraries.
  foreach(lib IN LISTS headrace_arrow_libs)
    install(FILES "$<TARGET_FILE:headrace_dep::${lib}>" DESTINATION ${CMAKE_INSTALL_LIBDIR}/headrace)
  endforeach()
else()
  set_target_properties(headrace PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/headrace" INSTALL_RPATH_USE_LINK_PATH ON)
endif()
install(FILES "$<TARGET_FILE:headrace_dep::duckdb>" DESTINATION ${CMAKE_INSTALL_LIBDIR}/headrace)
