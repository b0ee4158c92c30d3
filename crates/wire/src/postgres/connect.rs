//! Opens a connection: connects the socket, logs in, gets the server's version. Not hot; `postgres-protocol`
//! does the cryptography.

use std::io::{self, Write};
use std::time::Instant;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::frame::frame;
use super::reply::{decode, server_error};
use super::{Connection, version};
use crate::channel::{Channel, Exchange};
use crate::connect::{self, LOGIN_TIMEOUT, LoginError, Refusal};
use crate::inbox::{Inbox, READ_BYTES, unexpected};
use crate::socket::Socket;
use crate::{Endpoint, Error};

struct Login<'a> {
    endpoint: &'a Endpoint,
    socket: Socket,
    inbox: Inbox,
    scram: Option<ScramSha256>,
    backend_id: u32,
    server_version_num: u32,
}

impl Connection {
    /// Connects and logs in, without TLS. Supports no password, cleartext, MD5 and SCRAM-SHA-256. Takes at
    /// most about 40 s.
    ///
    /// # Errors
    /// [`Error::Connect`] if the server can't be reached or doesn't answer, [`Error::Auth`] if it refuses the
    /// login. Its SQLSTATE distinguishes a wrong password from a server that is still starting, `57P03`, or
    /// full, `53300`.
    pub fn connect(endpoint: &Endpoint, application_name: &str) -> Result<Self, Error> {
        let socket = connect::open(endpoint, &format!(".s.PGSQL.{}", endpoint.port), Self::SERVER)?;
        let mut login = Login {
            endpoint,
            socket,
            inbox: Inbox::new(READ_BYTES),
            scram: None,
            backend_id: 0,
            server_version_num: 0,
        };
        let logged_in = login.run(application_name).and_then(|()| Ok(login.socket.set_timeout(None)?));
        match logged_in {
            Ok(()) => Ok(Self {
                channel: Channel::new(endpoint, login.socket, login.inbox),
                backend_id: login.backend_id,
                server_version_num: login.server_version_num,
                statements: 0,
            }),
            Err(error) => Err(error.explain(endpoint, &REFUSAL)),
        }
    }
}

impl Login<'_> {
    fn run(&mut self, application_name: &str) -> Result<(), LoginError> {
        let mut out = BytesMut::new();
        let options = [
            ("user", self.endpoint.user.as_str()),
            ("database", self.endpoint.database.as_str()),
            ("application_name", application_name),
        ];
        frontend::startup_message(options, &mut out)?;
        self.socket.write_all(&out)?;
        let deadline = Instant::now() + LOGIN_TIMEOUT;
        while Instant::now() < deadline {
            let message = decode(frame(&mut self.inbox, &mut self.socket)?)?;
            if self.take(message)? {
                return Ok(());
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut).into())
    }

    /// Handles one message; returns true once the server is ready for statements.
    fn take(&mut self, message: Message) -> Result<bool, LoginError> {
        match message {
            Message::AuthenticationOk | Message::NoticeResponse(_) => {}
            Message::AuthenticationCleartextPassword => {
                self.send_password(self.endpoint.password.as_bytes())?
            }
            Message::AuthenticationMd5Password(body) => {
                let (user, password) = (self.endpoint.user.as_bytes(), self.endpoint.password.as_bytes());
                self.send_password(md5_hash(user, password, body.salt()).as_bytes())?;
            }
            Message::AuthenticationSasl(body) => {
                if !body.mechanisms().any(|name| Ok(name == SCRAM_SHA_256))? {
                    return Err(LoginError::Method("SASL without SCRAM-SHA-256".to_owned()));
                }
                self.begin_scram()?;
            }
            Message::AuthenticationSaslContinue(body) => self.continue_scram(body.data())?,
            Message::AuthenticationSaslFinal(body) => {
                let scram = self
                    .scram
                    .as_mut()
                    .ok_or_else(|| unexpected("the end of a SCRAM login that was never started"))?;
                scram.finish(body.data()).map_err(|error| LoginError::Method(error.to_string()))?;
            }
            Message::BackendKeyData(body) => self.backend_id = body.process_id().cast_unsigned(),
            Message::ParameterStatus(body) => {
                if body.name()? == "server_version" {
                    self.server_version_num = version::number(body.value()?);
                }
            }
            Message::ErrorResponse(body) => {
                return Err(LoginError::Server(server_error(body.fields())?));
            }
            Message::ReadyForQuery(_) => return Ok(true),
            Message::AuthenticationGss | Message::AuthenticationKerberosV5 | Message::AuthenticationSspi => {
                return Err(LoginError::Method("GSSAPI, Kerberos or SSPI".to_owned()));
            }
            _ => return Err(unexpected("a message that does not belong to a login").into()),
        }
        Ok(false)
    }

    fn begin_scram(&mut self) -> io::Result<()> {
        // Without TLS there is no channel to bind to.
        let scram = ScramSha256::new(self.endpoint.password.as_bytes(), ChannelBinding::unsupported());
        let mut out = BytesMut::new();
        frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut out)?;
        self.scram = Some(scram);
        self.socket.write_all(&out)
    }

    fn continue_scram(&mut self, challenge: &[u8]) -> Result<(), LoginError> {
        let scram = self.scram.as_mut().ok_or_else(|| unexpected("an unsolicited SCRAM challenge"))?;
        scram.update(challenge).map_err(|error| LoginError::Method(error.to_string()))?;
        let mut out = BytesMut::new();
        frontend::sasl_response(scram.message(), &mut out)?;
        Ok(self.socket.write_all(&out)?)
    }

    fn send_password(&mut self, password: &[u8]) -> io::Result<()> {
        let mut out = BytesMut::new();
        frontend::password_message(password, &mut out)?;
        self.socket.write_all(&out)
    }
}

const REFUSAL: Refusal = Refusal {
    server: Connection::SERVER,
    remedy_for: |error| remedy_for(&error.sqlstate),
    methods: "use trust, password, md5 or scram-sha-256 in pg_hba.conf, without TLS",
};

fn remedy_for(sqlstate: &str) -> &'static str {
    match sqlstate {
        "28P01" => "check the user and the password",
        "28000" => "check the user, and that pg_hba.conf allows it without TLS",
        "3D000" => "create the database first",
        "53300" => "raise max_connections or use fewer clients",
        "57P03" => "wait until the server has started",
        _ => "see the server's log",
    }
}
