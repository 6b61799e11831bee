/* A library whose thread-local begins with a value. */
static __thread int number = 7;

int *where(void) {
    return &number;
}

int next(void) {
    return ++number;
}
