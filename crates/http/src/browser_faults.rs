//! The faults that stand in an answer instead of refusing it: the `lastError` of the local
//! browser. Each has a page like a refusal's. Source: contract 7.2, 7.5.

use crate::docs::ErrorDoc;

/// Every fault, in the order in which one can meet it. The answer it stands in says 200.
pub static ALL: &[ErrorDoc] = &[
    ErrorDoc {
        code: "BROWSER_NOT_INSTALLED",
        status: 200,
        title: "No Chromium",
        meaning: "No Chromium, Chrome or Edge was found on the computer of this server; details.searched says where it was looked for.",
        advice: "Install one, or name its program in GUILDHALL_BROWSER, and open the browser again.",
    },
    ErrorDoc {
        code: "NO_DISPLAY",
        status: 200,
        title: "No screen",
        meaning: "A window of its own needs a desktop on the computer of this server, and there is none that the server can reach.",
        advice: "Open the browser in the page instead, with mode embedded.",
    },
    ErrorDoc {
        code: "PREPARE_FAILED",
        status: 200,
        title: "Not fetched",
        meaning: "What was to be fetched did not arrive whole, or could not be unpacked; nothing of it was kept.",
        advice: "Look at the network and try again, or install Chromium yourself.",
    },
    ErrorDoc {
        code: "LAUNCH_FAILED",
        status: 200,
        title: "Not started",
        meaning: "Chromium was found and did not become a browser: it could not be started, it ended, or it was not ready within 20 seconds; with details.reason sandbox its own sandbox does not work for the user of this server.",
        advice: "Start that Chromium by hand and read what it says. Run the server as another user than root; only in a container that is a wall itself set GUILDHALL_BROWSER_NO_SANDBOX to 1.",
    },
    ErrorDoc {
        code: "BROWSER_CRASHED",
        status: 200,
        title: "The browser ended",
        meaning: "The browser ended by itself, or answered nothing for 10 seconds. Its tabs are gone and a share has ended; cookies and sign-ins are kept.",
        advice: "Open it again.",
    },
];

#[cfg(test)]
mod tests {
    use guildhall_domain::browser::{BrowserFailure, LaunchFault};

    use super::*;
    use crate::error_catalogue;

    #[test]
    fn each_fault_of_the_browser_is_explained_once_and_is_no_refusal() {
        let not_installed = BrowserFailure::NotInstalled {
            searched: Vec::new(),
            can_download: false,
        };
        let launch_failed = BrowserFailure::LaunchFailed(LaunchFault::Sandbox);
        let failures = [
            not_installed,
            BrowserFailure::NoDisplay,
            BrowserFailure::PrepareFailed,
            launch_failed,
            BrowserFailure::Crashed,
        ];
        let explained: Vec<&str> = ALL.iter().map(|doc| doc.code).collect();
        assert_eq!(explained, failures.map(|failure| failure.code()));
        for doc in ALL {
            assert!(
                error_catalogue::ALL
                    .iter()
                    .all(|refusal| refusal.code != doc.code)
            );
            assert!(doc.meaning.ends_with('.') && doc.advice.ends_with('.'));
        }
    }
}
