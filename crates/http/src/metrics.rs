//! Metrics: what the house counts, as Prometheus text.
//! Each server has its own recorder, so that several may live in one process;
//! labels hold methods and status classes, never ids, names or paths.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};

/// The media type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the request durations that are told apart, in seconds.
const DURATION_BUCKETS_S: [f64; 11] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0,
];

/// Methods that get a label of their own.
const METHODS: [(Method, &str); 6] = [
    (Method::GET, "GET"),
    (Method::HEAD, "HEAD"),
    (Method::POST, "POST"),
    (Method::PUT, "PUT"),
    (Method::PATCH, "PATCH"),
    (Method::DELETE, "DELETE"),
];
const OTHER_METHODS: &str = "other";
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// What is counted elsewhere and read at the moment of rendering.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampledCounts {
    /// Streams open now.
    pub streams_open: u64,
    /// Events written to the log since start.
    pub events: u64,
    /// Transactions committed since start.
    pub commits: u64,
}

/// The counters of one server.
pub struct Metrics {
    text: PrometheusHandle,
    requests: Vec<[Counter; CLASSES.len()]>,
    durations: Histogram,
    connections_open: Gauge,
    streams_open: Gauge,
    events: Counter,
    commits: Counter,
    memory_bytes: Gauge,
    descriptors_open: Gauge,
}

impl Metrics {
    /// A set of counters at zero.
    ///
    /// # Errors
    /// [`BuildError`] when the recorder refuses the duration buckets.
    pub fn new() -> Result<Self, BuildError> {
        let recorder = PrometheusBuilder::new()
            .set_buckets(&DURATION_BUCKETS_S)?
            .build_recorder();
        let here = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        let gauge = |name: &'static str, help: &'static str| {
            recorder.describe_gauge(name.into(), None, help.into());
            recorder.register_gauge(&Key::from_static_name(name), &here)
        };
        let counter = |name: &'static str, help: &'static str| {
            recorder.describe_counter(name.into(), None, help.into());
            recorder.register_counter(&Key::from_static_name(name), &here)
        };
        let requests = |method: &'static str| {
            CLASSES.map(|class| {
                let labels = vec![Label::new("class", class), Label::new("method", method)];
                recorder.register_counter(&Key::from_parts(REQUESTS, labels), &here)
            })
        };
        recorder.describe_counter(REQUESTS.into(), None, "Requests answered.".into());
        recorder.describe_histogram(
            DURATIONS.into(),
            None,
            "Seconds from a request's head to its answer's head.".into(),
        );
        let methods = METHODS.into_iter().map(|(_, label)| label);
        Ok(Self {
            requests: methods.chain([OTHER_METHODS]).map(requests).collect(),
            durations: recorder.register_histogram(&Key::from_static_name(DURATIONS), &here),
            connections_open: gauge("guildhall_connections_open", "Connections open now."),
            streams_open: gauge("guildhall_streams_open", "Event streams open now."),
            events: counter(
                "guildhall_events_total",
                "Events written to the log since start.",
            ),
            commits: counter(
                "guildhall_commits_total",
                "Transactions committed since start.",
            ),
            memory_bytes: gauge("process_resident_memory_bytes", "Memory in use, in bytes."),
            descriptors_open: gauge("process_open_fds", "File descriptors in use."),
            text: recorder.handle(),
        })
    }

    /// Counts one answered request.
    pub fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        let by_method = METHODS
            .iter()
            .position(|(known, _)| known == method)
            .unwrap_or(METHODS.len());
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        let counter = self
            .requests
            .get(by_method)
            .and_then(|classes| classes.get(class));
        if let Some(counter) = counter {
            counter.increment(1);
        }
        self.durations.record(took.as_secs_f64());
    }

    /// Says how many connections are open.
    pub fn connections(&self, open: usize) {
        self.connections_open.set(as_gauge(open as u64));
    }

    /// Folds recorded durations into their buckets, so that memory stays bounded when
    /// nobody reads the metrics; the listener does it every few seconds.
    pub fn run_upkeep(&self) {
        self.text.run_upkeep();
    }

    /// Everything as Prometheus text 0.0.4.
    pub fn render(&self, counts: SampledCounts) -> String {
        self.streams_open.set(as_gauge(counts.streams_open));
        self.events.absolute(counts.events);
        self.commits.absolute(counts.commits);
        // Where there is no /proc the two gauges stay at 0.
        if let Some(bytes) = process::memory_bytes() {
            self.memory_bytes.set(as_gauge(bytes));
        }
        if let Some(open) = process::descriptors_open() {
            self.descriptors_open.set(as_gauge(open));
        }
        self.text.render()
    }
}

const REQUESTS: &str = "guildhall_requests_total";
const DURATIONS: &str = "guildhall_request_duration_seconds";

/// Gauges are floating point; above 2^53 the last digits are lost, which no count here reaches.
fn as_gauge(count: u64) -> f64 {
    count as f64
}

/// What the kernel counts for this process.
mod process {
    pub(super) fn memory_bytes() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1_024)
    }

    pub(super) fn descriptors_open() -> Option<u64> {
        let open = std::fs::read_dir("/proc/self/fd").ok()?.count();
        u64::try_from(open).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, series: &str) -> f64 {
        text.lines()
            .find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
            .unwrap_or_else(|| panic!("{series} is missing in\n{text}"))
    }

    #[test]
    fn requests_are_counted_by_method_and_class_alone() {
        let metrics = Metrics::new().unwrap();
        let took = Duration::from_millis(2);
        metrics.answered(&Method::GET, StatusCode::OK, took);
        metrics.answered(&Method::GET, StatusCode::NO_CONTENT, took);
        metrics.answered(&Method::POST, StatusCode::FORBIDDEN, took);
        let odd = Method::from_bytes(b"BREW").unwrap();
        metrics.answered(&odd, StatusCode::METHOD_NOT_ALLOWED, took);
        let text = metrics.render(SampledCounts::default());
        for (labels, count) in [
            ("class=\"2xx\",method=\"GET\"", 2.0),
            ("class=\"4xx\",method=\"POST\"", 1.0),
            ("class=\"4xx\",method=\"other\"", 1.0),
        ] {
            assert_eq!(
                value(&text, &format!("guildhall_requests_total{{{labels}}}")),
                count
            );
        }
        assert!(!text.contains("BREW"));
        assert_eq!(
            value(&text, "guildhall_request_duration_seconds_count"),
            4.0
        );
        assert_eq!(
            value(
                &text,
                "guildhall_request_duration_seconds_bucket{le=\"0.001\"}"
            ),
            0.0
        );
        assert_eq!(
            value(
                &text,
                "guildhall_request_duration_seconds_bucket{le=\"0.0025\"}"
            ),
            4.0
        );
    }

    #[test]
    fn counts_of_the_house_are_read_when_rendered() {
        let metrics = Metrics::new().unwrap();
        metrics.connections(3);
        let text = metrics.render(SampledCounts {
            streams_open: 2,
            events: 40,
            commits: 30,
        });
        assert_eq!(value(&text, "guildhall_connections_open"), 3.0);
        assert_eq!(value(&text, "guildhall_streams_open"), 2.0);
        assert_eq!(value(&text, "guildhall_events_total"), 40.0);
        assert_eq!(value(&text, "guildhall_commits_total"), 30.0);
        if cfg!(target_os = "linux") {
            assert!(value(&text, "process_resident_memory_bytes") > 0.0);
            assert!(value(&text, "process_open_fds") > 2.0);
        }
    }

    #[test]
    fn two_servers_in_one_process_count_apart() {
        let (one, two) = (Metrics::new().unwrap(), Metrics::new().unwrap());
        one.answered(&Method::GET, StatusCode::OK, Duration::ZERO);
        let series = "guildhall_requests_total{class=\"2xx\",method=\"GET\"}";
        assert_eq!(value(&one.render(SampledCounts::default()), series), 1.0);
        assert_eq!(value(&two.render(SampledCounts::default()), series), 0.0);
    }
}
