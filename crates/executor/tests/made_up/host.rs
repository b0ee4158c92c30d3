//! A minimal host, whose canary the tests control.

use crate::world::{self, moment};
use rqps_executor::{Host, Result};
use rqps_model::{HostFigure, HostQuantity};
use rqps_store::Fact;
use std::path::Path;

pub struct Desk;

impl Host for Desk {
    fn facts(&self, _dir: &Path) -> Result<Vec<Fact>> {
        Ok(vec![Fact { key: "made_of".to_owned(), value: "oak".to_owned(), comparable: true }])
    }

    fn canaries(&self, _dir: &Path) -> Result<Vec<(&'static str, f64)>> {
        Ok(vec![("spin_ns", world::with(|world| world.spins_ns.pop_front().unwrap_or(1.0)))])
    }

    fn certificate(&self, _dir: &Path) -> Result<Vec<HostFigure>> {
        moment();
        let figure = HostFigure::of_slices(HostQuantity::OneCore, vec![1.0]);
        Ok(figure.into_iter().collect())
    }
}
