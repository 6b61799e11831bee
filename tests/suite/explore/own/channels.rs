//! Channels in many schedules.

use crate::chan::channels::*;
use crate::chan::futures::*;

explored! {
    an_unbuffered_send_waits_for_its_receive
    values_come_in_order
    who_waits_is_served_in_order
    who_waits_learns_that_the_others_are_gone
    close_lets_receivers_finish_and_fails_senders
    many_senders_and_receivers_lose_nothing
    channels_travel_through_channels
    each_gets_a_value_in_its_turn
    each_gives_a_value_in_its_turn
    a_value_that_came_goes_to_who_waits
}
