//! Compares what clients saw committed with what the tables say: no acknowledged transaction is lost, or did nothing.

use crate::system::{Admin, SessionResult};
use rqps_driver::Marks;
use rqps_workloads::tproc_c::consistency::{DISTRICTS_SQL, PAID_SQL};
use rqps_workloads::tproc_c::inputs::DISTRICTS;

/// The parts of tables that count committed transactions.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    /// By warehouse.
    districts: Vec<District>,
    /// The sum of payments, in hundredths.
    paid: i64,
}

#[derive(Debug, Clone, Copy)]
struct District {
    next_order: i64,
    first_undelivered: i64,
}

impl District {
    fn undelivered(self) -> i64 {
        self.next_order - self.first_undelivered
    }
}

impl Counted {
    pub fn read(admin: &mut dyn Admin) -> SessionResult<Self> {
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
        let found = admin.query(DISTRICTS_SQL)?;
        let district = |row: &Vec<Option<String>>| {
            let at = |column: usize| number(row.get(column).and_then(Option::as_deref));
            District { next_order: at(0), first_undelivered: at(1) }
        };
        let districts = found.rows.iter().map(district).collect();
        Ok(Self { districts, paid: number(admin.query(PAID_SQL)?.value()) })
    }

    /// In what the tables differ from what clients saw `committed` since they were as `before`. Each delivery met at
    /// most so many others of its warehouse after which it found nothing in a district: `met`.
    pub fn differs(&self, before: &Self, committed: Marks, met: u32) -> Option<String> {
        let [new_orders, paid, deliveries] = committed.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let pairs = || before.districts.iter().zip(&self.districts);
        let ordered: i64 = pairs().map(|(before, now)| now.next_order - before.next_order).sum();
        let delivered: i64 = pairs().map(|(before, now)| delivered(*before, *now)).sum();
        let booked = self.paid - before.paid;
        let due = deliveries * i64::from(DISTRICTS);
        // Of all that meet in a district, one delivers.
        let met = i64::from(met);
        let least = (due - deliveries * met).max(due / (met + 1));
        let mut found = Vec::new();
        if ordered != new_orders {
            found.push(format!("clients committed {new_orders} new orders, the districts count {ordered}"));
        }
        if booked != paid * 100 {
            // Clients pay whole amounts.
            let booked = match booked % 100 {
                0 => (booked / 100).to_string(),
                cents => format!("{}.{:02}", booked / 100, cents.abs()),
            };
            found.push(format!("clients committed payments of {paid}, the warehouses count {booked}"));
        }
        if delivered > due || delivered < least && !self.ran_out(before) {
            found.push(format!(
                "clients committed {deliveries} deliveries of {DISTRICTS} orders each, {delivered} orders are delivered"
            ));
        }
        (!found.is_empty()).then(|| found.join("; "))
    }

    /// Whether some district may have had no undelivered order meanwhile, so that a delivery rightly delivered fewer.
    /// It certainly had some if fewer were delivered than it had at first. Otherwise its number is a random walk, as
    /// all deliveries of a warehouse deliver one of each district, and new orders come as often: the chance that a walk
    /// of n deliveries from a to b has been at 0 is exp(-2ab/2n), since either changes it by a variance of n.
    fn ran_out(&self, before: &Self) -> bool {
        /// A chance of 2 in a thousand million.
        const IMPROBABLE: i64 = 20;
        let of_warehouse = DISTRICTS as usize;
        let mut warehouses = before.districts.chunks(of_warehouse).zip(self.districts.chunks(of_warehouse));
        warehouses.any(|(before, now)| {
            let pairs = || before.iter().zip(now).map(|(before, now)| (*before, *now));
            let deliveries = pairs().map(|(before, now)| delivered(before, now)).max().unwrap_or(0);
            pairs().any(|(before, now)| {
                delivered(before, now) >= before.undelivered()
                    && before.undelivered() * now.undelivered() <= IMPROBABLE * deliveries
            })
        })
    }
}

fn delivered(before: District, now: District) -> i64 {
    now.first_undelivered - before.first_undelivered
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A warehouse whose districts are alike.
    fn counted(next_order: i64, first_undelivered: i64, paid: i64) -> Counted {
        Counted { districts: vec![District { next_order, first_undelivered }; DISTRICTS as usize], paid }
    }

    #[test]
    fn every_kind_of_lost_work_is_found() {
        let before = counted(3_001, 2_101, 30_000_000);
        let after = counted(3_101, 2_201, 30_200_000);
        assert_eq!(after.differs(&before, [1_000, 2_000, 100], 0), None);
        let found = |committed| after.differs(&before, committed, 0).unwrap();
        assert_eq!(found([1_001, 2_000, 100]), "clients committed 1001 new orders, the districts count 1000");
        assert_eq!(
            found([1_000, 2_500, 100]),
            "clients committed payments of 2500, the warehouses count 2000"
        );
        let fewer = found([1_000, 2_000, 101]);
        assert_eq!(fewer, "clients committed 101 deliveries of 10 orders each, 1000 orders are delivered");
        assert!(found([1_000, 2_000, 99]).contains("99 deliveries"), "more than clients asked for");
    }

    #[test]
    fn deliveries_that_meet_may_deliver_less_but_no_delivery_nothing() {
        let before = counted(3_001, 2_101, 0);
        let differs = |each: i64, met| {
            let after = counted(3_101, 2_101 + each, 0);
            after.differs(&before, [1_000, 0, 100], met)
        };
        assert_eq!((differs(90, 0).is_some(), differs(90, 1)), (true, None));
        assert!(differs(80, 1).is_some(), "each fifth does nothing");
        assert_eq!(differs(10, 9), None);
        assert!(differs(0, 99).is_some());
    }

    #[test]
    fn a_district_without_orders_delivers_none() {
        let before = counted(3_001, 2_101, 0);
        // Few are left after many deliveries: some found nothing.
        assert_eq!(counted(93_001, 92_999, 0).differs(&before, [900_000, 0, 91_000], 0), None);
        // Each fifth delivery did nothing: orders pile up.
        let piled = counted(23_001, 18_101, 0).differs(&before, [200_000, 0, 20_000], 0).unwrap();
        assert!(piled.contains("20000 deliveries of 10 orders each, 160000 orders"), "{piled}");
        let none = counted(93_001, 2_101, 0).differs(&before, [900_000, 0, 90_000], 0).unwrap();
        assert!(none.ends_with("0 orders are delivered"), "{none}");
    }
}
