//! Writes the text of INSERT statements and nothing else, to measure the client's cost of a row: run
//! `valgrind --tool=cachegrind target/release/examples/insert_text STATEMENTS ROWS` with two values of
//! STATEMENTS, and divide the difference of instructions by that of rows.

use rqps_workloads::insert_benchmark::{statement_stream, write_insert};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|arg| arg.parse::<u32>().unwrap_or(0));
    let (statements, rows) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let (mut text, mut bytes) = (String::new(), 0);
    for number in 0..u64::from(statements) {
        text.clear();
        write_insert(&mut text, 1, &mut statement_stream(1, 0, number), number, rows);
        bytes += text.len();
    }
    println!("{statements} statements of {rows} rows: {bytes} bytes");
}
