//! Opens a connection: connects the socket, answers the server's greeting, authenticates, and asks for the
//! longest allowed packet. Not hot.

use std::io::{self, Write};
use std::time::Instant;

use super::Connection;
use super::decode::{Reader, push_length, text};
use super::packet::{EOF, ERROR, OK, Packets, seal};
use super::password::{self, NONCE_BYTES};
use super::reply::server_error;
use super::rsa::PublicKey;
use super::version::Version;
use crate::channel::{Channel, Exchange};
use crate::connect::{self, LOGIN_TIMEOUT, LoginError, Refusal};
use crate::inbox::{Inbox, READ_BYTES, unexpected};
use crate::socket::Socket;
use crate::{Endpoint, Error, Host};

/// The file name of the server's Unix socket.
const SOCKET_FILE: &str = "mysqld.sock";

/// The greeting's version since server version 3.21.
const GREETING_VERSION: u64 = 10;

/// The id of latin1_swedish_ci.
const COLLATION: u8 = 8;

/// Longest packet accepted during login; greetings and keys are far shorter.
const LOGIN_BYTES_MAX: usize = 64 * 1024;

/// The longest packet that this client announces to accept.
const PACKET_BYTES_MAX: u32 = 1024 * 1024 * 1024;

const NATIVE: &str = "mysql_native_password";
const CACHING_SHA2: &str = "caching_sha2_password";

/// First byte of a message of an authentication method, and the two messages of caching_sha2_password.
const MORE: u8 = 0x01;
const FAST_LOGIN: u8 = 3;
const FULL_LOGIN: u8 = 4;
/// Requests the server's public key.
const KEY_REQUEST: u8 = 2;

/// Capability flags; see the module's documentation.
mod capability {
    pub(super) const LONG_PASSWORD: u32 = 1;
    pub(super) const LONG_FLAG: u32 = 1 << 2;
    pub(super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    pub(super) const TRANSACTIONS: u32 = 1 << 13;
    pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(super) const MULTI_STATEMENTS: u32 = 1 << 16;
    pub(super) const MULTI_RESULTS: u32 = 1 << 17;
    pub(super) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(super) const CONNECT_ATTRS: u32 = 1 << 20;
    pub(super) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    pub(super) const SESSION_TRACK: u32 = 1 << 23;
    /// Required by this client.
    pub(super) const NEEDED: u32 = CONNECT_WITH_DB | PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH;
    /// Requested if the server supports them.
    pub(super) const WANTED: u32 = NEEDED
        | LONG_PASSWORD
        | LONG_FLAG
        | TRANSACTIONS
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | CONNECT_ATTRS
        | PLUGIN_AUTH_LENENC
        | SESSION_TRACK;
    /// MariaDB's own, requested if the server supports them: bulk statements, extended type information in
    /// definitions, and no definitions that the client has cached. The flags' numbers are 32 higher.
    pub(super) const MARIADB: u32 = 1 << 2 | 1 << 3 | 1 << 4;
}

struct Login<'a> {
    endpoint: &'a Endpoint,
    socket: Socket,
    inbox: Inbox,
    packets: Packets,
    nonce: Vec<u8>,
}

/// The server's first message.
struct Greeting {
    version: Version,
    connection_id: u32,
    capabilities: u32,
    mariadb_capabilities: u32,
    nonce: Vec<u8>,
    method: String,
}

impl Connection {
    /// Connects and logs in, without TLS; `name` becomes the connection attribute `program_name`. Supports no
    /// password, `mysql_native_password` and `caching_sha2_password`. Takes at most about 40 s.
    ///
    /// # Errors
    /// [`Error::Connect`] if the server can't be reached or doesn't answer, [`Error::Auth`] if it refuses the
    /// login.
    pub fn connect(endpoint: &Endpoint, name: &str) -> Result<Self, Error> {
        let socket = connect::open(endpoint, SOCKET_FILE, Self::SERVER)?;
        let inbox = Inbox::new(READ_BYTES);
        let mut login = Login { endpoint, socket, inbox, packets: Packets { next: 0 }, nonce: Vec::new() };
        let greeting = login.run(name).map_err(|error| error.explain(endpoint, &REFUSAL))?;
        let mut connection = Self {
            channel: Channel::new(endpoint, login.socket, login.inbox),
            version: greeting.version,
            connection_id: greeting.connection_id,
            packet_bytes_max: usize::MAX,
            statements: 0,
        };
        connection.query_packet_limit()?;
        let no_timeout = connection.channel.socket.set_timeout(None);
        no_timeout.map_err(|source| connect::unreachable(endpoint, source, Self::SERVER))?;
        Ok(connection)
    }

    fn query_packet_limit(&mut self) -> Result<(), Error> {
        let sql = "SELECT @@max_allowed_packet";
        let table = self.query(sql)?;
        let limit = table.value().and_then(|value| value.parse().ok());
        self.packet_bytes_max =
            limit.ok_or_else(|| self.protocol_error(format!("no number in the answer to {sql}")))?;
        Ok(())
    }
}

impl Login<'_> {
    fn run(&mut self, name: &str) -> Result<Greeting, LoginError> {
        let greeting = read_greeting(&self.read()?)?;
        self.nonce.clone_from(&greeting.nonce);
        let missing = capability::NEEDED & !greeting.capabilities;
        if missing != 0 {
            let what =
                format!("the server lacks capabilities {missing:#x}; the oldest supported release is 5.6");
            return Err(LoginError::Method(what));
        }
        // The server requests another method if needed.
        let method = if greeting.method == CACHING_SHA2 { CACHING_SHA2 } else { NATIVE };
        let proof = self.proof(method);
        self.answer(&greeting, name, method, &proof)?;
        self.authenticate(method)?;
        Ok(greeting)
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.packets.read(&mut self.inbox, &mut self.socket, LOGIN_BYTES_MAX)
    }

    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut out = vec![0; super::packet::HEADER_BYTES];
        out.extend_from_slice(payload);
        seal(&mut out, self.packets.next);
        self.packets.next = self.packets.next.wrapping_add(1);
        self.socket.write_all(&out)
    }

    /// Answers the greeting with user, database and proof of the password.
    fn answer(&mut self, greeting: &Greeting, name: &str, method: &str, proof: &[u8]) -> io::Result<()> {
        let capabilities = capability::WANTED & greeting.capabilities;
        let mut out = Vec::new();
        out.extend_from_slice(&capabilities.to_le_bytes());
        out.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
        out.push(COLLATION);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&(capability::MARIADB & greeting.mariadb_capabilities).to_le_bytes());
        push_zero_terminated(&mut out, &self.endpoint.user)?;
        push_string(&mut out, proof);
        push_zero_terminated(&mut out, &self.endpoint.database)?;
        push_zero_terminated(&mut out, method)?;
        if capabilities & capability::CONNECT_ATTRS != 0 {
            let mut attributes = Vec::new();
            push_string(&mut attributes, b"program_name");
            push_string(&mut attributes, name.as_bytes());
            push_string(&mut out, &attributes);
        }
        self.send(&out)
    }

    /// Answers the server's requests until it accepts the login.
    fn authenticate(&mut self, method: &'static str) -> Result<(), LoginError> {
        let deadline = Instant::now() + LOGIN_TIMEOUT;
        let mut method = method;
        while Instant::now() < deadline {
            let payload = self.read()?;
            match payload.split_first() {
                Some((&OK, _)) => return Ok(()),
                Some((&ERROR, _)) => return Err(LoginError::Server(server_error(&payload)?)),
                Some((&EOF, request)) => method = self.change_method(request)?,
                Some((&MORE, &[FAST_LOGIN])) if method == CACHING_SHA2 => {}
                Some((&MORE, &[FULL_LOGIN])) if method == CACHING_SHA2 => self.send_password()?,
                _ => return Err(unexpected("a packet that does not belong to a login").into()),
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut).into())
    }

    /// Switches to the authentication method that the server requests, with a new nonce.
    fn change_method(&mut self, request: &[u8]) -> Result<&'static str, LoginError> {
        let mut reader = Reader(request);
        let method = match text(reader.until_zero()).as_str() {
            NATIVE => NATIVE,
            CACHING_SHA2 => CACHING_SHA2,
            "" => {
                return Err(LoginError::Method(
                    "the password is stored in the format used before 4.1".to_owned(),
                ));
            }
            other => return Err(LoginError::Method(format!("the server requests {other}"))),
        };
        self.nonce = reader.bytes(NONCE_BYTES)?.to_vec();
        let proof = self.proof(method);
        self.send(&proof)?;
        Ok(method)
    }

    fn proof(&self, method: &str) -> Vec<u8> {
        let password = self.endpoint.password.as_bytes();
        match method {
            CACHING_SHA2 => password::caching_sha2(password, &self.nonce),
            _ => password::native(password, &self.nonce),
        }
    }

    /// Sends the password itself to a server that has not cached it yet: in plain text over a Unix socket,
    /// encrypted with the server's key over TCP.
    fn send_password(&mut self) -> Result<(), LoginError> {
        let mut password = self.endpoint.password.clone().into_bytes();
        password.push(0);
        if let Host::Unix(_) = self.endpoint.host {
            return Ok(self.send(&password)?);
        }
        self.send(&[KEY_REQUEST])?;
        let reply = self.read()?;
        let Some((&MORE, pem)) = reply.split_first() else {
            return Err(LoginError::Method(
                "the server sent no public key to encrypt the password with".to_owned(),
            ));
        };
        let mut seed = [0; NONCE_BYTES];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        let encrypted = PublicKey::from_pem(&text(pem))
            .and_then(|key| key.encrypt(&password::xor(&password, &self.nonce), &seed))
            .ok_or_else(|| {
                LoginError::Method("the password cannot be encrypted with the server's key".to_owned())
            })?;
        Ok(self.send(&encrypted)?)
    }
}

/// Appends a zero-terminated string.
fn push_zero_terminated(out: &mut Vec<u8>, text: &str) -> io::Result<()> {
    if text.contains('\0') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name holds a zero byte"));
    }
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    Ok(())
}

/// Appends a string with its length in front.
fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    push_length(out, text.len());
    out.extend_from_slice(text);
}

fn read_greeting(payload: &[u8]) -> Result<Greeting, LoginError> {
    if payload.first() == Some(&ERROR) {
        return Err(LoginError::Server(server_error(payload)?));
    }
    let mut reader = Reader(payload);
    if reader.int(1)? != GREETING_VERSION {
        return Err(unexpected("no MySQL or MariaDB greeting").into());
    }
    let version = Version::parse(&text(reader.until_zero()));
    let connection_id = reader.int(4)? as u32;
    let mut nonce = reader.bytes(8)?.to_vec();
    reader.bytes(1)?;
    let low = reader.int(2)? as u32;
    // Collation and status.
    reader.bytes(3)?;
    let capabilities = low | (reader.int(2)? as u32) << 16;
    // Length of the nonce, and six unused bytes.
    reader.bytes(7)?;
    let mariadb_bits = reader.int(4)? as u32;
    nonce.extend_from_slice(reader.bytes(NONCE_BYTES - 8)?);
    reader.bytes(1)?;
    let method = text(reader.until_zero());
    // A server that sets this old bit has no MariaDB capabilities there.
    let is_mariadb = capabilities & capability::LONG_PASSWORD == 0;
    let mariadb_capabilities = if is_mariadb { mariadb_bits } else { 0 };
    Ok(Greeting { version, connection_id, capabilities, mariadb_capabilities, nonce, method })
}

const REFUSAL: Refusal = Refusal {
    server: Connection::SERVER,
    remedy_for: |error| remedy_for(error.code.unwrap_or_default()),
    methods: "use mysql_native_password or caching_sha2_password, without TLS",
};

fn remedy_for(code: u16) -> &'static str {
    match code {
        1044 => "check the user's privileges on the database",
        1045 => "check the user and the password, and the hosts the user may log in from",
        1049 => "create the database first",
        1040 | 1203 => "raise max_connections or use fewer clients",
        1129 | 1130 => "allow connections from this host on the server",
        3159 => "turn require_secure_transport off",
        _ => "see the server's log",
    }
}
