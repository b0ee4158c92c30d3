//! The iterator gives the first rows of a large input long before all are sorted, and `top_k` the first few at once.

use orasort::{Keys, Options, Order, Sorter};

fn main() {
    let keys: Vec<String> = (0..200_000u64).map(|n| format!("order/{:012}", n * 7_919 % 200_003)).collect();

    let first: Vec<u32> = orasort::sorted(&keys).take(3).collect();
    assert!(first.iter().map(|row| keys[*row as usize].as_str()).eq([
        "order/000000000000",
        "order/000000000001",
        "order/000000000002"
    ]));

    let mut sorter = Sorter::new();
    let newest = sorter.top_k_with(&keys, 2, Options { order: Order::Descending, stable: true });
    for row in newest {
        println!("{}", String::from_utf8_lossy(keys.key(row as usize)));
    }

    // Each row with the number of bytes that it shares with the row before: what a merge or an index build asks for.
    let shared: usize = sorter.sorted_lcp(&keys, Options::default()).map(|(_, shared)| shared).sum();
    println!(
        "{:.1} bytes shared by neighbours; {} bytes of scratch",
        shared as f64 / keys.len() as f64,
        sorter.scratch_bytes()
    );
}
