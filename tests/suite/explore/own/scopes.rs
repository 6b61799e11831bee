//! Scopes, and groups that may fail, in many schedules.

use crate::goroutine::scope::*;
use crate::sync::err_group::*;

explored! {
    a_scope_lends
    a_scope_waits_for_all
    a_scope_that_panics_waits_for_its_goroutines
    many_goroutines_share_what_is_borrowed
    what_is_borrowed_is_done_when_it_returns
    the_first_error_ends_the_others
    the_closures_own_error
    the_first_error_is_the_cause
    so_many_at_a_time
    a_panic_ends_the_others_and_is_carried
    a_panic_of_the_closure
    one_that_exits_has_not_failed
    the_parent_ends_it
    one_adds_others
    many_groups_that_fail_at_random
}
