// A program in C that the library is linked to.

void gosched_links_check(void);

int main(void) {
    gosched_links_check();
    return 0;
}
