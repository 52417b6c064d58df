//! Loops and sections that are shared out piece by piece: whoever comes for the next piece may let others run first, so
//! that on one CPU all members of a team take some, as they would side by side.

use core::ffi::c_void;

use foretrace_recorder::turns;

use super::functions::Function;
use crate::hook;
use crate::jump::jump;

/// Defines hooks for functions that hand out pieces of work.
macro_rules! pieces {
    ($($name:ident $before:ident $symbol:literal;)*) => {
        $(
            extern "C" fn $before(site: u64) -> *mut c_void {
                static FUNCTION: Function = Function::new($symbol);
                if hook::recording() {
                    turns::give_way_now();
                }
                FUNCTION.target(site)
            }
            jump!(caller $name, $before);
        )*
    };
}

pieces! {
    GOMP_loop_dynamic_next before_gomp_loop_dynamic_next c"GOMP_loop_dynamic_next";
    GOMP_loop_guided_next before_gomp_loop_guided_next c"GOMP_loop_guided_next";
    GOMP_loop_nonmonotonic_dynamic_next before_gomp_loop_nonmonotonic_dynamic_next c"GOMP_loop_nonmonotonic_dynamic_next";
    GOMP_loop_nonmonotonic_guided_next before_gomp_loop_nonmonotonic_guided_next c"GOMP_loop_nonmonotonic_guided_next";
    GOMP_loop_nonmonotonic_runtime_next before_gomp_loop_nonmonotonic_runtime_next c"GOMP_loop_nonmonotonic_runtime_next";
    GOMP_loop_maybe_nonmonotonic_runtime_next before_gomp_loop_maybe_nonmonotonic_runtime_next c"GOMP_loop_maybe_nonmonotonic_runtime_next";
    GOMP_loop_runtime_next before_gomp_loop_runtime_next c"GOMP_loop_runtime_next";
    GOMP_loop_ordered_dynamic_next before_gomp_loop_ordered_dynamic_next c"GOMP_loop_ordered_dynamic_next";
    GOMP_loop_ordered_guided_next before_gomp_loop_ordered_guided_next c"GOMP_loop_ordered_guided_next";
    GOMP_loop_ordered_runtime_next before_gomp_loop_ordered_runtime_next c"GOMP_loop_ordered_runtime_next";
    GOMP_loop_ull_dynamic_next before_gomp_loop_ull_dynamic_next c"GOMP_loop_ull_dynamic_next";
    GOMP_loop_ull_guided_next before_gomp_loop_ull_guided_next c"GOMP_loop_ull_guided_next";
    GOMP_loop_ull_nonmonotonic_dynamic_next before_gomp_loop_ull_nonmonotonic_dynamic_next c"GOMP_loop_ull_nonmonotonic_dynamic_next";
    GOMP_loop_ull_nonmonotonic_guided_next before_gomp_loop_ull_nonmonotonic_guided_next c"GOMP_loop_ull_nonmonotonic_guided_next";
    GOMP_loop_ull_nonmonotonic_runtime_next before_gomp_loop_ull_nonmonotonic_runtime_next c"GOMP_loop_ull_nonmonotonic_runtime_next";
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next before_gomp_loop_ull_maybe_nonmonotonic_runtime_next c"GOMP_loop_ull_maybe_nonmonotonic_runtime_next";
    GOMP_loop_ull_runtime_next before_gomp_loop_ull_runtime_next c"GOMP_loop_ull_runtime_next";
    GOMP_loop_ull_ordered_dynamic_next before_gomp_loop_ull_ordered_dynamic_next c"GOMP_loop_ull_ordered_dynamic_next";
    GOMP_loop_ull_ordered_guided_next before_gomp_loop_ull_ordered_guided_next c"GOMP_loop_ull_ordered_guided_next";
    GOMP_loop_ull_ordered_runtime_next before_gomp_loop_ull_ordered_runtime_next c"GOMP_loop_ull_ordered_runtime_next";
    GOMP_sections_next before_gomp_sections_next c"GOMP_sections_next";
    __kmpc_dispatch_next_4 before_kmpc_dispatch_next_4 c"__kmpc_dispatch_next_4";
    __kmpc_dispatch_next_4u before_kmpc_dispatch_next_4u c"__kmpc_dispatch_next_4u";
    __kmpc_dispatch_next_8 before_kmpc_dispatch_next_8 c"__kmpc_dispatch_next_8";
    __kmpc_dispatch_next_8u before_kmpc_dispatch_next_8u c"__kmpc_dispatch_next_8u";
}
