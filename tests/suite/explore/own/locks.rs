//! Locks and meeting points in many schedules.

use crate::sync::counted::*;
use crate::sync::futures::*;
use crate::sync::guards::*;
use crate::sync::lazy_lock::*;
use crate::sync::limits::*;
use crate::sync::locks::*;
use crate::sync::notify::*;
use crate::sync::once::*;
use crate::sync::pool::*;
use crate::sync::primitives::*;
use crate::sync::single_flight::*;

explored! {
    a_wait_ends_when_a_function_has_run
    a_wait_sees_what_the_function_did
    a_function_that_fails_ends_no_wait
    a_wait_ends_with_its_run
    a_group_counts_its_goroutines_until_they_end
    waits_for_a_group_with_and_without_a_limit
    many_wait_for_a_group_with_limits
    owned_permits_wait_and_give_up
    a_close_ends_all_waits
    a_close_and_a_limit_and_permits_at_once
    those_of_a_closed_semaphore_fail
    each_gets_permits_in_its_turn
    a_waker_that_waits_for_who_comes_after
    a_waker_that_waits_for_who_ends_with_the_same_context
    permits_are_wanted_in_each_way
    permits_have_an_end
    there_are_never_too_many
    waiters_are_served_in_order
    a_mutex_lets_one_in
    a_wait_for_a_mutex_ends_in_time
    some_give_up
    some_readers_and_writers_give_up
    who_waits_for_a_mutex_gets_it_from_one_who_always_has_it
    readers_are_many_and_writers_alone
    a_writer_that_waits_goes_before_readers_that_come_then
    readers_that_wait_go_before_the_next_writer
    owned_guards_go_anywhere
    no_writer_comes_before_a_downgraded_one_ends
    readers_that_wait_come_in_at_a_downgrade
    notify_one_wakes_who_has_waited_longest
    notify_one_wakes_another_for_each_that_left
    notify_all_wakes_all
    no_notification_is_missed
    one_notification_is_kept
    a_notification_wakes_who_has_waited_longest
    all_that_wait_now_are_woken
    a_future_waits_from_its_making_on
    a_dropped_future_passes_its_notification_on
    a_wait_that_ends_by_a_limit_takes_no_notification
    no_notification_is_lost_to_a_limit
    a_waker_that_notifies
    every_job_is_done
    once_runs_one_function
    a_once_lock_has_one_value
    a_lazy_lock_has_one_value
    a_panic_poisons_a_lazy_lock
    a_barrier_has_one_leader_each_time
    a_semaphore_has_so_many_permits
    who_waits_for_permits_is_served_in_order
    who_wants_many_permits_is_not_starved
    a_wait_group_waits_for_all
    once_for_those_that_come_meanwhile
    one_that_unwinds_is_replaced
    what_is_forgotten_is_done_anew
    never_two_of_a_key
}
