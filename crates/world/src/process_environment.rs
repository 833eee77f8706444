//! The environment of an agent's process: built from nothing, so that nothing leaks in.
//! Pure; what the provider's variables are is the runtime's profile to say.

use std::collections::BTreeMap;

/// The variable that holds the agent's own token.
pub const AGENT_TOKEN: &str = "GUILDHALL_AGENT_TOKEN";
/// The variable that holds the server's address.
pub const URL: &str = "GUILDHALL_URL";
/// Every variable of ours begins like this.
const OURS: &str = "GUILDHALL_";

/// Variables every program may have. Source: contract 3.3.2, 7.3.
const PASSED: [&str; 9] = [
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR",
];
/// Families of variables every program may have.
const PASSED_FAMILIES: [&str; 2] = ["LC_", "XDG_"];
/// Variables by which an agent finds its way out and knows whom to trust. The local browser has
/// none of them: a page that names us by another name must reach us from the browser itself, not
/// by a proxy of this computer that comes as somebody else.
const WAY_OUT: [&str; 15] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "FTP_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "ftp_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Whether every program may have the variable `name`.
fn is_everyones(name: &str) -> bool {
    let mut families = PASSED_FAMILIES.iter();
    PASSED.contains(&name) || families.any(|family| name.starts_with(family))
}

/// What an agent's environment is made of.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentSources<'a> {
    /// The server's own.
    pub server: &'a BTreeMap<String, String>,
    /// Names of variables the runtime's provider reads; a name that ends in `*` is a family.
    pub provider: &'a [String],
    /// What the runtime's profile sets; it wins over the server's.
    pub profile: &'a [(String, String)],
    /// The server's address.
    pub url: &'a str,
    /// The process token; `None` for a check of a runtime, which is nobody.
    pub token: Option<&'a str>,
}

/// The complete environment, ordered by name: what stands in the lists, and nothing else.
///
/// No variable of ours comes through but the two that are made here, whoever names it.
///
/// Source: contract 3.3.2, 3.12 (9).
pub fn of_agent(sources: EnvironmentSources<'_>) -> Vec<(String, String)> {
    let is_passed = |name: &str| {
        is_everyones(name)
            || WAY_OUT.contains(&name)
            || sources.provider.iter().any(|known| names(known, name))
    };
    let passed = sources
        .server
        .iter()
        .filter(|(name, _)| is_passed(name))
        .chain(sources.profile.iter().map(|(name, value)| (name, value)))
        .filter(|(name, _)| !name.starts_with(OURS));
    let mut made: BTreeMap<String, String> = passed
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    made.insert(URL.to_owned(), sources.url.to_owned());
    if let Some(token) = sources.token {
        made.insert(AGENT_TOKEN.to_owned(), token.to_owned());
    }
    made.into_iter().collect()
}

/// Variables the local browser has beside an agent's: where its window goes, and who speaks for
/// it to the person's desktop.
const BROWSERS: [&str; 4] = [
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Bytes of `TMPDIR` that Chromium can live with: it makes a socket in there, whose path has at most
/// 107, and 45 of them are its own. With a longer one it ends as it starts.
const BROWSER_TMPDIR_BYTES_MAX: usize = 62;

/// The complete environment of the local browser, ordered by name: nothing of ours, no keys.
///
/// Source: contract 7.3, "Environment".
pub fn of_browser(server: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let is_passed = |name: &str| is_everyones(name) || BROWSERS.contains(&name);
    let is_fit = |(name, value): &(&String, &String)| {
        *name != "TMPDIR" || value.len() <= BROWSER_TMPDIR_BYTES_MAX
    };
    let passed = server.iter().filter(|(name, _)| is_passed(name));
    passed
        .filter(is_fit)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn names(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(family) => !family.is_empty() && name.starts_with(family),
        None => known == name,
    }
}

/// This process's own environment, less what is not text.
pub fn of_server() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(server: &[(&str, &str)], provider: &[&str], profile: &[(&str, &str)]) -> Vec<String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let server = server.iter().map(own).collect();
        let provider: Vec<_> = provider.iter().map(|name| (*name).to_owned()).collect();
        let profile: Vec<_> = profile.iter().map(own).collect();
        of_agent(EnvironmentSources {
            server: &server,
            provider: &provider,
            profile: &profile,
            url: "http://127.0.0.1:1",
            token: Some("gha_x"),
        })
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .filter(|line| !line.starts_with("GUILDHALL_URL=http://127.0.0.1:1"))
        .filter(|line| line != "GUILDHALL_AGENT_TOKEN=gha_x")
        .collect()
    }

    #[test]
    fn only_what_is_listed_comes_through() {
        for name in PASSED.into_iter().chain(WAY_OUT) {
            assert_eq!(made(&[(name, "v")], &[], &[]), [format!("{name}=v")]);
        }
        for name in ["LC_ALL", "LC_TIME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            assert_eq!(made(&[(name, "v")], &[], &[]), [format!("{name}=v")]);
        }
        for name in [
            "IS_SANDBOX",
            "CLAUDECODE",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GUILDHALL_DATA_DIR",
            "GUILDHALL_API_KEY",
            "GUILDHALL_COOKIE",
            "GUILDHALL_METRICS_TOKEN",
            "PATHS",
            "LANGUAGE",
            "home",
        ] {
            assert!(made(&[(name, "v")], &[], &[]).is_empty(), "{name}");
        }
    }

    #[test]
    fn the_profile_names_what_its_provider_reads_and_sets_what_it_likes() {
        let server = [("OPENAI_API_KEY", "k"), ("OTHER", "o"), ("PATH", "/bin")];
        assert_eq!(
            made(&server, &["OPENAI_*"], &[("PATH", "/opt"), ("X", "1")]),
            ["OPENAI_API_KEY=k", "PATH=/opt", "X=1"]
        );
        assert_eq!(made(&server, &["OTHER"], &[]), ["OTHER=o", "PATH=/bin"]);
        assert_eq!(made(&server, &["*"], &[]), ["PATH=/bin"]);
    }

    #[test]
    fn no_variable_of_ours_comes_through_by_any_name() {
        let server = [
            ("GUILDHALL_API_KEY", "k"),
            ("GUILDHALL_AGENT_TOKEN", "stale"),
        ];
        let profile = [
            ("GUILDHALL_AGENT_TOKEN", "evil"),
            ("GUILDHALL_LOG", "debug"),
        ];
        assert!(made(&server, &["GUILDHALL_*", "GUILDHALL_API_KEY"], &profile).is_empty());
    }

    #[test]
    fn the_browser_gets_its_display_and_neither_key_nor_proxy() {
        let server = [
            ("DISPLAY", ":1"),
            ("GUILDHALL_API_KEY", "k"),
            ("HTTPS_PROXY", "http://127.0.0.1:3128"),
            ("HOME", "/home/ada"),
            ("LC_ALL", "C"),
            ("LD_PRELOAD", "x"),
            ("OPENAI_API_KEY", "k"),
            ("PATH", "/bin"),
            ("XDG_RUNTIME_DIR", "/run"),
            ("http_proxy", "http://127.0.0.1:3128"),
        ];
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let names: Vec<String> = of_browser(&server.map(own).into())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let expected = ["DISPLAY", "HOME", "LC_ALL", "PATH", "XDG_RUNTIME_DIR"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_temporary_folder_is_passed_on_while_a_socket_fits_into_it() {
        for (length, is_passed) in [(62, true), (63, false)] {
            let server = [("TMPDIR".to_owned(), "t".repeat(length))].into();
            assert_eq!(
                of_browser(&server).len(),
                usize::from(is_passed),
                "{length}"
            );
        }
    }
}
