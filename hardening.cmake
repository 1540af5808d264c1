# SPDX-License-Identifier: BSD-2-Clause
# Compiler and linker options that make a fault in memory hard to exploit. Sanitizers find the same faults, and more, so
# their builds go without.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)

# Of these, what the compiler knows for this architecture.
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "NETBLT_HAS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
        add_compile_options(${flag})
    endif()
endforeach()

# _FORTIFY_SOURCE does nothing without optimisation but to warn; older compilers know level 2 only.
set(fortified_configurations $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -Werror")
check_c_source_compiles("#include <stdio.h>\n#if __USE_FORTIFY_LEVEL < 3\n#error\n#endif\nint main(void) { return 0; }"
    NETBLT_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
if(NETBLT_HAS_FORTIFY_3)
    set(fortify 3)
else()
    set(fortify 2)
endif()
add_compile_options($<${fortified_configurations}:-U_FORTIFY_SOURCE> $<${fortified_configurations}:-D_FORTIFY_SOURCE=${fortify}>)

# Every address is resolved, and the table of them read-only, before main() runs.
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# CMAKE_POSITION_INDEPENDENT_CODE then links programs as position-independent.
check_pie_supported(LANGUAGES C)
