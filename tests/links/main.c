// A program in C, linked with the library.

void gosched_links_check(void);

int main(void) {
    gosched_links_check();
    return 0;
}
