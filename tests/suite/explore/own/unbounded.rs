//! Channels whose buffer grows, in many schedules.

use crate::chan::unbounded::*;

explored! {
    who_waits_gets_the_next_value
    each_kind_of_wait
    a_select_sends_as_often_as_it_likes
    a_close_leaves_the_values
    senders_and_receivers_lose_nothing
}
