//! A folder and a link that leads out change places all the time, while routes read, list, save
//! and serve what lies behind the name. Source: contract 6.10, row 1.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use guildhall_testkit::TestHall;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

/// How often each route is asked.
const ROUNDS: usize = 150;
const FILES: [&str; 4] = ["file", "file.png", "list.md", "saved"];

/// Two names that change places until this is dropped.
struct PathSwapper {
    is_over: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    swapping: Option<JoinHandle<()>>,
}

impl PathSwapper {
    fn of(one: PathBuf, other: PathBuf) -> Self {
        let (is_over, swaps) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (ends, count) = (Arc::clone(&is_over), Arc::clone(&swaps));
        let swapping = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self {
            is_over,
            swaps,
            swapping: Some(swapping),
        }
    }

    /// Ends it; answers how often they changed places.
    fn end(mut self) -> u64 {
        self.stop();
        self.swaps.load(Ordering::Relaxed)
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(swapping) = self.swapping.take() {
            swapping.join().unwrap();
        }
    }
}

impl Drop for PathSwapper {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Every file of a folder with what it holds.
fn held(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[tokio::test]
async fn no_route_touches_what_lies_outside_while_names_change_places() {
    let t = TestHall::open().await;
    let work = t.home().join("race");
    let (inside, away, out) = (
        work.join("inside"),
        work.join("away"),
        t.scratch().join("out"),
    );
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir(&out).unwrap();
    for name in FILES {
        fs::write(inside.join(name), "- [ ] inside").unwrap();
        fs::write(out.join(name), "- [ ] OUTSIDE").unwrap();
    }
    fs::write(out.join("CANARY"), "OUTSIDE").unwrap();
    symlink("../../../out", &away).unwrap();
    assert_eq!(fs::read_to_string(away.join("CANARY")).unwrap(), "OUTSIDE");
    let before = held(&out);

    let owner = t.owner();
    let cwd = work.to_str().unwrap();
    let sign = |cwd: &str| json!({"kind": "serve", "cwd": cwd});
    let signed = owner.post("/api/workbench/sign", sign(cwd)).await.ok(200);
    let (_, served) = signed["url"].as_str().unwrap().split_once("/api/").unwrap();
    let race = PathSwapper::of(inside.clone(), away.clone());
    let mut outcomes: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for round in 0..ROUNDS {
        let get = async |path: String| owner.get(&path).await;
        let query = format!("cwd={cwd}&path=inside");
        let save = json!({"cwd": cwd, "path": "inside/saved", "content": format!("{round}")});
        let check = json!({"cwd": cwd, "path": "inside/list.md", "line": 1,
            "expectedLine": "- [ ] inside", "checked": false});
        let folder = format!("{cwd}/inside");
        for (what, answer) in [
            (
                "read",
                get(format!("/api/files/content?{query}/file")).await,
            ),
            (
                "show",
                get(format!("/api/files/raw?{query}/file.png")).await,
            ),
            ("tree", get(format!("/api/files/tree?{query}")).await),
            ("list", get(format!("/api/directory?path={folder}")).await),
            ("save", owner.put("/api/files/content", save).await),
            ("check", owner.post("/api/files/checkbox", check).await),
            ("serve", get(format!("/api/{served}inside/file")).await),
            (
                "sign",
                owner.post("/api/workbench/sign", sign(&folder)).await,
            ),
        ] {
            let text = answer.text();
            let tells = ["OUTSIDE", "CANARY"].iter().any(|word| {
                // A refusal is called so.
                text.replace("OUTSIDE_BOUNDARY", "").contains(word)
            });
            assert!(!tells, "{what}: {text}");
            // A save looks twice, and may find another file, or none, the second time.
            let may: &[u16] = match what {
                "save" | "check" => &[200, 403, 412],
                _ => &[200, 403],
            };
            assert!(may.contains(&answer.status), "{what}: {text}");
            outcomes.entry(what).or_default()[usize::from(answer.status == 200)] += 1;
        }
    }
    // The race took place: each route met both, again and again.
    assert!(race.end() > 1_000);
    for (what, counts) in outcomes {
        assert!(counts.iter().all(|count| *count > 5), "{what}: {counts:?}");
    }
    assert_eq!(held(&out), before);
    let inside = match fs::symlink_metadata(&inside).unwrap().is_dir() {
        true => inside,
        false => away,
    };
    assert!(held(&inside).keys().eq(FILES));
}
