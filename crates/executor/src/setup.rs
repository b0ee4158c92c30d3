//! What all parts of a run use, resolved before it begins.

use crate::arm::Ingredients;
use crate::driver::Driver;
use crate::kit::Host;
use crate::place::Place;
use crate::system::Reservation;
use rqps_plan::Plan;

pub(crate) struct Setup {
    pub plan: Plan,
    pub driver: &'static dyn Driver,
    /// By index in the plan's arms.
    pub ingredients: Vec<Ingredients>,
    pub place: Place,
    pub host: &'static dyn Host,
    /// What is measured is reserved until these are dropped.
    pub reserved: Vec<Reservation>,
}
