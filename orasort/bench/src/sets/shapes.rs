//! More keys: of stores, services and programs, and shapes that are hard for a sort.

use super::generators::{fill, vocabulary};
use crate::data::DataSet;
use crate::random::{Random, Zipf};
use std::io::Write;

/// Appends formatted text. Writing to memory can't fail.
macro_rules! put {
    ($bytes:expr, $($text:tt)*) => { let _ = write!($bytes, $($text)*); };
}

pub fn lsm(random: &mut Random, n: usize) -> DataSet {
    let (tables, tenants) = (Zipf::new(12), Zipf::new(400));
    fill(n, |_, bytes| {
        bytes.extend((tables.draw(random) as u16 + 100).to_be_bytes());
        bytes.extend((tenants.draw(random) as u32 * 17 + 5000).to_be_bytes());
        bytes.extend((1_700_000_000_000 + random.below(3_000_000_000) as u64).to_be_bytes());
        bytes.extend_from_slice(random.pick::<&[u8]>(&[b"meta", b"value", b"value:size"]));
    })
}

pub fn json(random: &mut Random, n: usize) -> DataSet {
    let users = vocabulary(random, 3_000, 2, 4);
    let law = Zipf::new(users.len());
    fill(n, |_, bytes| {
        let action = random.pick(&["view", "click", "buy", "view", "view"]);
        let user = &users[law.draw(random)];
        put!(bytes, "{{\"user\":\"{user}\",\"action\":\"{action}\",\"item\":{},", random.below(50_000));
        put!(
            bytes,
            "\"price\":{}.{:02},\"ok\":{}}}",
            random.below(200),
            random.below(100),
            random.once_in(2)
        );
    })
}

pub fn kmers(random: &mut Random, n: usize) -> DataSet {
    let genome: Vec<u8> = (0..n / 2 + 100).map(|_| *random.pick(b"ACGT")).collect();
    fill(n, |_, bytes| {
        let start = random.below(genome.len() - 31);
        bytes.extend_from_slice(&genome[start..start + 31]);
    })
}

pub fn reversed_urls(random: &mut Random, n: usize) -> DataSet {
    let hosts = vocabulary(random, 5_000, 2, 4);
    let pages = vocabulary(random, 4_000, 2, 5);
    let (host_law, page_law) = (Zipf::new(hosts.len()), Zipf::new(pages.len()));
    fill(n, |_, bytes| {
        let (top, host) = (random.pick(&["com", "org", "net", "de", "co.uk"]), &hosts[host_law.draw(random)]);
        put!(bytes, "{top}.{host}.www/{}", pages[page_law.draw(random)]);
        if random.once_in(2) {
            put!(bytes, "/{}?id={}", pages[page_law.draw(random)], random.below(1_000_000));
        }
    })
}

pub fn decimals(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        let digits = random.between(1, 10) as u32;
        put!(bytes, "{}", random.below(10usize.pow(digits)));
    })
}

fn address(random: &mut Random, nets: &[[u8; 2]]) -> [u8; 4] {
    let [a, b] = if random.once_in(3) {
        [random.between(1, 223) as u8, random.below(256) as u8]
    } else {
        *random.pick(nets)
    };
    [a, b, random.below(256) as u8, random.below(256) as u8]
}

fn nets(random: &mut Random) -> Vec<[u8; 2]> {
    (0..40).map(|_| [random.between(1, 223) as u8, random.below(256) as u8]).collect()
}

pub fn ipv4(random: &mut Random, n: usize) -> DataSet {
    let nets = nets(random);
    fill(n, |_, bytes| bytes.extend(address(random, &nets)))
}

pub fn ipv4_text(random: &mut Random, n: usize) -> DataSet {
    let nets = nets(random);
    fill(n, |_, bytes| {
        let [a, b, c, d] = address(random, &nets);
        put!(bytes, "{a}.{b}.{c}.{d}");
    })
}

pub fn hashes(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        put!(bytes, "{:016x}{:016x}{:08x}", random.next_u64(), random.next_u64(), random.next_u64() as u32);
    })
}

pub fn status(random: &mut Random, n: usize) -> DataSet {
    const STATES: [&str; 6] = ["delivered", "shipped", "pending", "cancelled", "returned", "lost"];
    fill(n, |_, bytes| {
        let mut place = 0;
        while place + 1 < STATES.len() && random.once_in(3) {
            place += 1;
        }
        bytes.extend_from_slice(STATES[place].as_bytes());
    })
}

/// One value, but for one key in so many.
pub fn equal_but(random: &mut Random, n: usize, one_in: usize) -> DataSet {
    let value = format!("customer-{:016x}", random.next_u64());
    fill(n, |_, bytes| {
        if random.once_in(one_in) {
            put!(bytes, "customer-{:016x}", random.next_u64());
        } else {
            bytes.extend_from_slice(value.as_bytes());
        }
    })
}

pub fn ladder(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        let length = random.below(120);
        bytes.resize(bytes.len() + length, b'a');
        bytes.push(b'b');
    })
}

pub fn stairs(_: &mut Random, n: usize) -> DataSet {
    fill(n, |row, bytes| bytes.resize(bytes.len() + row * 7919 % 1_009, b'a'))
}

pub fn phrases(random: &mut Random, n: usize) -> DataSet {
    let words = vocabulary(random, 8_000, 1, 4);
    let law = Zipf::new(words.len());
    fill(n, |_, bytes| {
        for place in 0..random.between(4, 12) {
            put!(bytes, "{}{}", if place == 0 { "" } else { " " }, words[law.draw(random)]);
        }
    })
}

pub fn log(random: &mut Random, n: usize) -> DataSet {
    let services = vocabulary(random, 20, 2, 3);
    let events = vocabulary(random, 60, 3, 6);
    let mut milli = 0;
    fill(n, |_, bytes| {
        milli += random.below(40);
        // Threads write their lines a little late.
        let at = milli.saturating_sub(if random.once_in(4) { random.below(300) } else { 0 });
        let (second, milli) = (at / 1000, at % 1000);
        let (hour, minute, day) = (second / 3600 % 24, second / 60 % 60, 1 + second / 86_400);
        put!(bytes, "2026-03-{day:02}T{hour:02}:{minute:02}:{:02}.{milli:03} ", second % 60);
        let level = random.pick(&["INFO", "INFO", "INFO", "WARN", "ERROR"]);
        put!(bytes, "{level} {}: {} {}", random.pick(&services), random.pick(&events), random.below(10_000));
    })
}

pub fn orders(random: &mut Random, n: usize) -> DataSet {
    fill(n, |_, bytes| {
        let kind = random.pick(b"AABCE");
        put!(bytes, "{}-{}-{:07}", *kind as char, random.between(2019, 2026), random.below(2_000_000));
    })
}

pub fn versions(random: &mut Random, n: usize) -> DataSet {
    let names = vocabulary(random, 6_000, 2, 4);
    let law = Zipf::new(names.len());
    fill(n, |_, bytes| {
        let name = &names[law.draw(random)];
        put!(bytes, "lib{name}-{}.{}.{}", random.below(4), random.below(30), random.below(100));
        if random.once_in(3) {
            put!(bytes, "-{}deb12u{}", random.below(4), random.below(3));
        }
    })
}

pub fn geohash(random: &mut Random, n: usize) -> DataSet {
    const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
    let cities: Vec<Vec<u8>> = (0..300).map(|_| (0..5).map(|_| *random.pick(LETTERS)).collect()).collect();
    let law = Zipf::new(cities.len());
    fill(n, |_, bytes| {
        let known = if random.once_in(10) { &[][..] } else { &cities[law.draw(random)] };
        bytes.extend_from_slice(known);
        bytes.extend((known.len()..12).map(|_| *random.pick(LETTERS)));
    })
}

pub fn blobs(random: &mut Random, n: usize) -> DataSet {
    let beginnings: Vec<Vec<u8>> =
        (0..100).map(|_| (0..500).map(|_| random.between(1, 255) as u8).collect()).collect();
    fill(n.min(300_000), |_, bytes| {
        bytes.extend_from_slice(random.pick::<Vec<u8>>(&beginnings));
        bytes.extend((0..100).map(|_| random.between(1, 255) as u8));
    })
}
