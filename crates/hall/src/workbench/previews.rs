//! Previews: which dev servers are shown on which port of ours, since when, and until when.
//! What goes through such a port is `http::preview_ports`.

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    callers::{Caller, Human},
    errors::ResourceKind,
    events::Event,
    limits,
    settings::PREVIEW_PORTS,
    workbench::{PreviewEnd, PreviewPort, PreviewPorts},
};
use guildhall_store::{ReadSnapshot, preview_ports as rows, settings};
use guildhall_world::http_client::{ListenerPort, ListenerPorts};
use tokio::{
    net::TcpListener,
    sync::{OnceCell, watch},
    time::Instant,
};

use crate::{Hall, start::PreviewListenerConfig};

/// Every preview of this server.
pub(crate) struct Previews {
    doors: PreviewListenerConfig,
    own_ports: ListenerPorts,
    /// By the dev server's port; an empty cell is one that is being opened. A std mutex: held for
    /// single look-ups and never over an await.
    by_port: Mutex<BTreeMap<u16, Arc<OnceCell<Arc<Preview>>>>>,
}

/// A dev server that can be looked at.
pub struct Preview {
    port: u16,
    listen_port: u16,
    opened_at: Timestamp,
    idle: Duration,
    head_wait: Duration,
    half_wait: Duration,
    // A std mutex: held for a few instructions and never over an await.
    course: Mutex<PreviewActivity>,
    /// Why it ends, once it does.
    ending: watch::Sender<Option<PreviewEnd>>,
    /// Turns true when nothing listens any more.
    over: watch::Sender<bool>,
    _own_port: ListenerPort,
}

struct PreviewActivity {
    /// When somebody was there last.
    active_at: Instant,
    last_request_at: Option<Timestamp>,
    sockets: usize,
    upgraded: usize,
}

/// A preview that was opened just now; whoever is handed it serves it.
pub struct NewPreview {
    /// Where it is listened for.
    pub listeners: Vec<TcpListener>,
    /// The preview.
    pub preview: Arc<Preview>,
}

/// How a preview stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewStatus {
    /// The dev server's port.
    pub port: u16,
    /// Where it is.
    pub listen_port: u16,
    /// Since when.
    pub opened_at: Timestamp,
    /// When something was asked for last.
    pub last_request_at: Option<Timestamp>,
    /// Open connections.
    pub open_sockets: usize,
}

/// A place for a connection that leaves HTTP; dropping it gives it back.
pub struct UpgradeSlot(Arc<Preview>);

impl Drop for UpgradeSlot {
    fn drop(&mut self) {
        self.0.activity().upgraded -= 1;
    }
}

impl Previews {
    pub(crate) fn new(doors: PreviewListenerConfig, own_ports: ListenerPorts) -> Self {
        Self {
            doors,
            own_ports,
            by_port: Mutex::default(),
        }
    }

    /// The port of the server itself.
    pub(crate) fn port(&self) -> u16 {
        self.doors.port
    }

    /// Those that are open, by the dev server's port.
    pub(crate) fn open(&self) -> Vec<Arc<Preview>> {
        let cells = self.cells();
        cells
            .values()
            .filter_map(|cell| cell.get().cloned())
            .collect()
    }

    /// The same once those are open that were being opened.
    async fn open_by_now(&self) -> Vec<Arc<Preview>> {
        let cells: Vec<_> = self.cells().values().cloned().collect();
        let mut open = Vec::new();
        for cell in cells {
            // Whoever opens it holds the cell; an attempt of ours that opens nothing waits for it.
            let opened = cell.get_or_try_init(async || Err(())).await;
            open.extend(opened.ok().cloned());
        }
        open
    }

    /// Whether this server listens on `port`.
    pub(crate) fn is_own_port(&self, port: u16) -> bool {
        self.own_ports.contains(port)
    }

    fn cell(&self, port: u16) -> Arc<OnceCell<Arc<Preview>>> {
        Arc::clone(self.cells().entry(port).or_default())
    }

    fn cells(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<OnceCell<Arc<Preview>>>>> {
        self.by_port.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a cell, unless another has taken its place.
    fn forget(&self, port: u16, cell: impl Fn(&OnceCell<Arc<Preview>>) -> bool) {
        let mut cells = self.cells();
        if cells.get(&port).is_some_and(|known| cell(known)) {
            cells.remove(&port);
        }
    }

    /// Listens for the preview of the dev server on `port`, on the first of the ports `tried`
    /// that is free.
    async fn listen(&self, port: u16, tried: Vec<u16>) -> Option<(u16, Vec<TcpListener>)> {
        for listen_port in tried {
            // A dev server that is looked at may start again on its own port.
            let is_looked_at = self.cells().contains_key(&listen_port);
            if listen_port == port || listen_port == self.doors.port || is_looked_at {
                continue;
            }
            if let Some(listeners) = self.bind(listen_port).await {
                return Some((listen_port, listeners));
            }
        }
        None
    }

    /// Listens on every address of the server; `None` when somebody else does on one of them.
    async fn bind(&self, listen_port: u16) -> Option<Vec<TcpListener>> {
        let mut listeners = Vec::new();
        for address in &self.doors.addresses {
            listeners.push(TcpListener::bind((*address, listen_port)).await.ok()?);
        }
        if let Some(other) = other_loopback(&self.doors.addresses) {
            match TcpListener::bind((other, listen_port)).await {
                Ok(listener) => listeners.push(listener),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return None,
                // This computer has no such address.
                Err(_) => {}
            }
        }
        Some(listeners)
    }
}

/// The other address of `localhost` where one of the two is listened on: a browser tries both,
/// and would bring a token, and every cookie of that name, to whoever listens there.
fn other_loopback(addresses: &[IpAddr]) -> Option<IpAddr> {
    let has = |ip: IpAddr| addresses.contains(&ip);
    let is_v4 = has(Ipv4Addr::LOCALHOST.into()) || has(Ipv4Addr::UNSPECIFIED.into());
    let is_v6 = has(Ipv6Addr::LOCALHOST.into());
    // Every address of the newer family is every address of both.
    let is_both = has(Ipv6Addr::UNSPECIFIED.into());
    match (is_v4, is_v6) {
        _ if is_both => None,
        (true, false) => Some(Ipv6Addr::LOCALHOST.into()),
        (false, true) => Some(Ipv4Addr::LOCALHOST.into()),
        (true, true) | (false, false) => None,
    }
}

impl Hall {
    /// The preview of the dev server on `port`, opened unless it is open; those who ask at the
    /// same time share one attempt. `None` when no port is free.
    pub(crate) async fn open_preview(
        &self,
        by: &Caller,
        port: u16,
    ) -> Result<(Option<Arc<Preview>>, Option<NewPreview>)> {
        loop {
            let cell = self.inner.previews.cell(port);
            let mut listeners = Vec::new();
            let opening = cell.get_or_try_init(|| async {
                let (preview, bound) = self.begin_preview(by, port).await?;
                listeners = bound;
                Ok::<_, Option<Error>>(preview)
            });
            let preview = match opening.await {
                Ok(preview) => Arc::clone(preview),
                Err(failed) => {
                    let is_this = |known: &OnceCell<_>| !known.initialized();
                    self.inner.previews.forget(port, is_this);
                    return failed.map_or(Ok((None, None)), Err);
                }
            };
            if !listeners.is_empty() {
                let opened = NewPreview {
                    listeners,
                    preview: Arc::clone(&preview),
                };
                return Ok((Some(preview), Some(opened)));
            }
            if preview.keep_open() {
                return Ok((Some(preview), None));
            }
            // It is being closed: one that opens takes its place, and its port.
            preview.ended().await;
        }
    }

    /// Listens, remembers where, and tells of it. An error of `None` is that no port is free.
    async fn begin_preview(
        &self,
        by: &Caller,
        port: u16,
    ) -> Result<(Arc<Preview>, Vec<TcpListener>), Option<Error>> {
        let (author, now) = (by.author, self.now());
        let read = self.store().read(move |db| {
            let ports = settings::get(db, &PREVIEW_PORTS)?.value;
            Ok((ports, rows::shown(db)?))
        });
        let (ports, shown) = read.await.map_err(Some)?.value;
        let ports = PreviewPorts::parse(ports.text())
            .map_err(|why| Some(Fault::broken("reading the ports of previews", why).into()))?;
        let tried = ports.tried(port, &shown);
        let listening = self.inner.previews.listen(port, tried).await;
        let (listen_port, listeners) = listening.ok_or(None)?;
        let own_port = self.inner.previews.own_ports.hold(listen_port);
        self.store()
            .write(move |tx| {
                rows::note_use(tx, PreviewPort { listen_port, port }, now)?;
                let event = Event::PreviewOpened { port, listen_port };
                tx.append(now, Some(author), &event)?;
                Ok(())
            })
            .await
            .map_err(Some)?;
        let preview = Preview {
            port,
            listen_port,
            opened_at: now,
            idle: self.inner.previews.doors.idle,
            head_wait: self.inner.previews.doors.head_wait,
            half_wait: self.inner.previews.doors.half_wait,
            course: Mutex::new(PreviewActivity {
                active_at: Instant::now(),
                last_request_at: None,
                sockets: 0,
                upgraded: 0,
            }),
            ending: watch::Sender::new(None),
            over: watch::Sender::new(false),
            _own_port: own_port,
        };
        Ok((Arc::new(preview), listeners))
    }

    /// The previews that are open, by the dev server's port.
    ///
    /// # Errors
    /// [`Refusal::OwnerOnly`] for people to whom dev servers are not opened.
    pub async fn previews(&self, by: &Human) -> Result<ReadSnapshot<Vec<PreviewStatus>>> {
        let seen = self.require_dev_servers(by).await?;
        // Behind the reading of the log: what it tells of is open by now, or being opened.
        let open = self.inner.previews.open_by_now().await;
        let open = open.iter().filter(|preview| !preview.is_ending());
        let standing = open.map(|preview| preview.status()).collect();
        Ok(seen.map(|()| standing))
    }

    /// Closes the preview of a dev server, with every connection through it.
    ///
    /// # Errors
    /// [`Refusal::OwnerOnly`] for people to whom dev servers are not opened, then `NotFound`.
    pub async fn close_preview(&self, by: &Human, port: u16) -> Result<()> {
        self.require_dev_servers(by).await?;
        let open = self.inner.previews.open();
        let preview = open.iter().find(|preview| preview.port == port);
        let preview = preview.ok_or(Refusal::NotFound(ResourceKind::Preview))?;
        preview.end(PreviewEnd::Person);
        preview.ended().await;
        Ok(())
    }

    /// Serves a preview to its end, and tells of that.
    pub fn run_preview(
        &self,
        preview: Arc<Preview>,
        serving: impl Future<Output = ()> + Send + 'static,
    ) {
        let hall = self.clone();
        self.tasks().spawn("preview", self.now(), async move {
            serving.await;
            hall.preview_is_over(&preview).await;
        });
    }

    /// Keeps a connection through a preview that left HTTP.
    pub fn run_preview_socket(&self, passing: impl Future<Output = ()> + Send + 'static) {
        self.tasks().spawn("preview socket", self.now(), passing);
    }

    /// Waits until a preview has to end: somebody says so, nobody was there for a while, or the
    /// server stops.
    pub async fn preview_ending(&self, preview: &Preview) {
        let mut stopping = self.tasks().stopping();
        tokio::select! {
            () = preview.until_end() => {}
            _ = stopping.wait_for(|stop| *stop) => preview.end(PreviewEnd::Shutdown),
        }
    }

    /// Waits until a preview is being closed, for whatever reason.
    pub async fn preview_is_closing(&self, preview: &Preview) {
        let mut ending = preview.ending.subscribe();
        // The sender is part of the preview, so it cannot be gone.
        let _ = ending.wait_for(Option::is_some).await;
    }

    async fn preview_is_over(&self, preview: &Arc<Preview>) {
        let reason = preview.ending.borrow().unwrap_or(PreviewEnd::Shutdown);
        let (port, listen_port, now) = (preview.port, preview.listen_port, self.now());
        let told = self.store().write(move |tx| {
            let event = Event::PreviewClosed {
                port,
                listen_port,
                reason,
            };
            rows::note_use(tx, PreviewPort { listen_port, port }, now)?;
            tx.append(now, None, &event)?;
            Ok(())
        });
        if let Err(error) = told.await {
            tracing::error!(?error, "the end of a preview could not be told");
        }
        let is_this = |known: &OnceCell<Arc<Preview>>| {
            known.get().is_some_and(|known| Arc::ptr_eq(known, preview))
        };
        self.inner.previews.forget(port, is_this);
        preview.over.send_replace(true);
    }

    /// Notes that something is asked for.
    pub fn record_preview_request(&self, preview: &Preview) {
        let mut course = preview.activity();
        course.last_request_at = Some(self.now());
        course.active_at = Instant::now();
    }
}

impl Preview {
    /// The dev server's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it is.
    pub fn listen_port(&self) -> u16 {
        self.listen_port
    }

    /// How long the dev server may take to begin its answer.
    pub fn head_wait(&self) -> Duration {
        self.head_wait
    }

    /// How long one half of a WebSocket outlives the other.
    pub fn half_wait(&self) -> Duration {
        self.half_wait
    }

    /// Says how many connections are open.
    pub fn set_open_sockets(&self, open: usize) {
        let mut course = self.activity();
        if course.sockets != open {
            course.sockets = open;
            course.active_at = Instant::now();
        }
    }

    /// A place for a connection that leaves HTTP; `None` when there is none left.
    pub fn upgrade(self: &Arc<Self>) -> Option<UpgradeSlot> {
        let mut course = self.activity();
        if course.upgraded >= limits::PREVIEW_UPGRADED_MAX {
            return None;
        }
        course.upgraded += 1;
        drop(course);
        Some(UpgradeSlot(Arc::clone(self)))
    }

    /// Waits until somebody ends it, or nobody was there for a while.
    async fn until_end(&self) {
        let mut ending = self.ending.subscribe();
        loop {
            let due = self.activity().active_at + self.idle;
            tokio::select! {
                _ = ending.wait_for(Option::is_some) => return,
                () = tokio::time::sleep_until(due) => {}
            }
            let mut course = self.activity();
            if course.sockets > 0 {
                course.active_at = Instant::now();
            } else if course.active_at + self.idle <= Instant::now() {
                // Under the lock, so that nobody is handed it who was about to come.
                self.ending.send_if_modified(|why| {
                    why.is_none()
                        .then(|| *why = Some(PreviewEnd::Idle))
                        .is_some()
                });
                return;
            }
        }
    }

    /// Lets it end; the first reason stays.
    pub(crate) fn end(&self, reason: PreviewEnd) {
        self.ending
            .send_if_modified(|why| why.is_none().then(|| *why = Some(reason)).is_some());
    }

    /// Waits until nothing listens any more.
    pub(crate) async fn ended(&self) {
        // The sender is part of it, so it cannot be gone.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Notes that somebody is about to come; answers whether it stays open for that.
    fn keep_open(&self) -> bool {
        let mut course = self.activity();
        course.active_at = Instant::now();
        !self.is_ending()
    }

    /// Whether it is being closed.
    fn is_ending(&self) -> bool {
        self.ending.borrow().is_some()
    }

    fn status(&self) -> PreviewStatus {
        let course = self.activity();
        PreviewStatus {
            port: self.port,
            listen_port: self.listen_port,
            opened_at: self.opened_at,
            last_request_at: course.last_request_at,
            open_sockets: course.sockets,
        }
    }

    fn activity(&self) -> MutexGuard<'_, PreviewActivity> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_listened_on_under_both_of_its_addresses() {
        let other = |addresses: &[&str]| {
            let addresses: Vec<IpAddr> = addresses.iter().map(|one| one.parse().unwrap()).collect();
            other_loopback(&addresses).map(|other| other.to_string())
        };
        for (addresses, expected) in [
            (&["127.0.0.1"][..], Some("::1")),
            (&["::1"], Some("127.0.0.1")),
            (&["0.0.0.0"], Some("::1")),
            (&["192.168.0.2", "127.0.0.1"], Some("::1")),
            (&["::"], None),
            (&["127.0.0.1", "::1"], None),
            (&["127.0.0.5"], None),
        ] {
            assert_eq!(other(addresses).as_deref(), expected, "{addresses:?}");
        }
    }
}
