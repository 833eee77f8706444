//! Which of flags, environment, file and defaults counts, and what the file may hold.

use super::*;

fn join(args: &ServeArgs, file: &str) -> Result<Config, ConfigError> {
    join_where(true, args, file)
}

fn join_where(is_peer_known: bool, args: &ServeArgs, file: &str) -> Result<Config, ConfigError> {
    let file = toml::from_str(file).unwrap();
    Config::join(args, file, PathBuf::from("/data"), is_peer_known)
}

#[test]
fn what_agents_keep_is_read_where_the_configuration_sends_them() {
    let file = "[runtimes.claude-code.env]\nCLAUDE_CONFIG_DIR = \"/c\"\n\
                [runtimes.codex.env]\nCODEX_HOME = \"/x\"";
    let places = join(&ServeArgs::default(), file).unwrap().places;
    assert_eq!(places.claude_dir, Some(PathBuf::from("/c")));
    assert_eq!(places.codex_dir, Some(PathBuf::from("/x")));
}

#[test]
fn flags_come_before_the_file_and_the_file_before_defaults() {
    let plain = join(&ServeArgs::default(), "").unwrap();
    assert_eq!(plain.bind.to_string(), "127.0.0.1:4747");
    let filed =
        "[server]\nbind = \"127.0.0.1:1\"\nallowedHosts = [\"dev.test\"]\n[limits]\nstreamsMax = 7";
    let from_file = join(&ServeArgs::default(), filed).unwrap();
    assert_eq!(from_file.bind.port(), 1);
    assert_eq!(
        hosts(&from_file),
        (SettingSource::File, vec!["dev.test".to_owned()])
    );
    assert_eq!(from_file.streams.all, 7);
    let args = ServeArgs {
        bind: Some(([127, 0, 0, 1], 2).into()),
        allowed_hosts: Some(vec!["env.test".to_owned()]),
        ..ServeArgs::default()
    };
    let from_args = join(&args, filed).unwrap();
    assert_eq!(from_args.bind.port(), 2);
    let env = vec!["env.test".to_owned()];
    assert_eq!(hosts(&from_args), (SettingSource::Env, env.clone()));
    let flagged = ServeArgs {
        flags: vec!["allowed_hosts".to_owned()],
        ..args
    };
    assert_eq!(
        hosts(&join(&flagged, filed).unwrap()),
        (SettingSource::Flag, env)
    );
}

/// The one setting that was configured.
fn hosts(config: &Config) -> (SettingSource, Vec<String>) {
    let [(setting, source, value)] = config.configured.as_slice() else {
        panic!("one setting: {:?}", config.configured);
    };
    assert_eq!(setting.key, "server.allowedHosts");
    (*source, value.texts().to_vec())
}

#[test]
fn a_file_sets_settings_of_its_own_form_only() {
    let filed = |file: &str| join(&ServeArgs::default(), file).map(|config| config.configured);
    let depth = filed("[rooms]\nmaxAgentDepth = 5").unwrap();
    assert_eq!(
        depth,
        vec![(
            &settings::MAX_AGENT_DEPTH,
            SettingSource::File,
            SettingValue::Number(5)
        )]
    );
    for wrong in [
        "[rooms]\nmaxAgentDepth = 500",
        "[rooms]\nmaxAgentDepth = \"5\"",
        "[rooms]\nunknown = 1",
        "[files]\nroots = [1]",
    ] {
        assert!(
            matches!(filed(wrong), Err(ConfigError::Setting { .. })),
            "{wrong}"
        );
    }
}

#[test]
fn no_other_computer_is_let_in_without_accounts() {
    for address in ["0.0.0.0:4747", "192.168.0.2:1", "[::]:4747"] {
        let args = ServeArgs {
            bind: Some(address.parse().unwrap()),
            ..ServeArgs::default()
        };
        assert!(
            matches!(join(&args, ""), Err(ConfigError::NotLoopback(_))),
            "{address}"
        );
    }
    for address in ["127.0.0.2:4747", "[::1]:4747"] {
        let args = ServeArgs {
            bind: Some(address.parse().unwrap()),
            ..ServeArgs::default()
        };
        assert!(join(&args, "").is_ok(), "{address}");
    }
}

#[test]
fn with_accounts_any_address_may_be_listened_on() {
    let filed = "[auth]\nmode = \"login\"\n[server]\nbind = \"192.168.0.2:1\"";
    let config = join(&ServeArgs::default(), filed).unwrap();
    assert_eq!((config.mode, config.bind.port()), (AuthMode::Login, 1));
    let args = ServeArgs {
        auth: Some(AuthArg::Local),
        ..ServeArgs::default()
    };
    let refused = join(&args, filed);
    assert!(matches!(refused, Err(ConfigError::NotLoopback(_))));
    let plain = join(&ServeArgs::default(), "").unwrap();
    assert_eq!(plain.mode, AuthMode::Local);
}

#[test]
fn where_connections_cannot_be_told_apart_people_sign_in_unless_somebody_chose_otherwise() {
    let none = ServeArgs::default();
    let local = ServeArgs {
        auth: Some(AuthArg::Local),
        ..ServeArgs::default()
    };
    let filed = "[auth]\nmode = \"local\"";
    for (is_peer_known, args, file, expected) in [
        (true, &none, "", AuthMode::Local),
        (false, &none, "", AuthMode::Login),
        (false, &none, filed, AuthMode::Local),
        (false, &local, "", AuthMode::Local),
    ] {
        let config = join_where(is_peer_known, args, file).unwrap();
        assert_eq!(config.mode, expected, "{is_peer_known} {file:?}");
    }
}

#[test]
fn the_ports_of_previews_are_configured_like_other_settings() {
    let ports = |args: &ServeArgs, file: &str| {
        let [(setting, source, value)] = join(args, file)?.configured.try_into().unwrap();
        assert_eq!(setting.key, "workbench.previewPorts");
        Ok::<_, ConfigError>((source, value.text().to_owned()))
    };
    let filed = "[workbench]\npreviewPorts = \"5000-5010\"";
    let from_file = ports(&ServeArgs::default(), filed).unwrap();
    assert_eq!(from_file, (SettingSource::File, "5000-5010".to_owned()));
    let args = |text: &str| ServeArgs {
        preview_ports: Some(text.to_owned()),
        ..ServeArgs::default()
    };
    let from_env = ports(&args("6000-6001"), filed).unwrap();
    assert_eq!(from_env, (SettingSource::Env, "6000-6001".to_owned()));
    for wrong in ["6001-6000", "x", "1-1000"] {
        let refused = ports(&args(wrong), "");
        assert!(
            matches!(refused, Err(ConfigError::Setting { .. })),
            "{wrong}"
        );
    }
}

#[test]
fn the_browser_is_configured_by_settings_and_a_program() {
    let filed = "[browser]\nenabled = false\nexecutable = \"/c\"\n\
                 agentOrigins = [\"https://example.org\"]";
    let config = join(&ServeArgs::default(), filed).unwrap();
    assert_eq!(config.browser, Some(PathBuf::from("/c")));
    let origins = SettingValue::Texts(vec!["https://example.org".to_owned()]);
    let expected = [
        (
            &settings::BROWSER_AGENT_ORIGINS,
            SettingSource::File,
            origins,
        ),
        (
            &settings::BROWSER_ENABLED,
            SettingSource::File,
            SettingValue::Flag(false),
        ),
    ];
    assert_eq!(config.configured, expected);
    let wrong = "[browser]\nagentOrigins = [\"https://example.org/path\"]";
    let refused = join(&ServeArgs::default(), wrong);
    assert!(matches!(refused, Err(ConfigError::Setting { .. })));
}

#[test]
fn an_unknown_key_is_named() {
    let error = toml::from_str::<ConfigFile>("[server]\nbindd = 1").unwrap_err();
    assert!(error.to_string().contains("bindd"));
}

/// What a key of the file may hold that is no setting of the page.
const SAMPLES: [(&str, &str); 6] = [
    ("server.bind", "\"127.0.0.1:0\""),
    ("server.reservedPorts", "\"61000-64999\""),
    ("auth.mode", "\"login\""),
    ("auth.peerCheck", "\"auto\""),
    ("browser.executable", "\"/c\""),
    ("metrics.token", "\"t\""),
];

/// The keys that the table of the README names for the file.
fn documented() -> Vec<String> {
    let readme = include_str!("../../../README.md");
    let head = "| Flag | Environment | File | Default |";
    let rows = readme.lines().skip_while(|line| *line != head).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let mut keys = Vec::new();
    for row in rows {
        let cell = row.split('|').nth(3).unwrap();
        let mut table = "";
        for key in cell.split('`').skip(1).step_by(2) {
            if let Some((named, _)) = key.split_once('.') {
                table = named;
                keys.push(key.to_owned());
            } else {
                keys.push(format!("{table}.{key}"));
            }
        }
    }
    keys
}

#[test]
fn every_documented_key_can_stand_in_the_file() {
    let mut keys = documented();
    assert!(keys.len() > 20, "{keys:?}");
    keys.extend(settings::ALL.iter().map(|setting| setting.key.to_owned()));
    for key in keys {
        let (table, name) = key.split_once('.').unwrap();
        let sample = SAMPLES.iter().find(|(known, _)| *known == key);
        let value = match (sample, settings::find(&key)) {
            (Some((_, sample)), _) => (*sample).to_owned(),
            (None, Some(setting)) => match setting.default() {
                SettingValue::Flag(flag) => flag.to_string(),
                SettingValue::Number(number) => number.to_string(),
                SettingValue::Text(text) => format!("\"{text}\""),
                SettingValue::Texts(texts) => format!("{texts:?}"),
            },
            (None, None) => "7".to_owned(),
        };
        let file = format!("[{table}]\n{name} = {value}");
        let file: ConfigFile =
            toml::from_str(&file).unwrap_or_else(|error| panic!("{key}: {error}"));
        let config = Config::join(&ServeArgs::default(), file, PathBuf::from("/data"), true);
        let config = config.unwrap_or_else(|error| panic!("{key}: {error}"));
        if settings::find(&key).is_some() {
            let [(setting, source, _)] = config.configured.as_slice() else {
                panic!("{key}: {:?}", config.configured);
            };
            assert_eq!((setting.key, *source), (key.as_str(), SettingSource::File));
        }
    }
}
