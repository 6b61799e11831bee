//! Selects in many schedules.

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
}
