//! The companion service's real binary on a folder of its own, and a person at its pages.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// How long any one answer may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// Who decides.
pub(crate) const EMAIL: &str = "ada@example.org";
/// With which password.
pub(crate) const PASSWORD: &str = "canary-of-the-pages";

/// Where a service is kept, and how it is reached.
#[derive(Clone)]
pub(crate) struct CompanionFolder {
    pub(crate) data_dir: PathBuf,
    /// Under which address instances and people know it.
    pub(crate) public: String,
    /// Further arguments.
    pub(crate) args: Vec<String>,
    /// Where it tells all it does.
    pub(crate) log: Option<PathBuf>,
}

impl CompanionFolder {
    fn program(&self) -> Command {
        // Built beside the server by whatever builds the workspace.
        let path = Path::new(env!("CARGO_BIN_EXE_guildhall")).with_file_name("guildhall-cloud");
        assert!(path.is_file(), "run `cargo build -p guildhall-cloud` first");
        let mut program = Command::new(path);
        program
            .env_clear()
            .env("GUILDHALL_CLOUD_DATA_DIR", &self.data_dir)
            .env("GUILDHALL_CLOUD_PUBLIC_URL", &self.public)
            .env("GUILDHALL_CLOUD_LOG", "off")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        program
    }

    /// Starts the service on a free port.
    pub(crate) fn start(&self) -> CompanionProcess {
        let mut serve = self.program();
        serve
            .args(["serve", "--bind", "127.0.0.1:0"])
            .args(&self.args)
            .stdout(Stdio::piped());
        if let Some(log) = &self.log {
            let log = File::options().create(true).append(true).open(log).unwrap();
            serve.env("GUILDHALL_CLOUD_LOG", "trace").stderr(log);
        }
        let mut child = serve.spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let port = line.trim_end().rsplit(':').next().unwrap();
        let port = port.parse().expect("the service says where it listens");
        CompanionProcess { child, port }
    }

    /// Its database.
    pub(crate) fn database(&self) -> PathBuf {
        self.data_dir.join("guildhall-cloud.sqlite")
    }

    /// The path of the one-time link of an account.
    pub(crate) fn invited(&self, email: &str) -> String {
        let added = self.program().args(["account", "add", email]).output();
        let link = String::from_utf8(added.unwrap().stdout).unwrap();
        let path = link.trim_end().strip_prefix(&self.public);
        path.expect("a link").to_owned()
    }
}

/// A running service; killed when dropped.
pub(crate) struct CompanionProcess {
    child: Child,
    pub(crate) port: u16,
}

impl CompanionProcess {
    /// Kills it as the kernel would, at this very moment.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop and waits for its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for CompanionProcess {
    fn drop(&mut self) {
        // One that ended already is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody with an account, at the service's pages.
pub(crate) struct AccountHolder {
    /// What the browser shows.
    pub(crate) cookie: String,
    /// Everything that the service answered.
    pub(crate) answers: String,
}

impl AccountHolder {
    /// Follows a one-time link and chooses a password.
    pub(crate) fn welcomed(port: u16, link: &str) -> Self {
        let mut person = Self {
            cookie: String::new(),
            answers: String::new(),
        };
        assert_eq!(person.get(port, link).0, 200);
        // The page that the link leads to names it, and no other.
        person.answers.clear();
        let form = format!("password={PASSWORD}&again={PASSWORD}");
        let (status, answer) = person.post(port, link, &form);
        assert_eq!(status, 303, "{answer}");
        let (_, set) = answer.split_once("set-cookie: ").expect("a cookie");
        set.split(';')
            .next()
            .unwrap()
            .clone_into(&mut person.cookie);
        // Nor may any answer hold the cookie but this one.
        person.answers.clear();
        person
    }

    /// The secret part of the cookie.
    pub(crate) fn value(&self) -> &str {
        self.cookie.split_once('=').map_or("", |(_, value)| value)
    }

    /// Says yes or no (`approve`, `deny`) to whoever shows this code.
    pub(crate) fn decide(&mut self, port: u16, code: &str, decision: &str) {
        let (status, page) = self.get(port, &format!("/activate?user_code={code}"));
        assert_eq!(status, 200, "{page}");
        let token = page
            .split_once("name=\"token\" value=\"")
            .expect("a form")
            .1;
        let token = token.split('"').next().unwrap();
        let form = format!("token={token}&user_code={code}&decision={decision}");
        let (status, page) = self.post(port, "/activate", &form);
        assert_eq!(status, 200, "{page}");
    }

    /// A page: its status, and the whole answer.
    pub(crate) fn get(&mut self, port: u16, path: &str) -> (u16, String) {
        self.ask(port, &format!("GET {path}"), "")
    }

    /// What comes of a form.
    pub(crate) fn post(&mut self, port: u16, path: &str, form: &str) -> (u16, String) {
        self.ask(port, &format!("POST {path}"), form)
    }

    fn ask(&mut self, port: u16, what: &str, form: &str) -> (u16, String) {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            socket,
            "{what} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nCookie: {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            self.cookie,
            form.len()
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        self.answers.push_str(&answer);
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.expect("an answer"), answer)
    }
}
