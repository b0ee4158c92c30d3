//! Replies that arrive in arbitrary pieces: the outcome depends neither on the pieces nor on the size of the
//! read buffer.

use proptest::prelude::*;

use super::*;
use crate::postgres::scan::tests::message;
use crate::scripted::Scripted;

fn error(sqlstate: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0C{sqlstate}\0Mbroken\0Dmuch\0\0").as_bytes())
}

/// One step of a reply.
#[derive(Clone, Debug)]
enum Step {
    Rows { count: u64, body_bytes: usize },
    Changed(u64),
    Notice,
    Error(&'static str),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..20_u64, 2..400_usize).prop_map(|(count, body_bytes)| Step::Rows { count, body_bytes }),
        2 => (0..1_000_000_u64).prop_map(Step::Changed),
        1 => Just(Step::Notice),
        1 => prop_oneof![Just("40001"), Just("23505")].prop_map(Step::Error),
    ];
    prop::collection::vec(step, 0..6)
}

/// The bytes of a reply made of `steps`, the expected outcome, and the first error's SQLSTATE.
fn reply(steps: &[Step]) -> (Vec<u8>, Outcome, Option<&'static str>) {
    let (mut bytes, mut outcome, mut failed) = (message(b'2', b""), Outcome::default(), None);
    for step in steps {
        match step {
            Step::Rows { count, body_bytes } => {
                bytes.extend(message(b'T', b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"));
                (0..*count).for_each(|_| bytes.extend(message(b'D', &vec![b'Z'; *body_bytes])));
                bytes.extend(message(b'C', format!("SELECT {count}\0").as_bytes()));
                outcome.rows += count;
            }
            Step::Changed(count) => {
                bytes.extend(message(b'C', format!("UPDATE {count}\0").as_bytes()));
                outcome.affected += count;
            }
            Step::Notice => {
                bytes.extend(message(b'N', b"SNOTICE\0C00000\0Mby the way\0\0"));
                bytes.extend(message(b'S', b"TimeZone\0UTC\0"));
            }
            Step::Error(sqlstate) => {
                bytes.extend(error(sqlstate));
                failed.get_or_insert(*sqlstate);
            }
        }
    }
    bytes.extend(message(b'Z', b"T"));
    (bytes, outcome, failed)
}

proptest! {
    #[test]
    fn pieces_do_not_change_the_outcome(
        steps in steps(),
        cuts in prop::collection::vec(1..700_usize, 1..8),
        buffer_bytes in 5..600_usize,
    ) {
        let (bytes, outcome, failed) = reply(&steps);
        // A second reply follows at once: none of its bytes may be taken or lost.
        let twice = [bytes.as_slice(), bytes.as_slice()].concat();
        let (mut inbox, mut server) = (Inbox::new(buffer_bytes), Scripted::new(&twice, &cuts));
        for _ in 0..2 {
            match (collect(&mut inbox, &mut server), failed) {
                (Ok(reply), None) => prop_assert_eq!(reply, outcome),
                (Err(ReplyError::Rejected(error)), Some(sqlstate)) => prop_assert_eq!(&error.sqlstate, sqlstate),
                (other, _) => prop_assert!(false, "unexpected: {:?}", other),
            }
        }
        prop_assert!(inbox.unread().is_empty() && server.bytes.is_empty());
    }

    #[test]
    fn stream_that_ends_early_is_a_lost_connection(
        steps in steps(),
        cuts in prop::collection::vec(1..700_usize, 1..8),
        missing in 1..6_usize,
    ) {
        let (bytes, _, _) = reply(&steps);
        let (mut inbox, mut server) = (Inbox::new(64), Scripted::new(&bytes[..bytes.len() - missing], &cuts));
        let is_lost = matches!(collect(&mut inbox, &mut server), Err(ReplyError::Lost { .. }));
        prop_assert!(is_lost);
    }
}

fn collect_all(bytes: &[u8]) -> (Result<Outcome, ReplyError>, Scripted<'_>) {
    let mut server = Scripted::new(bytes, &[]);
    (collect(&mut Inbox::new(64), &mut server), server)
}

#[test]
fn a_lost_connection_has_the_servers_last_message() {
    let (reply, _) = collect_all(&message(b'E', b"SFATAL\0C57P01\0Mgoing down\0\0"));
    assert!(matches!(reply, Err(ReplyError::Lost { last_words: Some(words), .. }) if words == "going down"));

    let (reply, _) = collect_all(&message(b'N', b"SWARNING\0C57P02\0Manother one crashed\0\0"));
    assert!(
        matches!(reply, Err(ReplyError::Lost { last_words: Some(words), .. }) if words == "another one crashed")
    );
}

#[test]
fn first_error_is_reported_with_all_fields() {
    let bytes = [error("42P01"), error("25P02"), message(b'Z', b"E")].concat();
    let (reply, _) = collect_all(&bytes);
    let Err(ReplyError::Rejected(error)) = reply else { panic!("{reply:?}") };
    let expected = ServerError {
        sqlstate: "42P01".to_owned(),
        code: None,
        message: "broken".to_owned(),
        detail: Some("much".into()),
        hint: None,
    };
    assert_eq!(*error, expected);
}

#[test]
fn copy_from_the_client_is_declined() {
    let bytes = [message(b'G', b"\0\0\0"), error("57014"), message(b'Z', b"I")].concat();
    let (reply, server) = collect_all(&bytes);
    assert!(matches!(reply, Err(ReplyError::Rejected(_))));
    assert_eq!(server.received.first(), Some(&b'f'));
}

#[test]
fn foreign_bytes_are_malformed() {
    for bytes in [b"SSH-2.0-OpenSSH_9.2p1".as_slice(), b"D\0\0\0\x01\0\0\0", b"C\x7f\0\0\0SELECT"] {
        let (reply, _) = collect_all(bytes);
        assert!(matches!(reply, Err(ReplyError::Malformed(_))), "{reply:?}");
    }
}
