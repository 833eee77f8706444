//! A command at a pseudo terminal, with a person who reads and types there.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    io::{Errno, FdFlags, fcntl_setfd},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// How long a terminal may stay silent before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// Wide enough that no line of a card is broken.
const SIZE: Winsize = Winsize {
    ws_row: 50,
    ws_col: 400,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// A command whose input, output and error are one terminal; killed when dropped.
pub(crate) struct TerminalCommand {
    child: Child,
    /// The end of the person.
    screen: File,
    shown: String,
}

impl TerminalCommand {
    pub(crate) fn start(mut command: Command) -> Self {
        let (screen, terminal) = pair();
        let again = || terminal.try_clone().unwrap();
        let child = command
            .stdin(again())
            .stdout(again())
            .stderr(again())
            .spawn()
            .unwrap();
        // Only the command holds the other end, so that the screen ends with it.
        drop((terminal, command));
        Self {
            child,
            screen: screen.into(),
            shown: String::new(),
        }
    }

    /// Reads until the screen shows `part`; all that it showed so far.
    pub(crate) fn until(&mut self, part: &str) -> &str {
        while !self.shown.contains(part) {
            assert!(self.read(), "no {part:?} in {:?}", self.shown);
        }
        &self.shown
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        self.screen
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    /// Waits for the command's end; its exit code and all that the screen showed.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        while self.read() {}
        let code = self.child.wait().unwrap().code();
        (code, std::mem::take(&mut self.shown))
    }

    /// Reads what there is; false once nobody writes to the terminal any more.
    fn read(&mut self) -> bool {
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let mut ready = [PollFd::new(&self.screen, PollFlags::IN)];
        assert_eq!(poll(&mut ready, Some(&patience)), Ok(1), "{:?}", self.shown);
        let mut bytes = [0; 4_096];
        match self.screen.read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.shown += &String::from_utf8_lossy(&bytes[..count]);
                true
            }
            // So says Linux when the other end is closed.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

impl Drop for TerminalCommand {
    fn drop(&mut self) {
        // One that ended already is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both ends of a new terminal: the person's and the command's. Neither is inherited.
fn pair() -> (OwnedFd, OwnedFd) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    fcntl_setfd(&screen, FdFlags::CLOEXEC).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let path = ptsname(&screen, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(path, flags, Mode::empty()).unwrap();
    tcsetwinsize(&terminal, SIZE).unwrap();
    (screen, terminal)
}
