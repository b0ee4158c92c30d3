//! The encoding of slices in a run folder: twenty bytes each, since a long run has a hundred thousand.

use rqps_model::Slice;

/// Columns of a slice.
const COLUMNS: usize = 5;
/// Bytes of a number.
const BYTES: usize = 4;
/// Times are in tenths of a microsecond; the maximum is seven minutes.
const PER_US: f64 = 10.0;
/// Marks an unknown value.
const UNKNOWN: u32 = u32::MAX;

pub(crate) fn points(slices: &[Slice]) -> Vec<u8> {
    let time = |us: f64| ((us * PER_US).round() as u64).min(u64::from(UNKNOWN - 1)) as u32;
    let numbers = slices.iter().flat_map(|slice| {
        [
            slice.events.min(u64::from(UNKNOWN - 1)) as u32,
            time(slice.elapsed_us),
            slice.sessions_cpu_us.map_or(UNKNOWN, time),
            time(slice.client_cpu_us),
            time(slice.others_cpu_us),
        ]
    });
    numbers.flat_map(u32::to_le_bytes).collect()
}

pub(crate) fn from_points(points: &[u8]) -> Vec<Slice> {
    let us = |number: u32| f64::from(number) / PER_US;
    let slice = |bytes: &[u8]| {
        let mut numbers = [0_u32; COLUMNS];
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
            *number = u32::from_le_bytes(*bytes);
        }
        let [events, elapsed, sessions, client, others] = numbers;
        Slice {
            events: u64::from(events),
            elapsed_us: us(elapsed),
            sessions_cpu_us: (sessions != UNKNOWN).then(|| us(sessions)),
            client_cpu_us: us(client),
            others_cpu_us: us(others),
        }
    };
    points.chunks_exact(COLUMNS * BYTES).map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_round_trip_to_a_tenth_of_a_microsecond() {
        let slice = Slice {
            events: 70_000,
            elapsed_us: 5_012.3,
            sessions_cpu_us: None,
            client_cpu_us: 0.1,
            others_cpu_us: 1e12,
        };
        let whole = Slice { sessions_cpu_us: Some(2.5), others_cpu_us: 0.0, ..slice };
        let back = from_points(&points(&[slice, whole]));
        assert_eq!(back[1], whole);
        assert_eq!((back[0].events, back[0].sessions_cpu_us), (70_000, None));
        assert_eq!(back[0].others_cpu_us, 429_496_729.4, "longer times are clamped");
    }
}
