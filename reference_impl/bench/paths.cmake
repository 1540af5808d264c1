# SPDX-License-Identifier: BSD-2-Clause
# netblt-paths: bad paths in virtual time. It needs the flakeway engine, which lives beside the suite.
if(NETBLT_CONFORMANCE)
    add_executable(netblt-paths ${CMAKE_CURRENT_LIST_DIR}/paths.c ${CMAKE_CURRENT_LIST_DIR}/paths_whole.c
        ${CMAKE_CURRENT_LIST_DIR}/path_sim.c ${CMAKE_CURRENT_LIST_DIR}/../cli/transfer/path_sizes.c)
    target_include_directories(netblt-paths PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
    target_link_libraries(netblt-paths PRIVATE netblt_core netblt::flakeway m)
    if(BUILD_TESTING) # the start and the tail of whole transfers; the other rows are for tools/nightly
        add_test(NAME bench.whole_transfers COMMAND netblt-paths --whole 10M-20ms 10M-100ms 100M-)
    endif()
endif()
