/* Functions of variable arguments. Behind the check, their prologue has another instruction, which
   computes the address of the arguments on the stack. al is the number of arguments in vector
   registers. */

#include <stdarg.h>

UNDER_TEST word sum_words(int n, ...) {
    va_list list;
    va_start(list, n);
    word sum = grow(MORE);
    for (int i = 0; i < n; i++)
        sum = mix(sum, va_arg(list, word));
    va_end(list);
    return sum;
}

/* al = 0: the vector registers aren't saved. */
DRIVER word variable_words(struct Call *call) {
    word s = call->seed;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 64);
    return sum_words(12, s, s * 3, s * 5, s * 7, s * 9, s * 11, s * 13, s * 15, s * 17, s * 19, s * 21, s * 23);
}

UNDER_TEST double sum_doubles(int n, ...) {
    va_list list;
    va_start(list, n);
    double sum = (double)grow(MORE);
    for (int i = 0; i < n; i++)
        sum += va_arg(list, double) * (i + 1);
    va_end(list);
    return sum;
}

/* al = 8, then al = 1. */
DRIVER word variable_doubles(struct Call *call) {
    double s = (double)call->seed;
    call->checks = 2 * (1 + MORE);
    ABOUT_TO_CALL(call, 32);
    double many = sum_doubles(12, s, s / 2, s / 3, s / 4, s / 5, s / 6, s / 7, s / 8, s / 9, s / 10, s / 11, s / 12);
    double one = sum_doubles(1, s / 13);
    return mix(bits(many), bits(one));
}

UNDER_TEST word add_to_each(word n, ...) {
    va_list list, again;
    va_start(list, n);
    va_copy(again, list);
    for (word i = 0; i < n; i++)
        *va_arg(list, word *) += n + i;
    word sum = grow(MORE);
    for (word i = 0; i < n; i++)
        sum = mix(sum, *va_arg(again, word *) += i);
    va_end(again);
    va_end(list);
    return sum;
}

/* Pointers to locals as variable arguments. A copy of the list is read after another move of the
   stack. */
DRIVER word variable_pointers(struct Call *call) {
    word at[9];
    for (int i = 0; i < 9; i++)
        at[i] = call->seed >> i;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 32);
    word sum = add_to_each(9, &at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &at[6], &at[7], &at[8]);
    for (int i = 0; i < 9; i++)
        sum = mix(sum, at[i]);
    return sum;
}

/* Reads arguments of the types that the letters say, from a list in the caller's frame. */
UNDER_TEST word take(const char *letters, va_list list) {
    word sum = grow(MORE);
    for (; *letters != 0; letters++) {
        switch (*letters) {
        case 'i': sum = mix(sum, va_arg(list, int)); break;
        case 'w': sum = mix(sum, va_arg(list, word)); break;
        case 'd': sum = mix(sum, bits(va_arg(list, double))); break;
        case 'p': sum = mix(sum, *va_arg(list, word *) += sum); break;
        }
    }
    return sum;
}

UNDER_TEST word take_all(const char *letters, ...) {
    va_list list;
    va_start(list, letters);
    word first = take("ip", list); /* reads from the same list, and advances it for this function */
    word sum = take(letters, list);
    va_end(list);
    return mix(first, sum);
}

/* Arguments of each kind, in registers and on the stack. The list is passed on. */
DRIVER word variable_mixtures(struct Call *call) {
    word s = call->seed, at[3] = { s, s * 3, s * 5 };
    double x = (double)s;
    call->checks = 3 + 2 * MORE;
    ABOUT_TO_CALL(call, 64);
    word sum = take_all("dwpddiwdddddpdw", (int)s, &at[0], x, s >> 1, &at[1], x / 3, x / 5, (int)(s >> 2), s >> 3,
                        x / 7, x / 9, x / 11, x / 13, x / 15, &at[2], x / 17, s >> 4);
    return mix(mix(sum, at[0]), mix(at[1], at[2]));
}

UNDER_TEST double after_named(word a, double b, word c, word *d, double e, word f, word g, word *h, word i,
                              double j, word n, ...) {
    va_list list;
    va_start(list, n);
    double sum = (double)(a + c + *d + f + g + *h + i) + b + e + j;
    *d += a, *h += i;
    sum += (double)grow(MORE);
    for (word k = 0; k < n; k++)
        sum += va_arg(list, double) + (double)va_arg(list, word);
    va_end(list);
    return sum;
}

/* More named arguments than there are registers, so that the variable ones begin in the middle of
   the arguments on the stack. */
DRIVER word variable_behind_named(struct Call *call) {
    word s = call->seed, at[2] = { s, s * 3 };
    double x = (double)s;
    call->checks = 1 + MORE;
    ABOUT_TO_CALL(call, 64);
    double sum = after_named(s, x, s >> 1, &at[0], x / 3, s >> 2, s >> 3, &at[1], s >> 4, x / 5, 4, x / 7, s >> 5,
                             x / 9, s >> 6, x / 11, s >> 7, x / 13, s >> 8);
    return mix(bits(sum), mix(at[0], at[1]));
}
