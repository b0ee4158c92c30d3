//! Replies that arrive in arbitrary pieces: the outcome depends neither on the pieces nor on the size of the
//! read buffer.

use proptest::prelude::*;

use super::*;
use crate::mysql::packet::{EOF, OK, PAYLOAD_BYTES_MAX};
use crate::scripted::Scripted;

/// Packets numbered one after another.
struct Script {
    bytes: Vec<u8>,
    number: u8,
}

impl Script {
    fn new() -> Self {
        Self { bytes: Vec::new(), number: 1 }
    }

    fn packet(&mut self, payload: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        self.bytes.push(self.number);
        self.bytes.extend_from_slice(payload);
        self.number = self.number.wrapping_add(1);
        self
    }

    fn ok(&mut self, affected: u8, status: u8) -> &mut Self {
        self.packet(&[OK, affected, 0, status, 0, 0, 0])
    }

    fn eof(&mut self, status: u8) -> &mut Self {
        self.packet(&[EOF, 0, 0, status, 0])
    }

    fn error(&mut self, code: u16) -> &mut Self {
        let [low, high] = code.to_le_bytes();
        self.packet(&[&[ERROR, low, high], b"#40001broken".as_slice()].concat())
    }
}

/// One result of a reply.
#[derive(Clone, Debug)]
enum Part {
    Rows { definitions: usize, rows: u64, row_bytes: usize, first: u8 },
    Changed(u8),
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    // A row that is too long for an EOF may begin like one.
    let rows =
        (0..4_usize, 0..300_u64, 9..400_usize, prop_oneof![Just(OK), Just(EOF), Just(0xfb), 1..0xfb_u8])
            .prop_map(|(definitions, rows, row_bytes, first)| Part::Rows {
                definitions,
                rows,
                row_bytes,
                first,
            });
    let part = prop_oneof![3 => rows, 1 => (0..251_u8).prop_map(Part::Changed)];
    prop::collection::vec(part, 1..5)
}

/// The bytes of a reply made of `parts`, which ends with an error if `fails`, and the expected outcome.
fn reply(parts: &[Part], fails: bool) -> (Vec<u8>, Outcome) {
    let (mut script, mut outcome) = (Script::new(), Outcome::default());
    for (at, part) in parts.iter().enumerate() {
        let status = if at + 1 < parts.len() || fails { 8 } else { 1 };
        match part {
            Part::Rows { definitions, rows, row_bytes, first } => {
                script.packet(&[2, 0]);
                for _ in 0..*definitions {
                    script.packet(b"\x03def\x03sbt");
                }
                script.eof(0);
                let mut row = vec![b'x'; *row_bytes];
                row[0] = *first;
                for _ in 0..*rows {
                    script.packet(&row);
                }
                script.eof(status);
                outcome.rows += rows;
            }
            Part::Changed(count) => {
                script.ok(*count, status);
                outcome.affected += u64::from(*count);
            }
        }
    }
    if fails {
        script.error(1213);
    }
    (script.bytes, outcome)
}

proptest! {
    #[test]
    fn pieces_do_not_change_the_outcome(
        parts in parts(),
        fails: bool,
        cuts in prop::collection::vec(1..700_usize, 1..8),
        buffer_bytes in 5..600_usize,
    ) {
        let (bytes, outcome) = reply(&parts, fails);
        // A second reply follows at once: none of its bytes may be taken or lost.
        let twice = [bytes.as_slice(), bytes.as_slice()].concat();
        let mut server = Scripted::new(&twice, &cuts);
        let mut inbox = Inbox::new(buffer_bytes);
        for _ in 0..2 {
            match collect(&mut inbox, &mut server, 1) {
                Ok(reply) if !fails => prop_assert_eq!(reply, outcome),
                Err(ReplyError::Rejected(error)) if fails => prop_assert_eq!(error.code, Some(1213)),
                other => prop_assert!(false, "unexpected: {:?}", other),
            }
        }
        prop_assert!(inbox.unread().is_empty() && server.bytes.is_empty());
    }

    #[test]
    fn stream_that_ends_early_is_a_lost_connection(
        parts in parts(),
        cuts in prop::collection::vec(1..700_usize, 1..8),
        missing in 1..9_usize,
    ) {
        let (bytes, _) = reply(&parts, false);
        let rest = &bytes[..bytes.len().saturating_sub(missing)];
        let reply = collect(&mut Inbox::new(64), &mut Scripted::new(rest, &cuts), 1);
        let is_lost = matches!(reply, Err(ReplyError::Lost { .. }));
        prop_assert!(is_lost);
    }
}

fn collect_all(bytes: &[u8]) -> Result<Outcome, ReplyError> {
    collect(&mut Inbox::new(64), &mut Scripted::new(bytes, &[]), 1)
}

/// Rows of exactly one maximum packet and of more. A continuation may look like an error or an EOF.
#[test]
fn rows_of_several_packets_count_once() {
    let whole = vec![b'x'; PAYLOAD_BYTES_MAX];
    let mut script = Script::new();
    script.packet(&[1]).packet(b"\x03def").eof(0);
    script.packet(&whole).packet(b"");
    script.packet(&whole).packet(&[ERROR, 1, 2, 3]);
    script.packet(&whole).packet(&[EOF, 0, 0, 1, 0]);
    script.packet(b"short").eof(1);
    assert_eq!(collect_all(&script.bytes).unwrap().rows, 4);
}

#[test]
fn shutdown_error_is_a_lost_connection_with_last_words() {
    let mut script = Script::new();
    // Not a reply to a command, so it has number 0.
    script.number = 0;
    script.error(1053);
    let reply = collect_all(&script.bytes);
    assert!(matches!(reply, Err(ReplyError::Lost { last_words: Some(words), .. }) if words == "broken"));
}

#[test]
fn unexpected_packets_are_malformed() {
    let misnumbered = {
        let mut script = Script::new();
        script.packet(&[1]);
        script.number += 1;
        script.packet(b"\x03def").eof(0).eof(1);
        script.bytes
    };
    let local_file = Script::new().packet(b"\xfb/etc/passwd").bytes.clone();
    let cut_short = Script::new().packet(&[OK, 1]).bytes.clone();
    for bytes in [misnumbered.as_slice(), &local_file, &cut_short, b"SSH-2.0-OpenSSH_9.2p1", b"E\0\0\0\x10"] {
        let reply = collect_all(bytes);
        assert!(matches!(reply, Err(ReplyError::Malformed(_))), "{bytes:?}: {reply:?}");
    }
}
