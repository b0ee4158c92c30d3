//! How the keys of each set are made: shapes of real columns, and shapes that are hard for a sort.

use crate::data::DataSet;
use crate::random::{Random, Zipf};
use std::io::Write;

/// `n` keys, each written by the function.
pub(super) fn fill(n: usize, mut write: impl FnMut(usize, &mut Vec<u8>)) -> DataSet {
    let mut data = DataSet::default();
    for row in 0..n {
        data.push_with(|bytes| write(row, bytes));
    }
    data
}

/// Appends formatted text. Writing to memory can't fail.
macro_rules! put {
    ($bytes:expr, $($text:tt)*) => { let _ = write!($bytes, $($text)*); };
}

pub fn random_bytes(random: &mut Random, n: usize, width: usize) -> DataSet {
    fill(n, |_, bytes| bytes.extend((0..width).map(|_| random.between(1, 255) as u8)))
}

pub fn uuid(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        let (high, low) = (random.next_u64(), random.next_u64());
        let (version, variant) = (high & 0xfff, low >> 48 & 0x3fff | 0x8000);
        let (first, second) = (high >> 32, high >> 16 & 0xffff);
        put!(bytes, "{first:08x}-{second:04x}-4{version:03x}-{variant:04x}-{:012x}", low & 0xffff_ffff_ffff);
    })
}

pub(super) const SYLLABLES: [&str; 32] = [
    "an", "ber", "co", "da", "el", "fi", "go", "han", "in", "ja", "ki", "lo", "mar", "ne", "os", "pa", "qui",
    "ro", "sta", "ti", "ul", "ver", "wen", "xi", "yo", "zu", "tor", "mi", "ra", "le", "sen", "du",
];

/// A word of so many syllables.
pub(super) fn word(random: &mut Random, syllables: usize) -> String {
    (0..syllables).map(|_| *random.pick::<&str>(&SYLLABLES)).collect()
}

pub(super) fn vocabulary(random: &mut Random, n: usize, least: usize, most: usize) -> Vec<String> {
    (0..n)
        .map(|_| {
            let syllables = random.between(least, most);
            word(random, syllables)
        })
        .collect()
}

pub fn url(random: &mut Random, n: usize) -> DataSet {
    const SECTIONS: [&str; 4] = ["articles", "products", "forum", "news"];
    const ENDS: [&str; 5] = [".com", ".org", ".net", ".example.com", ".co.uk"];
    let sites: Vec<String> = vocabulary(random, 20_000, 3, 6)
        .into_iter()
        .map(|name| format!("https://www.{name}{}", random.pick(&ENDS)))
        .collect();
    let titles = vocabulary(random, 2_000, 2, 4);
    let (site_law, title_law) = (Zipf::new(sites.len()), Zipf::new(titles.len()));
    fill(n, |_, bytes| {
        let site = &sites[site_law.draw(random)];
        let section = SECTIONS[random.below(4) & random.below(4)];
        let (year, month) = (2025 - (random.below(6) & random.below(6)), random.between(1, 12));
        put!(bytes, "{site}/{section}/{year}/{month:02}/");
        for place in 0..3 {
            let separator = if place == 0 { "" } else { "-" };
            put!(bytes, "{separator}{}", titles[title_law.draw(random)]);
        }
        put!(bytes, "-{}/", random.below(100_000));
    })
}

/// The columns of a table with tenants, days, customers and a running number.
struct Rows {
    tenants: Zipf,
    customers: Zipf,
}

struct Row {
    tenant: usize,
    day: usize,
    customer: usize,
    number: usize,
}

impl Rows {
    fn new() -> Self {
        Self { tenants: Zipf::new(50), customers: Zipf::new(1_000) }
    }

    fn draw(&self, random: &mut Random, n: usize) -> Row {
        Row {
            tenant: 1000 + 7 * self.tenants.draw(random),
            day: random.below(28),
            customer: self.customers.draw(random),
            number: random.below(4 * n.max(1)),
        }
    }
}

/// Text in groups of 8 bytes and a byte that says how many of them count: zero bytes in it do no harm, and the order
/// stays that of the text.
fn in_groups(bytes: &mut Vec<u8>, text: &[u8]) {
    for start in (0..=text.len()).step_by(8) {
        let group = &text[start..text.len().min(start + 8)];
        bytes.extend_from_slice(group);
        bytes.resize(bytes.len() + 8 - group.len(), 0);
        bytes.push(if text.len() >= start + 8 { 9 } else { group.len() as u8 });
    }
}

pub fn dbms_bin(random: &mut Random, n: usize) -> DataSet {
    let rows = Rows::new();
    fill(n, |_, bytes| {
        let row = rows.draw(random, n);
        bytes.extend((row.tenant as u64).to_be_bytes());
        in_groups(bytes, format!("2024-03-{:02}", row.day + 1).as_bytes());
        let kind = ["", "-private"][row.customer % 2];
        in_groups(bytes, format!("customer-name-{:06}{kind}", row.customer).as_bytes());
        bytes.extend((row.number as u64).to_be_bytes());
    })
}

pub fn dbms_txt(random: &mut Random, n: usize) -> DataSet {
    let rows = Rows::new();
    fill(n, |_, bytes| {
        let Row { tenant, day, customer, number } = rows.draw(random, n);
        put!(bytes, "{tenant:010}|2024-03-{:02}|customer-name-{customer:06}|{number:010}", day + 1);
    })
}

pub fn few_prefixes(random: &mut Random, n: usize) -> DataSet {
    let prefixes: Vec<String> = (0..8)
        .map(|_| {
            let mut prefix = String::from("warehouse/region-eu/table-orders/");
            while prefix.len() < 60 {
                prefix.push_str(random.pick::<&str>(&SYLLABLES));
            }
            prefix.truncate(60);
            prefix
        })
        .collect();
    fill(n, |_, bytes| {
        let prefix = random.pick(&prefixes);
        put!(bytes, "{prefix}{:015}", random.below(4 * n.max(1)));
    })
}

pub fn words(random: &mut Random, n: usize) -> DataSet {
    let words = vocabulary(random, 50_000, 2, 4);
    let law = Zipf::new(words.len());
    fill(n, |_, bytes| bytes.extend_from_slice(words[law.draw(random)].as_bytes()))
}

pub fn few_values(random: &mut Random, n: usize) -> DataSet {
    let values = random_bytes(random, 100, 40);
    let values = values.keys();
    fill(n, |_, bytes| bytes.extend_from_slice(random.pick::<&[u8]>(&values)))
}

pub fn equal(random: &mut Random, n: usize) -> DataSet {
    let value = random_bytes(random, 1, 40);
    fill(n, |_, bytes| bytes.extend_from_slice(value.bytes()))
}

pub fn names(random: &mut Random, n: usize) -> DataSet {
    let surnames = vocabulary(random, 30_000, 2, 4);
    let given = vocabulary(random, 2_000, 2, 3);
    let (surname_law, given_law) = (Zipf::new(surnames.len()), Zipf::new(given.len()));
    fill(n, |_, bytes| {
        put!(bytes, "{}, {}", surnames[surname_law.draw(random)], given[given_law.draw(random)]);
    })
}

pub fn u64_be(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| bytes.extend(random.next_u64().to_be_bytes()))
}

pub fn counter(random: &mut Random, n: usize) -> DataSet {
    fill(n, |row, bytes| bytes.extend((row as u64).to_be_bytes())).shuffled(random)
}

pub fn timestamps(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        let (day, second) = (random.between(1, 28), random.below(86_400));
        let (hour, minute, milli) = (second / 3600, second / 60 % 60, random.below(1000));
        put!(bytes, "2024-02-{day:02}T{hour:02}:{minute:02}:{:02}.{milli:03}Z", second % 60);
    })
}

pub fn dna(random: &mut Random, n: usize) -> DataSet {
    let genome: Vec<u8> = (0..n / 4 + 200).map(|_| *random.pick(b"ACGT")).collect();
    fill(n, |_, bytes| {
        let start = random.below(genome.len() - 100);
        bytes.extend_from_slice(&genome[start..start + 100]);
    })
}

pub fn bits(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        let drawn = random.next_u64();
        bytes.extend((0..64).map(|bit| (drawn >> bit & 1) as u8));
    })
}

pub fn mails(random: &mut Random, n: usize) -> DataSet {
    let hosts = vocabulary(random, 50, 2, 3);
    let given = vocabulary(random, 500, 2, 3);
    let law = Zipf::new(given.len());
    fill(n, |_, bytes| {
        let (name, host) = (&given[law.draw(random)], random.pick(&hosts));
        put!(bytes, "{name}.{}@{host}.example", random.below(100_000));
    })
}

pub fn lengths(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        let length = random.between(0, 40);
        bytes.resize(bytes.len() + length, b'a');
    })
    .changed_by_seed(random)
}

impl DataSet {
    /// Sets whose keys are few have one key more that the seed decides.
    fn changed_by_seed(self, random: &mut Random) -> Self {
        let mut keys = self.keys();
        let own = random.next_u64().to_be_bytes();
        if let Some(last) = keys.last_mut() {
            *last = &own;
        }
        keys.into_iter().collect()
    }
}

pub fn zeros(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        bytes.resize(bytes.len() + 40, 0);
        bytes.extend(random.next_u64().to_be_bytes());
    })
}

pub fn skewed(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        bytes.extend((0..48).map(|_| if random.once_in(2) { 0 } else { random.below(256) as u8 }));
    })
}

/// Keys in order but for one in `times`, which changes places with another.
pub fn disturbed(random: &mut Random, data: DataSet, times: usize) -> DataSet {
    data.reordered(|keys| {
        keys.sort_unstable();
        for _ in 0..keys.len() / times {
            let (one, other) = (random.below(keys.len()), random.below(keys.len()));
            keys.swap(one, other);
        }
    })
}

pub fn appended(random: &mut Random, n: usize) -> DataSet {
    url(random, n).reordered(|keys| keys[..n - n / 100].sort_unstable())
}

pub fn runs(random: &mut Random, n: usize) -> DataSet {
    url(random, n).in_runs(n.div_ceil(8))
}

pub fn pipe(_: &mut Random, n: usize) -> DataSet {
    fill(n, |row, bytes| {
        put!(bytes, "{:012}", row.min(n - row));
    })
}
