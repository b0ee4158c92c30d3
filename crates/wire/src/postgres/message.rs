//! Messages to the server. Those of an execution and of a simple query are built by hand because they are
//! hot; all others by `postgres-protocol`.

use super::Params;
use crate::Error;

/// Maximum number of parameters of an execution (the protocol has 16 bits for it).
const PARAMS_MAX: usize = u16::MAX as usize;

/// Maximum bytes of parameters of an execution, and of a simple query; the server's own limit is near 1 GiB.
const PARAMS_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Length of a statement's name, in bytes. The server reads, checks, hashes and copies the name in each
/// execution, so its length is part of the work. This is the mean length of sysbench's names.
const NAME_BYTES: usize = 26;

/// Length of the start of a Bind message: tag, length, unnamed portal, statement name, no parameter formats
/// (all text), parameter count. Length and count are filled in for each execution.
pub(super) const HEAD_BYTES: usize = NAME_AT + NAME_BYTES + 5;

/// Offset of the name in the head, after tag, length and the portal's empty name.
const NAME_AT: usize = 6;

/// Offset of the parameter count in the head.
const COUNT_AT: usize = HEAD_BYTES - 2;

/// The end of Bind (one result format: binary) and three more messages: Describe the unnamed portal, Execute
/// it without a row limit, Sync. libpq sends the same for `PQexecPrepared`.
const TAIL: [u8; 26] = *b"\0\x01\0\x01D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// The bytes of the tail that belong to Bind.
const RESULT_FORMATS_BYTES: usize = 4;

/// The name of the `number`th statement of a connection; always [`NAME_BYTES`] long.
pub(super) fn statement_name(number: u32) -> String {
    format!("rqps_statement_{number:011}")
}

/// The start of each execution of the statement called `name`.
pub(super) fn bind_head(name: &str) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[0] = b'B';
    for (byte, letter) in head[NAME_AT..NAME_AT + NAME_BYTES].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    head
}

/// Replaces `out` by an execution: Bind, Describe, Execute, Sync.
#[inline]
pub(super) fn execution(out: &mut Vec<u8>, head: &[u8; HEAD_BYTES], params: &Params) -> Result<(), Error> {
    let encoded = params.encoded();
    if params.len() > PARAMS_MAX || encoded.len() > PARAMS_BYTES_MAX {
        return Err(too_many_params(params));
    }
    let mut head = *head;
    let bind_bytes = (HEAD_BYTES - 1 + encoded.len() + RESULT_FORMATS_BYTES) as u32;
    head[1..5].copy_from_slice(&bind_bytes.to_be_bytes());
    head[COUNT_AT..].copy_from_slice(&(params.len() as u16).to_be_bytes());
    out.clear();
    out.reserve(HEAD_BYTES + encoded.len() + TAIL.len());
    out.extend_from_slice(&head);
    out.extend_from_slice(encoded);
    out.extend_from_slice(&TAIL);
    Ok(())
}

/// Replaces `out` by a simple query.
pub(super) fn simple_query(out: &mut Vec<u8>, sql: &str) -> Result<(), Error> {
    if sql.len() > PARAMS_BYTES_MAX {
        return Err(Error::Limit {
            what: format!("a statement of {} bytes", sql.len()),
            limit: format!("{PARAMS_BYTES_MAX} bytes"),
            remedy: "split it, or load rows with COPY",
        });
    }
    out.clear();
    out.reserve(sql.len() + 6);
    out.push(b'Q');
    out.extend_from_slice(&(sql.len() as u32 + 5).to_be_bytes());
    out.extend_from_slice(sql.as_bytes());
    out.push(0);
    Ok(())
}

#[cold]
fn too_many_params(params: &Params) -> Error {
    Error::Limit {
        what: format!("{} parameters of {} bytes in all", params.len(), params.encoded().len()),
        limit: format!("{PARAMS_MAX} parameters and {PARAMS_BYTES_MAX} bytes"),
        remedy: "use fewer or shorter parameters",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::frontend;

    /// Compares the hand-built messages with those of `postgres-protocol`.
    #[test]
    fn execution_is_bind_describe_execute_sync() {
        let mut params = Params::new();
        params.push_int(4711);
        params.push_text(b"abc-def");
        let mut out = Vec::new();
        execution(&mut out, &bind_head(&statement_name(42)), &params).unwrap();

        let values: [&[u8]; 2] = [b"4711", b"abc-def"];
        let mut expected = BytesMut::new();
        let serialize = |value: &[u8], buf: &mut BytesMut| {
            buf.extend_from_slice(value);
            Ok(IsNull::No)
        };
        let name = statement_name(42);
        assert_eq!(name.len(), NAME_BYTES);
        assert!(frontend::bind("", &name, [], values, serialize, [1], &mut expected).is_ok());
        frontend::describe(b'P', "", &mut expected).unwrap();
        frontend::execute("", 0, &mut expected).unwrap();
        frontend::sync(&mut expected);
        assert_eq!(out, expected);
    }

    #[test]
    fn simple_query_is_one_message() {
        let (mut out, mut expected) = (vec![1, 2, 3], BytesMut::new());
        simple_query(&mut out, "COMMIT").unwrap();
        frontend::query("COMMIT", &mut expected).unwrap();
        assert_eq!(out, expected);
    }

    #[test]
    fn more_parameters_than_the_protocol_allows_are_an_error() {
        let mut params = Params::new();
        (0..=PARAMS_MAX as i64).for_each(|value| params.push_int(value));
        assert!(matches!(
            execution(&mut Vec::new(), &bind_head(&statement_name(1)), &params),
            Err(Error::Limit { .. })
        ));
    }
}
