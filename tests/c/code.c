/*
 * What a compiler registers for the code that it has made: a map of its frames, and the range in
 * which it may be stopped between any two instructions. The code here is written as a compiler for
 * x86-64 would emit it. .ci/c builds and runs this program.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "check.h"
#include "gosched.h"

static _Atomic(int) ended;

static void wait_for(_Atomic(int) *count, int n)
{
    while (atomic_load(count) < n)
        gosched_yield();
}

/*
 * count(n, list) as a compiler would emit it. Each frame has a cell, which links to the cell of its
 * caller. A cell also has a number that looks like an address of the stack, and its complement.
 */
struct cell {
    size_t value;
    const struct cell *next;
    size_t seal, check;
};

size_t count(size_t n, const struct cell *list);
extern const char count_end[];

/* How many of these numbers were adjusted, as if they were addresses. */
static _Atomic(int) broken;

__attribute__((used)) size_t gosched_test_sum(const struct cell *list)
{
    size_t sum = 0;
    for (; list != NULL; list = list->next) {
        sum += list->value;
        atomic_fetch_add(&broken, list->seal != ~list->check);
    }
    return sum;
}

__asm__(".text\n"
        ".p2align 4\n"
        ".globl count, count_end\n"
        ".type count, @function\n"
        "count:\n"
        "    .cfi_startproc\n"
        "    cmp %fs:0x70, %rsp\n"
        "    jae 1f\n"
        "    mov $48, %r10d\n"
        "    xor %r11d, %r11d\n"
        "    call __morestack\n"
        "    ret\n"
        "1:  push %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    mov %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    sub $32, %rsp\n"
        "    lea -32(%rbp), %rax\n"
        "    mov %rdi, -32(%rbp)\n"
        "    mov %rsi, -24(%rbp)\n"
        "    mov %rax, -16(%rbp)\n"
        "    mov %rax, -8(%rbp)\n"
        "    notq -8(%rbp)\n"
        "    mov %rax, %rsi\n"
        "    test %rdi, %rdi\n"
        "    jz 2f\n"
        "    dec %rdi\n"
        "    call count\n"
        "    jmp 3f\n"
        "2:  mov %rsi, %rdi\n"
        "    call gosched_test_sum\n"
        "3:  leave\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "count_end:\n"
        "    .size count, . - count\n");

static void next_of_cell(const struct gosched_frame *frame, void (*slot)(uintptr_t at, void *to), void *to,
                         void *arg)
{
    CHECK(frame->sp < frame->fp && frame->pc - (uintptr_t)count < (size_t)(count_end - (const char *)count));
    atomic_fetch_add((_Atomic(int) *)arg, 1);
    slot(frame->fp - 24, to);
}

static void count_down(void *depth)
{
    size_t n = (size_t)depth;
    CHECK(count(n, NULL) == n * (n + 1) / 2);
    atomic_fetch_add(&ended, 1);
}

/* Returns how many numbers a run has broken. A second run must be deeper: it may get a stack that
   has grown, and only a stack that grows is moved. */
static int broken_by_a_run(size_t depth)
{
    int before = atomic_load(&ended);
    atomic_store(&broken, 0);
    gosched_newproc(count_down, (void *)depth);
    wait_for(&ended, before + 1);
    return atomic_load(&broken);
}

static void frame_maps(void)
{
    static _Atomic(int) frames;
    static const struct gosched_frame_map map = {next_of_cell, &frames};
    uintptr_t lo = (uintptr_t)count, hi = (uintptr_t)count_end;
    CHECK(broken_by_a_run(400) > 0);
    CHECK(gosched_register_frame_map(lo, lo, &map) == EINVAL);
    CHECK(gosched_register_frame_map(lo, hi, &map) == 0);
    CHECK(gosched_register_frame_map(hi - 1, hi + 1, &map) == EEXIST);
    CHECK(broken_by_a_run(2000) == 0 && atomic_load(&frames) > 0);
    CHECK(gosched_unregister_frame_map(lo, hi - 1) == ENOENT);
    CHECK(gosched_unregister_frame_map(lo, hi) == 0 && gosched_unregister_frame_map(lo, hi) == ENOENT);
}

/* spin(stop) as a compiler would emit it. It runs until *stop is set, without a check. */
void spin(const _Atomic(char) *stop);
extern const char spin_end[];

__asm__(".text\n"
        ".p2align 4\n"
        ".globl spin, spin_end\n"
        ".type spin, @function\n"
        "spin:\n"
        "    .cfi_startproc\n"
        "    cmpb $0, (%rdi)\n"
        "    je spin\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "spin_end:\n"
        "    .size spin, . - spin\n");

static _Atomic(char) begun, stop;

static void spin_until_stopped(void *unused)
{
    (void)unused;
    atomic_store(&begun, 1);
    spin(&stop);
    atomic_fetch_add(&ended, 1);
}

/* With one P, this goroutine goes on only if the one that spins is stopped. */
static void preemptible(void)
{
    uintptr_t lo = (uintptr_t)spin, hi = (uintptr_t)spin_end;
    int before = atomic_load(&ended), procs;
    atomic_store(&begun, 0);
    atomic_store(&stop, 0);
    CHECK(gosched_register_preemptible(hi, lo) == EINVAL);
    CHECK(gosched_register_preemptible(lo, hi) == 0);
    CHECK(gosched_register_preemptible(lo, lo + 1) == EEXIST);
    procs = gosched_set_gomaxprocs(1);
    gosched_newproc(spin_until_stopped, NULL);
    while (!atomic_load(&begun))
        gosched_yield();
    atomic_store(&stop, 1);
    wait_for(&ended, before + 1);
    CHECK(gosched_set_gomaxprocs(procs) == 1);
    CHECK(gosched_unregister_preemptible(lo, hi) == 0 && gosched_unregister_preemptible(lo, hi) == ENOENT);
}

static void on_a_copying_stack(void *unused)
{
    (void)unused;
    preemptible();
    atomic_fetch_add(&ended, 1);
}

static void *all_tests(void *arg)
{
    frame_maps();
    preemptible();
    int before = atomic_load(&ended);
    gosched_newproc(on_a_copying_stack, NULL);
    /* The goroutine that spins ends, too. */
    wait_for(&ended, before + 2);
    return arg;
}

int main(void)
{
    int arg;
    void *result = NULL;
    /* The goroutine that spins must be stopped, and not go on without a P. */
    gosched_set_detach(false);
    CHECK(gosched_run(all_tests, &arg, &result) == 0 && result == &arg);
    puts("all is as it should be");
    return EXIT_SUCCESS;
}
