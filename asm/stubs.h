/*
 * The stubs of entry.S, on each architecture: what C calls, and, where a register is named, which gets the
 * address that it is called from.
 */

/* Goroutines, as programs use them. */
ENTRY gosched_run
ENTRY gosched_newproc, _from, ARG_2
ENTRY gosched_newproc_fixed, _from, ARG_3
ENTRY gosched_newcoro, _from, ARG_3
ENTRY gosched_yield
ENTRY gosched_exit
ENTRY gosched_park
ENTRY gosched_ready
ENTRY gosched_set_max_stack
ENTRY gosched_shrink_stack
ENTRY gosched_blocking
ENTRY gosched_sleep
ENTRY gosched_set_gomaxprocs

/* Channels and select. */
ENTRY gosched_chan_make
ENTRY gosched_chan_free
ENTRY gosched_chan_send
ENTRY gosched_chan_try_send
ENTRY gosched_chan_recv
ENTRY gosched_chan_try_recv
ENTRY gosched_chan_close
ENTRY gosched_chan_len
ENTRY gosched_chan_cap
ENTRY gosched_select
