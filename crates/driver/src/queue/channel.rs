//! The bounded queue between the maker of statements and the session that sends them. Items are swapped into and out
//! of its places, so that their memory goes round and a statement costs no allocation.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Statements that wait at most. Nobody gets further ahead than these and the one being made or sent.
pub(super) const PLACES: usize = 8;

/// A queue with one thread at each end.
#[derive(Debug, Default)]
pub(super) struct Channel<T> {
    ring: Mutex<Ring<T>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Ring<T> {
    places: [T; PLACES],
    first: usize,
    filled: usize,
    closed: bool,
    /// A thread sleeps until something changes. There is only ever one: the queue isn't full and empty at once.
    awaited: bool,
}

impl<T: Default> Channel<T> {
    /// Puts `item` in, waiting for a place; it gets back one that was used before. False: the queue is closed.
    pub fn push(&self, item: &mut T) -> bool {
        let mut ring = self.wait_while(|ring| ring.filled == PLACES);
        if ring.closed {
            return false;
        }
        let place = (ring.first + ring.filled) % PLACES;
        std::mem::swap(&mut ring.places[place], item);
        ring.filled += 1;
        self.tell(ring);
        true
    }

    /// Takes the oldest item, waiting for one, and leaves the old `item` in its place. False: the queue is closed, and
    /// nothing is left in it.
    pub fn pop(&self, item: &mut T) -> bool {
        let mut ring = self.wait_while(|ring| ring.filled == 0);
        if ring.filled == 0 {
            return false;
        }
        let place = ring.first;
        std::mem::swap(&mut ring.places[place], item);
        ring.first = (place + 1) % PLACES;
        ring.filled -= 1;
        self.tell(ring);
        true
    }

    /// No more is put in. What is there can still be taken.
    pub fn close(&self) {
        let mut ring = self.lock();
        ring.closed = true;
        self.tell(ring);
    }

    fn lock(&self) -> MutexGuard<'_, Ring<T>> {
        // A swap can't be left half done by a panic.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, blocked: impl Fn(&Ring<T>) -> bool) -> MutexGuard<'_, Ring<T>> {
        let mut ring = self.lock();
        while blocked(&ring) && !ring.closed {
            ring.awaited = true;
            ring = self.changed.wait(ring).unwrap_or_else(PoisonError::into_inner);
        }
        ring
    }

    /// Wakes the other end if it sleeps: the system call is saved where it doesn't.
    fn tell(&self, mut ring: MutexGuard<'_, Ring<T>>) {
        let awaited = std::mem::take(&mut ring.awaited);
        drop(ring);
        if awaited {
            self.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn items_come_in_order_and_the_maker_is_never_further_ahead_than_the_places() {
        let channel = Channel::<u64>::default();
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for item in 1..=1000 {
                    assert!(channel.push(&mut item.clone()));
                    made.fetch_add(1, Ordering::SeqCst);
                }
                channel.close();
            });
            let mut item = 0;
            while made.load(Ordering::SeqCst) < PLACES {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            for taken in 1..=1000 {
                assert!(made.load(Ordering::SeqCst) < taken + PLACES + 1);
                assert!(channel.pop(&mut item));
                assert_eq!(item, taken as u64);
            }
            assert!(!channel.pop(&mut item));
        });
    }

    #[test]
    fn memory_goes_round() {
        let channel = Channel::<String>::default();
        let mut made = String::new();
        let mut taken = String::with_capacity(1 << 20);
        channel.push(&mut made);
        channel.pop(&mut taken);
        let seen = (0..PLACES).any(|_| {
            channel.push(&mut made);
            channel.pop(&mut taken);
            made.capacity() >= 1 << 20
        });
        assert!(seen, "the large item is lost");
    }

    #[test]
    fn closing_wakes_whoever_waits() {
        let channel = Channel::<u64>::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| channel.pop(&mut 0));
            std::thread::sleep(Duration::from_millis(20));
            channel.close();
            assert!(!waits.join().unwrap());
        });
        let full = Channel::<u64>::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| (0..=PLACES).map(|_| full.push(&mut 1)).filter(|put| *put).count());
            std::thread::sleep(Duration::from_millis(20));
            full.close();
            assert_eq!(waits.join().unwrap(), PLACES);
        });
    }
}
