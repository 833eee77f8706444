//! Ports: the two ends of the connection as lines, and the mischief that is written between them.
//! Mischief travels the same queue as the agent's messages, so what was said before it is
//! written before it.

use std::{io, sync::Arc};

use agent_client_protocol::{Client, ConnectTo, Lines, Role, UntypedMessage};
use futures_util::{Sink, Stream, future, sink, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::watch,
};

/// The method that carries mischief to the writing end; it never leaves the process.
const METHOD: &str = "_rehearsal/mischief";

const MIB: usize = 1024 * 1024;
/// How much text one line of a flood carries, in bytes.
const FLOOD_TEXT: usize = 64 * 1024;

/// What the writing end does instead of writing a message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConnectionFault {
    /// Ends the process.
    Crash,
    /// Writes nothing any more.
    Hang,
    /// Writes this many lines that are no JSON.
    Garbage(u32),
    /// Writes this many mebibytes of text pieces.
    Flood { session: String, mib: u32 },
    /// Writes one line of this many mebibytes.
    LongLine(u32),
}

impl ConnectionFault {
    /// The message that carries it through the queue.
    pub(crate) fn message(&self) -> Result<UntypedMessage, agent_client_protocol::Error> {
        UntypedMessage::new(METHOD, json!({"mischief": self}))
    }

    fn of_line(line: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct FaultNotification {
            method: String,
            params: FaultParams,
        }
        #[derive(Deserialize)]
        struct FaultParams {
            mischief: ConnectionFault,
        }
        if !line.contains(METHOD) {
            return None;
        }
        let carrier: FaultNotification = serde_json::from_str(line).ok()?;
        (carrier.method == METHOD).then_some(carrier.params.mischief)
    }
}

/// How serving a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The client closed its end.
    Closed,
    /// A directive said so.
    Crashed,
    /// Reading or writing failed.
    Broken,
}

/// What a directive has made of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    Alive,
    Crashed,
    Silent,
}

/// An open connection to a client.
pub(crate) struct ClientConnection<Out, In> {
    lines: Lines<Out, In>,
    fate: watch::Receiver<ConnectionState>,
}

/// Takes the two ends as lines.
pub(crate) fn open(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> ClientConnection<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
> {
    let (decide, fate) = watch::channel(ConnectionState::Alive);
    let decide = Arc::new(decide);
    let outgoing = sink::unfold(writer, move |mut writer, line: String| {
        let decide = Arc::clone(&decide);
        async move {
            match ConnectionFault::of_line(&line) {
                None => write_line(&mut writer, &line).await?,
                Some(mischief) => commit(mischief, &mut writer, &decide).await?,
            }
            Ok(writer)
        }
    });
    let incoming = stream::try_unfold(BufReader::new(reader).lines(), async |mut lines| {
        Ok(lines.next_line().await?.map(|line| (line, lines)))
    });
    ClientConnection {
        lines: Lines::new(Box::pin(outgoing), Box::pin(incoming)),
        fate,
    }
}

impl<Out, In> ClientConnection<Out, In>
where
    Out: Sink<String, Error = io::Error> + Send + 'static,
    In: Stream<Item = io::Result<String>> + Send + 'static,
{
    /// Lets `agent` speak until the client's end closes or a directive ends it.
    pub(crate) async fn serve(
        self,
        agent: impl ConnectTo<<agent_client_protocol::Agent as Role>::Counterpart>,
    ) -> ConnectionEnd {
        let Self { lines, mut fate } = self;
        let connection = ConnectTo::<agent_client_protocol::Agent>::connect_to(lines, agent);
        let ended = tokio::select! {
            biased;
            _ = fate.wait_for(|fate| *fate == ConnectionState::Crashed) => return ConnectionEnd::Crashed,
            ended = connection => ended,
        };
        let fate = *fate.borrow();
        match (fate, ended) {
            (ConnectionState::Crashed, _) => ConnectionEnd::Crashed,
            // Who went silent does not even notice that nobody listens any more.
            (ConnectionState::Silent, _) => future::pending().await,
            (ConnectionState::Alive, Ok(())) => ConnectionEnd::Closed,
            (ConnectionState::Alive, Err(_)) => ConnectionEnd::Broken,
        }
    }
}

async fn write_line(writer: &mut (impl AsyncWrite + Unpin), line: &str) -> io::Result<()> {
    writer.write_all(line.as_bytes()).await?;
    writer.write_all(b"\n").await?;
    writer.flush().await
}

async fn commit(
    mischief: ConnectionFault,
    writer: &mut (impl AsyncWrite + Unpin),
    decide: &watch::Sender<ConnectionState>,
) -> io::Result<()> {
    match mischief {
        ConnectionFault::Crash => {
            decide.send_replace(ConnectionState::Crashed);
            future::pending().await
        }
        ConnectionFault::Hang => {
            decide.send_replace(ConnectionState::Silent);
            future::pending().await
        }
        ConnectionFault::Garbage(lines) => {
            for number in 1..=lines {
                write_line(writer, &format!("this is no JSON ({number}) }}{{")).await?;
            }
            Ok(())
        }
        ConnectionFault::Flood { session, mib } => {
            let line = json!({
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {
                    "sessionId": session,
                    "update": {
                        "sessionUpdate": "agent_message_chunk",
                        "content": {"type": "text", "text": "flood ".repeat(FLOOD_TEXT / 6)},
                    },
                },
            })
            .to_string();
            for _ in 0..(mib as usize * MIB / FLOOD_TEXT) {
                write_line(writer, &line).await?;
            }
            Ok(())
        }
        ConnectionFault::LongLine(mib) => {
            let piece = vec![b'x'; MIB];
            for _ in 0..mib {
                writer.write_all(&piece).await?;
            }
            write_line(writer, "").await
        }
    }
}

/// The client's role, named here so that only this module knows the crate's way of naming it.
pub(crate) type ClientRole = Client;
