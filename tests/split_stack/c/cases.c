/* All cases that need no additional flags, in one file. So the compiler may use what it knows of
   one function when it compiles another, and that is tested, too. LLVM has no checks in functions
   of variable arguments or without a frame, and clang has no nested functions. */

#include "call.h"

#include "integers.c"
#include "pointers.c"
#include "floats.c"
#include "structs.c"
#ifndef __clang__
#include "varargs.c"
#include "nested.c"
#endif
#include "alloca.c"
#include "frames.c"
#include "recursion.c"
#include "registers.c"
#include "bridges.c"

static const struct Case cases[] = {
    CASE(words), CASE(narrow), CASE(wide_words),
    CASE(pointers), CASE(chains), CASE(ranges), CASE(returned_pointers),
    CASE(doubles), CASE(floats), CASE(mixtures), CASE(vectors), CASE(kept), CASE(rounding),
    CASE(small_by_value), CASE(returned_in_registers), CASE(large_by_value), CASE(returned_in_memory),
    CASE(large_both_ways), CASE(aligned_by_value),
#ifndef __clang__
    CASE(leaves),
    CASE(variable_words), CASE(variable_doubles), CASE(variable_pointers), CASE(variable_mixtures),
    CASE(variable_behind_named),
    CASE(nested), CASE(nested_with_arguments), CASE(twice_nested), CASE(nested_recursion),
#endif
    CASE(alloca_in_a_loop), CASE(alloca_in_a_recursion), CASE(large_alloca), CASE(alloca_again),
    CASE(alloca_of_bytes),
    CASE(frame_160), CASE(frame_176), CASE(frame_192), CASE(frame_208), CASE(frame_224), CASE(frame_240),
    CASE(frame_256), CASE(frame_1000), CASE(frame_5000), CASE(frame_65536), CASE(frame_1000000),
    CASE(large_frames), CASE(aligned_locals), CASE(aligned_with_arguments),
    CASE(mutual), CASE(lists), CASE(trees),
    CASE(registers), CASE(registers_further_up),
    CASE(other_stacks), CASE(rust_in_between), CASE(yields), CASE(echo), CASE(crowd),
    END,
};

TABLE("checked", cases);
