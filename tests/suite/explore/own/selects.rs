//! Selects in many schedules.

use crate::chan::ready::*;
use crate::chan::select::*;
use crate::chan::select_forms::*;
use crate::chan::select_set::*;

explored! {
    a_select_that_waits_is_woken_by_any_arm
    a_channel_may_be_in_several_arms
    send_and_recv_on_one_channel
    never_is_never_chosen_and_switches_an_arm_off
    many_goroutines_select_at_once
    an_arm_with_a_false_condition_takes_no_part
    an_arm_without_a_handle_takes_no_part
    a_set_that_waits_is_woken
    an_operation_that_is_ready_is_found
    a_wait_ends_when_a_sender_waits
    a_wait_ends_when_a_receiver_waits
    a_wait_ends_when_a_value_comes
    a_wait_ends_when_there_is_room
    a_wait_ends_with_the_channel
    a_wait_ends_by_a_future
    a_wait_ends_by_a_value_that_goes_back
    a_wait_ends_by_a_timer
    all_that_look_are_woken
    a_value_that_is_gone_ends_no_wait
    two_that_look_dont_meet
    a_wait_with_a_limit
    a_wait_ends_with_its_run
    a_sender_waits_for_the_close
    each_value_is_found
    each_value_goes_from_one_that_looks_to_one_that_looks
}
