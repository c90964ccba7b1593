# What an installed chalkgrad consists of, and its find_package file.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/chalkgrad)
install(TARGETS chalkgrad EXPORT chalkgrad FILE_SET HEADERS FILE_SET internal)
if(TARGET chalkgrad-program)
    install(TARGETS chalkgrad-program)
endif()
if(TARGET chalkgrad-experiments)
    install(TARGETS chalkgrad-experiments EXPORT chalkgrad-experiments FILE_SET HEADERS)
    install(EXPORT chalkgrad-experiments NAMESPACE chalkgrad:: DESTINATION ${package}
            FILE chalkgradExperimentsTargets.cmake)
endif()
install(EXPORT chalkgrad NAMESPACE chalkgrad:: DESTINATION ${package} FILE chalkgradTargets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/chalkgradConfig.cmake.in chalkgradConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(chalkgradConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/chalkgradConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/chalkgradConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/chalkgradFunctions.cmake
        DESTINATION ${package})
install(FILES autograd/tape/gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/chalkgrad)
install(FILES LICENSE docs/NOTICE.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
