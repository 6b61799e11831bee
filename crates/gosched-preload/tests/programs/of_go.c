/* A program with a note as Go's linker writes it. */
static const struct {
    int name_size, size, type;
    char name[4], contents[4];
} note __attribute__((section(".note.go.buildid"), used, aligned(4))) = {4, 4, 4, "Go\0", "id"};

int main(void) { return 0; }
