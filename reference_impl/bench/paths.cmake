# SPDX-License-Identifier: BSD-2-Clause
# netblt-paths: bad paths in virtual time. It needs the flakeway engine, which lives beside the suite.
if(NETBLT_CONFORMANCE)
    add_executable(netblt-paths ${CMAKE_CURRENT_LIST_DIR}/paths.c ${CMAKE_CURRENT_LIST_DIR}/path_sim.c)
    target_link_libraries(netblt-paths PRIVATE netblt_core netblt::flakeway m)
endif()
