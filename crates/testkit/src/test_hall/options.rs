//! What a test may want different of its hall.

use std::time::Duration;

use guildhall_domain::{
    callers::AuthMode,
    limits,
    settings::{self, Setting, SettingSource},
};
use guildhall_hall::{retention::EventRetention, streams::StreamLimits};

/// What a test may want different.
#[derive(Clone, Copy, Debug)]
pub struct HallOptions {
    /// How people are told apart.
    pub mode: AuthMode,
    /// How long events are kept.
    pub retention: EventRetention,
    /// How many streams may be open.
    pub streams: StreamLimits,
    /// The settings that file, environment and flags name.
    pub configured: &'static [(&'static Setting, SettingSource, settings::SettingValue)],
    /// Whether the kernel is asked whose a connection is, instead of the script.
    pub asks_kernel: bool,
    /// How long a preview stays open that nobody looks at.
    pub preview_idle: Duration,
    /// How long a dev server may take to begin its answer.
    pub preview_head_wait: Duration,
    /// How long one half of a WebSocket through a preview outlives the other.
    pub preview_half_wait: Duration,
    /// The folder agents work beneath, which must be there; `None` for one of the test's own.
    pub root: Option<&'static str>,
}

impl Default for HallOptions {
    fn default() -> Self {
        Self {
            mode: AuthMode::Local,
            retention: EventRetention::default(),
            streams: StreamLimits::default(),
            configured: &[],
            asks_kernel: false,
            preview_idle: Duration::from_secs(limits::PREVIEW_IDLE_S),
            preview_head_wait: Duration::from_secs(limits::UPSTREAM_HEAD_MAX_S),
            preview_half_wait: Duration::from_secs(limits::PREVIEW_HALF_MAX_S),
            root: None,
        }
    }
}
