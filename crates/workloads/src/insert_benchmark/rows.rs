//! The rows of the queue, and the writer of INSERT statements. It is the hot path of a client, so rows are
//! assembled in place from lookup tables, without allocation.

use rqps_model::random::{Stream, name_word};

/// Number of values of `cashregisterid`. Values of this and the next three are uniform from 0.
pub const CASH_REGISTERS: u64 = 1_000;
/// Number of values of `productid`.
pub const PRODUCTS: u64 = 10_000;
/// Number of values of `customerid`.
pub const CUSTOMERS: u64 = 100_000;
/// Number of values of `price`.
pub const PRICES: u64 = 500;
/// Minimum length of `data`.
const DATA_MIN: usize = 10;
/// Maximum length of `data`.
const DATA_MAX: usize = 20;
/// Number of random characters at the end of `data`, by its length from [`DATA_MIN`] on: 3/8 of it, rounded
/// down. The rest are letters `a`, so that about a third of `data` can't be compressed.
const TAIL: [usize; DATA_MAX - DATA_MIN + 1] = {
    let mut tail = [0; DATA_MAX - DATA_MIN + 1];
    let mut i = 0;
    while i < tail.len() {
        tail[i] = (DATA_MIN + i) * 3 / 8;
        i += 1;
    }
    tail
};
/// The characters of the random part, as in base64.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// For each number below 1000: its digits and a comma, and their length in bytes.
const NUMBERS: [([u8; 4], u8); 1000] = numbers();
/// Maximum bytes of a row: `('2020-01-01 00:00:00',999,99999,9999,499,'20 characters'),`, and space for
/// writing eight random characters at once.
const ROW_BYTES_MAX: usize = 80;
/// The start of a row, before its numbers.
const HEAD: &[u8; 23] = b"('2020-01-01 00:00:00',";
const DAY_SECONDS: u64 = 86_400;

const fn numbers() -> [([u8; 4], u8); 1000] {
    let mut numbers = [([b','; 4], 0); 1000];
    let mut i = 0;
    while i < 1000 {
        let [hundreds, tens, ones] =
            [b'0' + (i / 100) as u8, b'0' + (i / 10 % 10) as u8, b'0' + (i % 10) as u8];
        numbers[i] = match i {
            0..10 => ([ones, b',', b',', b','], 2),
            10..100 => ([tens, ones, b',', b','], 3),
            _ => ([hundreds, tens, ones, b','], 4),
        };
        i += 1;
    }
    numbers
}

/// The random stream for the rows of a client's INSERT statement `number`; clients count from 0.
pub fn statement_stream(seed: u64, client: u32, number: u64) -> Stream {
    const INSERT: u64 = name_word("insert");
    Stream::new(&[seed, INSERT, u64::from(client), number])
}

/// The number that the date of an INSERT statement's rows encodes: the statement's own number, or, if
/// `sharing` clients share a table, a number that also identifies the client.
pub fn date_number(number: u64, client: u32, sharing: u32) -> u64 {
    number * u64::from(sharing.max(1)) + u64::from(if sharing > 1 { client } else { 0 })
}

/// Appends an INSERT of `rows` rows, drawn from `stream`, into table number `table`. Their date is
/// `date_number` seconds after the start of 2020. The SQL is the same in all dialects.
pub fn write_insert(text: &mut String, table: u32, stream: &mut Stream, date_number: u64, rows: u32) {
    text.reserve(128 + rows as usize * ROW_BYTES_MAX);
    text.push_str("INSERT INTO pi");
    push_number(text, table);
    text.push_str(" (dateandtime,cashregisterid,customerid,productid,price,data) VALUES ");
    let mut row = [0; ROW_BYTES_MAX];
    row[..HEAD.len()].copy_from_slice(HEAD);
    write_date(&mut row[2..21], date_number);
    let mut bytes = std::mem::take(text).into_bytes();
    for _ in 0..rows {
        let len = write_row(&mut row, stream);
        bytes.extend_from_slice(&row[..len]);
    }
    // The comma after the last row.
    bytes.pop();
    // Checking UTF-8 once is faster than row by row.
    *text = String::from_utf8(bytes).unwrap_or_default();
}

fn push_number(text: &mut String, number: u32) {
    use std::fmt::Write as _;
    // Writing to a String can't fail.
    let _ = write!(text, "{number}");
}

/// Writes a row after its head, followed by a comma; returns the end.
#[inline]
fn write_row(row: &mut [u8; ROW_BYTES_MAX], stream: &mut Stream) -> usize {
    let mut draw = Draw(stream.bits());
    let register = draw.below(CASH_REGISTERS);
    let customer = draw.below(CUSTOMERS);
    let mut draw = Draw(stream.bits());
    let product = draw.below(PRODUCTS);
    let price = draw.below(PRICES);
    let length = draw.below(TAIL.len() as u64);
    let letters = stream.bits();
    let mut at = HEAD.len();
    put_number(row, &mut at, register);
    if customer >= 1000 {
        put_number(row, &mut at, customer / 100);
        let low = customer % 100;
        row[at - 1] = b'0' + (low / 10) as u8;
        row[at] = b'0' + (low % 10) as u8;
        row[at + 1] = b',';
        at += 2;
    } else {
        put_number(row, &mut at, customer);
    }
    if product >= 1000 {
        put_number(row, &mut at, product / 10);
        row[at - 1] = b'0' + (product % 10) as u8;
        row[at] = b',';
        at += 1;
    } else {
        put_number(row, &mut at, product);
    }
    put_number(row, &mut at, price);
    let length = length as usize;
    row[at..at + 1 + DATA_MAX].copy_from_slice(b"'aaaaaaaaaaaaaaaaaaaa");
    let end = at + 1 + DATA_MIN + length;
    // Writing eight at once is faster than the exact number; the excess is overwritten.
    let random: [u8; 8] = std::array::from_fn(|i| LETTERS[(letters >> (6 * i)) as usize % 64]);
    let tail = end - TAIL[length];
    row[tail..tail + 8].copy_from_slice(&random);
    row[end..end + 3].copy_from_slice(b"'),");
    end + 3
}

/// Several small draws from 64 random bits; each uses the bits that the previous one left. The bias of a draw
/// is below the product of all ranges (here at most 100,000,000) over 2^64.
struct Draw(u64);

impl Draw {
    #[inline]
    fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.0) * u128::from(end);
        self.0 = wide as u64;
        (wide >> 64) as u64
    }
}

#[inline]
fn put_number(row: &mut [u8; ROW_BYTES_MAX], at: &mut usize, number: u64) {
    let (digits, len) = NUMBERS[number as usize % 1000];
    row[*at..*at + 4].copy_from_slice(&digits);
    *at += usize::from(len);
}

/// Writes the date `seconds` seconds after 2020-01-01 00:00:00, for years up to 9999 (H. Hinnant,
/// "chrono-compatible low-level date algorithms", civil_from_days).
fn write_date(out: &mut [u8], seconds: u64) {
    // Days from 0000-03-01 to 2020-01-01.
    const FIRST: u64 = 737_730;
    let days = seconds / DAY_SECONDS + FIRST;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = (era * 400 + year + u64::from(month <= 2)).min(9_999);
    let second = seconds % DAY_SECONDS;
    for (at, number) in [
        (0, year / 100),
        (2, year % 100),
        (5, month),
        (8, day),
        (11, second / 3_600),
        (14, second / 60 % 60),
        (17, second % 60),
    ] {
        out[at] = b'0' + (number / 10) as u8;
        out[at + 1] = b'0' + (number % 10) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn insert(seed: u64, client: u32, number: u64, rows: u32) -> String {
        let mut text = String::new();
        let mut stream = statement_stream(seed, client, number);
        write_insert(&mut text, client + 1, &mut stream, number, rows);
        text
    }

    /// The rows' values, without apostrophes.
    fn rows(insert: &str) -> Vec<Vec<String>> {
        let (_, values) = insert.split_once(" VALUES (").unwrap();
        let values = values.strip_suffix(')').unwrap();
        let row = |row: &str| row.split(',').map(|value| value.trim_matches('\'').to_owned()).collect();
        values.split("),(").map(row).collect()
    }

    #[test]
    fn rows_depend_only_on_seed_client_and_number() {
        assert_eq!(insert(1, 0, 7, 50), insert(1, 0, 7, 50));
        let values = |seed, client, number| rows(&insert(seed, client, number, 1))[0][1..].to_vec();
        for other in [values(2, 0, 7), values(1, 1, 7), values(1, 0, 8)] {
            assert_ne!(other, values(1, 0, 7));
        }
        // A shorter statement has the first rows of the longer one.
        assert_eq!(rows(&insert(1, 0, 7, 50))[..5], rows(&insert(1, 0, 7, 5)));
        assert!(insert(1, 2, 0, 1).starts_with(
            "INSERT INTO pi3 (dateandtime,cashregisterid,customerid,productid,price,data) VALUES ('2020-01-01 00:00:00',"
        ));
    }

    #[test]
    fn values_are_uniform_over_their_ranges() {
        let mut columns =
            [(CASH_REGISTERS, 0.0, 0u64), (CUSTOMERS, 0.0, 0), (PRODUCTS, 0.0, 0), (PRICES, 0.0, 0)];
        let mut seen_first = [0u32; 4];
        let count = 200_000;
        for number in 0..count / 100 {
            for row in rows(&insert(9, 0, number, 100)) {
                for (i, (end, sum, max)) in columns.iter_mut().enumerate() {
                    let value: u64 = row[i + 1].parse().unwrap();
                    assert!(value < *end && value.to_string() == row[i + 1], "{row:?}");
                    *sum += value as f64;
                    *max = value.max(*max);
                    // The lowest tenth of the range: a wrong leading digit would change its share.
                    seen_first[i] += u32::from(value * 10 < *end);
                }
            }
        }
        for ((end, sum, max), first) in columns.into_iter().zip(seen_first) {
            let (end_f, count) = (end as f64, count as f64);
            let sigma = end_f / 12f64.sqrt() / count.sqrt();
            assert!((sum / count - (end_f - 1.0) / 2.0).abs() < 5.0 * sigma, "{end}: {}", sum / count);
            assert!((f64::from(first) / count - 0.1).abs() < 5.0 * (0.09 / count).sqrt(), "{end}: {first}");
            assert!(max >= end - end / 1000 - 1, "{end}: {max}");
        }
    }

    #[test]
    fn data_is_letters_a_with_a_random_tail_as_long_as_published() {
        assert_eq!(TAIL, [3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7]);
        let mut lengths: BTreeMap<usize, u32> = BTreeMap::new();
        let mut letters: BTreeMap<char, u32> = BTreeMap::new();
        for number in 0..500 {
            for row in rows(&insert(3, 0, number, 100)) {
                let data = &row[5];
                let tail = TAIL[data.len() - DATA_MIN];
                let (same, random) = data.split_at(data.len() - tail);
                assert!(same.bytes().all(|letter| letter == b'a'), "{data}");
                *lengths.entry(data.len()).or_default() += 1;
                random.chars().for_each(|letter| *letters.entry(letter).or_default() += 1);
            }
        }
        assert_eq!(lengths.keys().copied().collect::<Vec<_>>(), (DATA_MIN..=DATA_MAX).collect::<Vec<_>>());
        let even = |counts: Vec<u32>| {
            let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
            counts.iter().all(|count| (f64::from(*count) - mean).abs() < 5.0 * mean.sqrt())
        };
        assert!(even(lengths.values().copied().collect()), "{lengths:?}");
        assert_eq!(letters.len(), 64);
        assert!(even(letters.values().copied().collect()), "{letters:?}");
    }

    #[test]
    fn dates_count_seconds_from_the_first_day() {
        let date = |seconds| {
            let mut out = *b"0000-00-00 00:00:00";
            write_date(&mut out, seconds);
            String::from_utf8(out.to_vec()).unwrap()
        };
        assert_eq!(date(0), "2020-01-01 00:00:00");
        assert_eq!(date(59 * DAY_SECONDS + 86_399), "2020-02-29 23:59:59");
        assert_eq!(date(60 * DAY_SECONDS), "2020-03-01 00:00:00");
        assert_eq!(date(366 * DAY_SECONDS), "2021-01-01 00:00:00");
        // 2100 is not a leap year: 80 years with 20 leap days, and 59 days of 2100.
        assert_eq!(date((80 * 365 + 20 + 59) * DAY_SECONDS + 3_661), "2100-03-01 01:01:01");
        assert_eq!([date_number(7, 2, 4), date_number(7, 2, 1), date_number(7, 2, 0)], [30, 7, 7]);
    }
}
