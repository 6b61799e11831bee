/* What every compiler can compile that knows its flags. */
extern int empty;
