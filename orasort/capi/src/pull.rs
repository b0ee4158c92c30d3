//! The iterator behind `orasort_iter`: rows in order, together with the list that they are pulled from.

use crate::keys::{Checked, with_keys};
use core::ptr::NonNull;
use engine::{Options, sorted_with};

/// A sort under way. The rows borrow the list, which is therefore on the heap and freed after them.
pub struct Pull {
    rows: Option<Box<dyn Iterator<Item = u32> + Send>>,
    keys: NonNull<Checked<'static>>,
}

impl Pull {
    /// Begins. The arrays and keys of the list have to live as long as this: they are lent for as long as need be.
    pub fn new(keys: Checked<'static>, options: Options) -> Pull {
        let keys = NonNull::from(Box::leak(Box::new(keys)));
        let mut pull = Pull { rows: None, keys };
        // SAFETY: on the heap until `drop`, which drops `rows` before it. Only shared references are made to it.
        let keys: &'static Checked<'static> = unsafe { keys.as_ref() };
        pull.rows = Some(with_keys!(keys, keys => Box::new(sorted_with(keys, options))));
        pull
    }

    /// Writes the next rows and tells how many they are.
    pub fn fill(&mut self, rows: &mut [u32]) -> usize {
        let Some(sorted) = &mut self.rows else {
            return 0;
        };
        let mut count = 0;
        for (place, row) in rows.iter_mut().zip(sorted) {
            *place = row;
            count += 1;
        }
        count
    }

    /// Gives up: there are no more rows.
    pub fn end(&mut self) {
        self.rows = None;
    }
}

impl Drop for Pull {
    fn drop(&mut self) {
        self.end();
        // SAFETY: it came from a box, and what borrowed it is gone.
        drop(unsafe { Box::from_raw(self.keys.as_ptr()) });
    }
}
