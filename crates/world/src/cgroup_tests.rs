//! Control groups: where they lie, and what is killed with them.

use super::*;

#[test]
fn the_folder_of_a_group_lies_below_the_mount() {
    let mounts = "30 23 0:26 / /sys rw - sysfs sysfs rw\n\
        31 30 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    let inner = "31 30 0:27 /user.slice /run/cgroup rw - cgroup2 cgroup2 rw\n";
    for (group, mounts, folder_) in [
        ("0::/\n", mounts, Some("/sys/fs/cgroup")),
        ("4:memory:/a\n0::/b/c\n", mounts, Some("/sys/fs/cgroup/b/c")),
        ("0::/user.slice/d\n", inner, Some("/run/cgroup/d")),
        ("0::/system.slice\n", inner, None),
        ("4:memory:/a\n", mounts, None),
        ("0::/b\n", "30 23 0:26 / /sys rw - sysfs sysfs rw\n", None),
    ] {
        let found = folder(group, mounts);
        assert_eq!(found.as_deref(), folder_.map(Path::new), "{group}");
    }
}

/// Says nothing where no group can be made, as below a plain login; there processes are ended
/// by their group and mark alone.
#[test]
fn whoever_has_left_every_tree_is_killed_with_its_group() {
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    // It waits for the group before it starts what leaves the tree, the process group and the
    // environment.
    let script = "read begin; env -i setsid sh -c 'echo $$; exec sleep 600' & exit";
    let mut parent = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let group = GuardCgroup::create_with(parent.id());
    drop(parent.stdin.take());
    let mut pid = String::new();
    let mut lines = BufReader::new(parent.stdout.take().unwrap());
    lines.read_line(&mut pid).unwrap();
    parent.wait().unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let lives = || rustix::process::test_kill_process(pid).is_ok();
    let Some(group) = group else {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        return;
    };
    assert!(group.is_populated() && lives());
    group.kill().unwrap();
    // Its output closes when it ends.
    assert_eq!(lines.read_line(&mut String::new()).unwrap(), 0);
    while group.is_populated() {
        std::thread::yield_now();
    }
}
