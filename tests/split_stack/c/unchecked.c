/* Split-stack code that calls code without checks: libc, and Rust. Some linkers rewrite its
   prologue to ask for more room. With the other linkers, these cases must not run with little stack
   left. */

#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

UNDER_TEST word hash(const char *text) {
    word sum = 0;
    for (; *text != 0; text++)
        sum = mix(sum, (unsigned char)*text);
    return sum;
}

UNDER_TEST word formatted(double a, double b, word c, word *place) {
    char text[100];
    int length = snprintf(text, sizeof text, "%.15g %a %llx", a, b, (unsigned long long)c);
    *place += length;
    return hash(text);
}

/* A small frame: the linker replaces the comparison. The second call finds enough room. */
DRIVER word small_frame(struct Call *call) {
    word at = call->seed;
    call->checks = 2;
    ABOUT_TO_CALL(call, 0);
    word sum = formatted((double)call->seed / 3, (double)call->seed / 7, call->seed, &at);
    return mix(sum, formatted((double)at / 3, (double)at / 7, at, &at));
}

UNDER_TEST word formatted_in_large(word *a, double b, double c) {
    char text[2000];
    memset(text, '.', sizeof text);
    int length = snprintf(text + 1000, 1000, "%-300.17f|%200.9e", b, c);
    *a += length;
    text[1000 + length] = 0;
    return hash(text);
}

/* A large frame: the linker makes the number that the prologue subtracts larger. */
DRIVER word large_frame(struct Call *call) {
    word at = call->seed;
    call->checks = 2;
    ABOUT_TO_CALL(call, 0);
    word sum = formatted_in_large(&at, (double)call->seed / 11, (double)call->seed / 13);
    return mix(sum, formatted_in_large(&at, (double)at / 11, (double)at / 13));
}

#ifndef __clang__
/* The frame is small: there are only saved registers in it. */
UNDER_TEST void print(char *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsprintf(text, format, list);
    va_end(list);
}

/* Variable arguments, in registers and on the stack. */
DRIVER word variable(struct Call *call) {
    char text[160];
    word s = call->seed;
    double x = (double)s;
    call->checks = 4;
    ABOUT_TO_CALL(call, 64);
    print(text, "%g %lx %g %g %g %g %g %g %s %g %g %lx %lx", x, s, x / 2, x / 3, x / 4, x / 5, x / 6, x / 7, "text",
          x / 8, x / 9, s >> 1, s >> 2);
    word sum = hash(text);
    print(text, "%g %lx %g %g %g %g %g %g %s %g %g", x / 3, s >> 3, x / 5, x / 7, x / 9, x / 11, x / 13, x / 15,
          "more", x / 17, x / 19);
    return mix(sum, hash(text));
}

/* A nested function, which gets a static chain. */
DRIVER word chained(struct Call *call) {
    word at = call->seed, calls = 0;
    __attribute__((noipa)) word add(double x) {
        char text[50];
        at += snprintf(text, sizeof text, "%.12g", x);
        calls++;
        return hash(text);
    }
    call->checks = 4;
    ABOUT_TO_CALL(call, 0);
    word sum = add((double)call->seed / 3);
    return mix(mix(sum, add((double)at / 7)), mix(at, calls));
}
#endif

UNDER_TEST int compare(const void *a, const void *b) {
    word x = *(const word *)a, y = *(const word *)b;
    return grow(1) == 0 || x < y ? -1 : x > y;
}

UNDER_TEST word sorted(word s) {
    word at[20];
    for (int i = 0; i < 20; i++)
        at[i] = mix(s, i);
    qsort(at, 20, sizeof at[0], compare);
    word sum = s;
    for (int i = 0; i < 20; i++)
        sum = mix(sum, at[i]);
    return sum;
}

/* libc calls back, and the stack moves with libc's frame on it. */
DRIVER word called_back(struct Call *call) {
    call->checks = 20;
    ABOUT_TO_CALL(call, 0);
    return sorted(call->seed);
}

word split_stack_rust_callee(word a, word *b);

UNDER_TEST word to_rust(word a, word *b) {
    word sum = split_stack_rust_callee(a, b);
    return mix(sum, grow(MORE));
}

DRIVER word rust(struct Call *call) {
    word at = call->seed;
    call->checks = 2 + MORE;
    ABOUT_TO_CALL(call, 0);
    word sum = to_rust(call->seed, &at);
    return mix(sum, at);
}

static const struct Case cases[] = {
    CASE(small_frame), CASE(large_frame), CASE(called_back), CASE(rust),
#ifndef __clang__
    CASE(variable), CASE(chained),
#endif
    END,
};

TABLE("unchecked", cases);

static NOT_INLINED void calls_libc(const char *text) {
    puts(text);
    puts(text);
}

/* src/linker.rs reads the machine code of calls_libc. A function whose address is taken may begin
   with a landing pad, and the linkers see no prologue behind one. So this is a function of its own,
   which no case calls. */
void (*const CALLS_LIBC)(const char *) = calls_libc;
