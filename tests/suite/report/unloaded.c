/* A library that is called, makes goroutines, computes, and is unloaded. */
typedef void function(void *);

void calls(function *f, void *arg) {
    f(arg);
    __asm__ volatile("");
}

void makes(void (*newproc)(function *, void *), function *f, void *arg) {
    newproc(f, arg);
    __asm__ volatile("");
}

unsigned long computes(unsigned long n) {
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++)
        sum += i;
    return sum;
}
