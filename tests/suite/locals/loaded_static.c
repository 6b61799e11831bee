/* A library whose thread-local is in the block of each thread from the start: the code uses an
 * offset from the thread pointer, which is the same in all threads. */
static __thread int number __attribute__((tls_model("initial-exec"))) = 7;

int next(void) {
    return ++number;
}
