//! The virtual users of a step, as part of its spec.

use rqps_workloads::tproc_c::Cell;
use rqps_workloads::tproc_c::inputs::VirtualUser;

/// How the virtual users of a step work.
#[derive(Debug, Clone, Copy)]
pub struct Users {
    pub cell: Cell,
    pub all_warehouses: bool,
    /// Otherwise the client sends each statement.
    pub stored_procedures: bool,
    pub keying_and_think_time: bool,
}

impl Users {
    /// The user of this number, from 0.
    pub fn user(&self, number: u32, seed: u64) -> VirtualUser {
        VirtualUser::new(self.cell, number, self.all_warehouses, seed)
    }
}
