/*
 * The stubs of entry.S, on each architecture: what C calls, and, where a register is named, which
 * gets the address that it is called from.
 *
 * This file is made of the declarations in src/capi; edit those. To write it:
 *     (cd tests/header && GOSCHED_WRITE_HEADER=1 cargo test up_to_date)
 */

/* goroutine.rs */
ENTRY gosched_run
ENTRY gosched_run_copying
ENTRY gosched_newproc, _from, ARG_2
ENTRY gosched_newproc_fixed, _from, ARG_3
ENTRY gosched_yield
ENTRY gosched_exit
ENTRY gosched_park
ENTRY gosched_ready
ENTRY gosched_set_max_stack
ENTRY gosched_shrink_stack
ENTRY gosched_blocking
ENTRY gosched_sleep
ENTRY gosched_set_gomaxprocs
ENTRY gosched_set_default_gomaxprocs

/* chan.rs */
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

/* port.rs */
ENTRY gosched_newproc_at
ENTRY gosched_newcoro, _from, ARG_3
ENTRY gosched_coroswitch
ENTRY gosched_goyield
ENTRY gosched_yield_if_busy
ENTRY gosched_yield_guarded
ENTRY gosched_poll_work
ENTRY gosched_injectglist
ENTRY gosched_curg
ENTRY gosched_goid
ENTRY gosched_slot
ENTRY gosched_defer
ENTRY gosched_panic
ENTRY gosched_acquirem
ENTRY gosched_releasem
ENTRY gosched_proc_pin
ENTRY gosched_proc_unpin
ENTRY gosched_lock
ENTRY gosched_unlock
ENTRY gosched_parkunlock
ENTRY gosched_lock_os_thread
ENTRY gosched_unlock_os_thread
ENTRY gosched_locked_os_thread
ENTRY gosched_entersyscall
ENTRY gosched_entersyscallblock
UNCHECKED gosched_exitsyscall
ENTRY gosched_gcount
ENTRY gosched_mcount
ENTRY gosched_set_max_threads
ENTRY gosched_free_os_memory

/* fatal.rs */
ENTRY gosched_throw
ENTRY gosched_fatal
ENTRY gosched_fatalpanic
ENTRY gosched_set_symbolizer

/* timer.rs */
ENTRY gosched_start_timer
ENTRY gosched_stop_timer
ENTRY gosched_reset_timer
ENTRY gosched_mod_timer
ENTRY gosched_timer_in_heap
ENTRY gosched_nanotime

/* sema.rs */
ENTRY gosched_noteclear
UNCHECKED gosched_notewakeup
ENTRY gosched_notetsleepg
ENTRY gosched_semacquire
ENTRY gosched_semacquire1
ENTRY gosched_semrelease
ENTRY gosched_semrelease1
ENTRY gosched_notify_list_add
ENTRY gosched_notify_list_wait
ENTRY gosched_notify_list_notify_all
ENTRY gosched_notify_list_notify_one
ENTRY gosched_can_spin
ENTRY gosched_do_spin

/* netpoll.rs */
ENTRY gosched_poll_server_init
ENTRY gosched_poll_open
ENTRY gosched_poll_close
ENTRY gosched_poll_reset
ENTRY gosched_poll_wait
ENTRY gosched_poll_set_deadline
ENTRY gosched_poll_unblock
ENTRY gosched_is_poll_descriptor

/* signal.rs */
ENTRY gosched_signal_enable
ENTRY gosched_signal_disable
ENTRY gosched_signal_ignore
ENTRY gosched_signal_ignored
ENTRY gosched_signal_recv
ENTRY gosched_signal_wait_until_idle

/* report.rs */
ENTRY gosched_metrics
ENTRY gosched_set_label
ENTRY gosched_labels

/* world.rs */
ENTRY gosched_readgstatus
ENTRY gosched_casgstatus
ENTRY gosched_cas_g_to_waiting
ENTRY gosched_casgcopystack
ENTRY gosched_castogscanstatus
ENTRY gosched_casfrom_gscanstatus
ENTRY gosched_systemstack_scannable
ENTRY gosched_for_each_g
ENTRY gosched_for_each_g_race
ENTRY gosched_for_each_p
ENTRY gosched_p_id
ENTRY gosched_p_slot
ENTRY gosched_m_p
ENTRY gosched_preemptall
ENTRY gosched_stop_the_world
ENTRY gosched_start_the_world
ENTRY gosched_set_detach
ENTRY gosched_sched_enable_user
ENTRY gosched_become_system_goroutine
ENTRY gosched_suspend_g
ENTRY gosched_resume_g
ENTRY gosched_scan_stack
ENTRY gosched_shrinkstack

/* hooks.rs */
ENTRY gosched_set_hooks
ENTRY gosched_adjust_pointer
ENTRY gosched_register_frame_map
ENTRY gosched_unregister_frame_map
ENTRY gosched_register_preemptible
ENTRY gosched_unregister_preemptible

/* trace.rs */
ENTRY gosched_set_tracer
ENTRY gosched_schedtrace
