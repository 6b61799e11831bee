/* A library whose thread-local has an initial value. */
static __thread int number = 7;

int *where(void) {
    return &number;
}

int next(void) {
    return ++number;
}
