//! nginx: what the server's files and previews are measured beside. It runs as a child that keeps
//! its configuration, notes and temporary files in a folder of the run.

use std::{
    fmt::Write as _,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::Result;

/// How long a start may take before the run is given up.
const START_MAX: Duration = Duration::from_secs(10);
/// Where it passes requests on to its upstream.
pub(crate) const PROXIED: &str = "/proxied/";

/// A running nginx; dropping it stops it.
pub(crate) struct Nginx {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Nginx {
    /// Starts it on the files of `served`, with `folder` for itself; with an `upstream` it passes
    /// on what is asked for beneath [`PROXIED`].
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        served: &Path,
        upstream: Option<SocketAddr>,
    ) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let address = free_address()?;
        let (conf, notes) = (folder.join("nginx.conf"), folder.join("error.log"));
        std::fs::write(&conf, configuration(folder, served, address, upstream)?)?;
        let child = Command::new(program)
            .arg("-p")
            .arg(folder)
            .arg("-c")
            .arg(&conf)
            .arg("-e")
            .arg(&notes)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut nginx = Self { child, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if nginx.child.try_wait()?.is_some() || began.elapsed() > START_MAX {
                let why = std::fs::read_to_string(&notes).unwrap_or_default();
                return Err(format!("nginx did not start: {}", why.trim()).into());
            }
            std::thread::yield_now();
        }
        Ok(nginx)
    }

    /// The process that watches over the others.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // A killed nginx would leave its workers behind. It fails when it has ended already.
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let _ = id.map(|id| kill_process(id, Signal::TERM));
        let _ = self.child.wait();
    }
}

/// As Debian ships it where speed is concerned, without a log of requests. It has as many workers
/// as there are cores, as the server has threads, and each worker its own queue of connections, so
/// that all of them have work. No connection ends after some number of requests.
fn configuration(
    folder: &Path,
    served: &Path,
    address: SocketAddr,
    upstream: Option<SocketAddr>,
) -> Result<String> {
    let (folder, served) = (folder.display(), served.display());
    let mut text = String::new();
    if geteuid().is_root() {
        // Its workers are to read what lies in the run's folder.
        text.push_str("user root;\n");
    }
    writeln!(
        text,
        "daemon off;
worker_processes auto;
pid \"{folder}/nginx.pid\";
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    default_type text/plain;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;"
    )?;
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(text, "    {kind}_temp_path \"{folder}/{kind}\";")?;
    }
    let mut proxied = String::new();
    if let Some(upstream) = upstream {
        writeln!(
            text,
            "    upstream dev {{
        server {upstream};
        keepalive 64;
        keepalive_timeout 1h;
        keepalive_requests 1000000000;
    }}"
        )?;
        write!(
            proxied,
            "
        location {PROXIED} {{
            proxy_pass http://dev/;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
        }}"
        )?;
    }
    writeln!(
        text,
        "    server {{
        listen {address} reuseport;
        root \"{served}\";{proxied}
    }}
}}"
    )?;
    Ok(text)
}

/// An address that nobody listens on; nginx does not tell which one it would choose.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?)
}
