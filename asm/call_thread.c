/* The call of a thread's function. It returns also if pthread_exit ends the function: that unwinds
   the stack, with the cleanup handlers and the destructors on it, as far as the place that is
   registered here. setjmp can't be called from Rust.

   The C library does the same in start_thread. */

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

struct start {
    const void *f;
    void *arg;
    bool returns_int;
};

/* Handles the signals that have come for the thread. A handler may call pthread_exit. */
__attribute__((visibility("hidden"))) void gosched_thread_begins(void);

__attribute__((visibility("hidden"))) void *gosched_call_thread(const struct start *start,
                                                                void *const volatile *result,
                                                                bool *was_ended) {
    __pthread_unwind_buf_t place;
    void *returned;

    /* The registers of the caller are kept, and no signal mask. */
    if (__sigsetjmp((struct __jmp_buf_tag *)(void *)place.__cancel_jmp_buf, 0)) {
        *was_ended = true;
        return *result;
    }
    __pthread_register_cancel(&place);
    gosched_thread_begins();
    if (start->returns_int)
        returned = (void *)(uintptr_t)((int (*)(void *))start->f)(start->arg);
    else
        returned = ((void *(*)(void *))start->f)(start->arg);
    __pthread_unregister_cancel(&place);
    return returned;
}
