/* A program with a function that AddressSanitizer has. */
void __asan_init(void) {}

int main(void) { return 0; }
