//! Channels for one value, in many schedules.

use crate::chan::oneshot::*;

explored! {
    each_kind_of_wait
    a_close_and_a_send_at_once
    an_arm_of_a_select
}
