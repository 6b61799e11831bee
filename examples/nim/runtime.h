/* Included before all C that Nim generates. It replaces calls of libc's functions for threads and
 * of malloc by those in runtime.c. */
#ifndef GOSCHED_NIM_RUNTIME_H
#define GOSCHED_NIM_RUNTIME_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *nim_vars(void);
int nim_set_vars(void *vars);

void *nim_malloc(size_t size);
void *nim_calloc(size_t n, size_t size);
void *nim_realloc(void *p, size_t size);
void nim_free(void *p);

extern void *(*nim_memcpy)(void *to, const void *from, size_t n);
extern void *(*nim_memset)(void *p, int c, size_t n);
extern int (*nim_memcmp)(const void *a, const void *b, size_t n);
extern size_t (*nim_strlen)(const char *s);

void nim_lock_file(FILE *file);
void nim_unlock_file(FILE *file);

/* The head of a Task in gosched.nim. */
struct nim_task {
    void (*perform)(void *task);
};

void nim_begin(void *task);

#ifndef GOSCHED_NIM_RUNTIME
/* With --tlsEmulation:on, Nim's thread variables are one struct, and Nim finds it by these
 * calls. */
#define pthread_getspecific(key) nim_vars()
#define pthread_setspecific(key, vars) nim_set_vars(vars)
#define malloc nim_malloc
#define calloc nim_calloc
#define realloc nim_realloc
#define free nim_free
#define memcpy nim_memcpy
#define memset nim_memset
#define memcmp nim_memcmp
#define strlen nim_strlen
#define flockfile nim_lock_file
#define funlockfile nim_unlock_file
/* runtime.c has the program's main, which calls Nim's on a goroutine. */
#define main nim_main
#endif

#endif
