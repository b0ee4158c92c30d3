//! The bounded queue between the maker of statements and the session that sends them. Items are swapped in
//! and out, so their buffers are reused and a statement costs no allocation.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Capacity of a queue. The maker gets no further ahead than this and the statement being made or sent.
pub(super) const CAPACITY: usize = 8;

/// A queue with one producer and one consumer.
#[derive(Debug, Default)]
pub(super) struct Channel<T> {
    ring: Mutex<Ring<T>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Ring<T> {
    slots: [T; CAPACITY],
    first: usize,
    filled: usize,
    closed: bool,
    /// Whether a thread sleeps on `changed`. At most one does: the queue can't be full and empty at once.
    awaited: bool,
}

impl<T: Default> Channel<T> {
    /// Appends `item` in exchange for a used one; blocks while the queue is full. Returns false if it is
    /// closed.
    pub fn push(&self, item: &mut T) -> bool {
        let mut ring = self.wait_while(|ring| ring.filled == CAPACITY);
        if ring.closed {
            return false;
        }
        let slot = (ring.first + ring.filled) % CAPACITY;
        std::mem::swap(&mut ring.slots[slot], item);
        ring.filled += 1;
        self.wake(ring);
        true
    }

    /// Takes the oldest item in exchange for the old `item`; blocks while the queue is empty. Returns false
    /// if it is closed and empty.
    pub fn pop(&self, item: &mut T) -> bool {
        let mut ring = self.wait_while(|ring| ring.filled == 0);
        if ring.filled == 0 {
            return false;
        }
        let slot = ring.first;
        std::mem::swap(&mut ring.slots[slot], item);
        ring.first = (slot + 1) % CAPACITY;
        ring.filled -= 1;
        self.wake(ring);
        true
    }

    /// Ends pushes; remaining items can still be popped.
    pub fn close(&self) {
        let mut ring = self.lock();
        ring.closed = true;
        self.wake(ring);
    }

    fn lock(&self) -> MutexGuard<'_, Ring<T>> {
        // A panic can't leave a swap half done.
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

    /// Wakes the other end if it sleeps; saves the system call if it doesn't.
    fn wake(&self, mut ring: MutexGuard<'_, Ring<T>>) {
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
    fn items_keep_their_order_and_the_maker_never_exceeds_the_capacity() {
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
            while made.load(Ordering::SeqCst) < CAPACITY {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            for taken in 1..=1000 {
                assert!(made.load(Ordering::SeqCst) < taken + CAPACITY + 1);
                assert!(channel.pop(&mut item));
                assert_eq!(item, taken as u64);
            }
            assert!(!channel.pop(&mut item));
        });
    }

    #[test]
    fn buffers_are_reused() {
        let channel = Channel::<String>::default();
        let mut made = String::new();
        let mut taken = String::with_capacity(1 << 20);
        channel.push(&mut made);
        channel.pop(&mut taken);
        let seen = (0..CAPACITY).any(|_| {
            channel.push(&mut made);
            channel.pop(&mut taken);
            made.capacity() >= 1 << 20
        });
        assert!(seen, "the large item is lost");
    }

    #[test]
    fn close_wakes_both_ends() {
        let channel = Channel::<u64>::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| channel.pop(&mut 0));
            std::thread::sleep(Duration::from_millis(20));
            channel.close();
            assert!(!waits.join().unwrap());
        });
        let full = Channel::<u64>::default();
        let put = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while full.push(&mut 1) {
                    put.fetch_add(1, Ordering::SeqCst);
                }
            });
            while put.load(Ordering::SeqCst) < CAPACITY {
                std::thread::yield_now();
            }
            full.close();
        });
        assert_eq!(put.into_inner(), CAPACITY);
    }
}
