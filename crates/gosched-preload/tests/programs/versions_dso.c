// dlsym as it was before glibc 2.36: with RTLD_NEXT it finds the oldest version of a function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    static const char *const oldest[] = {"GLIBC_2.2.5", "GLIBC_2.3.3"};
    if (handle == RTLD_NEXT && strncmp(name, "pthread_", 8) == 0)
        for (int i = 0; i < 2; i++) {
            void *found = dlvsym(RTLD_NEXT, name, oldest[i]);
            if (found)
                return found;
        }
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return real(handle, name);
}
