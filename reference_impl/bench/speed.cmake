# SPDX-License-Identifier: BSD-2-Clause
# Memory to memory over real sockets, beside the bare loops that say what the sockets alone can carry.
foreach(program netblt_memory bare_raw microbench)
    add_executable(${program} ${CMAKE_CURRENT_LIST_DIR}/${program}.c)
    target_compile_definitions(${program} PRIVATE _GNU_SOURCE)
    target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_LIST_DIR})
    target_link_libraries(${program} PRIVATE netblt_io netblt_core)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/bench)
endforeach()
target_link_libraries(microbench PRIVATE netblt_tree)
