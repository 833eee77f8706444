//! Command files on disk: which there are, and what they say. Source: contract 3.9.
//! What their text means is `domain::commands`.

use std::{
    collections::HashSet,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use guildhall_domain::{
    commands::{CommandFile, CommandListing, CommandWarning, SlashCommand, merged},
    limits,
};
use serde_json::Value;

use crate::{
    confined_fs::{DirEntry, DirEntryKind, contained_folder::ContainedFolder},
    yaml::{self, YamlLimits},
};

/// How a folder of commands is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandFolderLayout {
    /// `**/*.md`; folders are the namespace.
    Commands,
    /// `*/SKILL.md`; the folder is the name.
    Skills,
}

/// The folders of a project that hold commands; the first wins. Source: contract 3.9.
const OF_PROJECT: [(&str, CommandFolderLayout); 3] = [
    (".claude/commands", CommandFolderLayout::Commands),
    (".agents/skills", CommandFolderLayout::Skills),
    (".claude/skills", CommandFolderLayout::Skills),
];
/// The folders of a user that hold commands; the first wins.
const OF_USER: [(&str, CommandFolderLayout); 2] = [
    (".claude/commands", CommandFolderLayout::Commands),
    (".claude/skills", CommandFolderLayout::Skills),
];

/// A look at the folders of a project, a user, or both.
#[derive(Clone, Debug)]
pub struct CommandScan<'a> {
    /// The working folder, without links.
    pub cwd: Option<&'a Path>,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// What is never looked into.
    pub shunned: &'a Path,
}

/// What a look found.
#[derive(Clone, Debug, Default)]
pub struct CommandScanResult {
    /// The commands and what is wrong with them.
    pub listing: CommandListing,
    /// Whose changes change the listing.
    pub watched: WatchedPaths,
}

/// The places whose changes change a listing, without links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedPaths {
    /// Folders in which everything counts.
    pub folders: HashSet<PathBuf>,
    /// The way to them, there or not: of what surrounds these nothing else counts.
    pub ways: HashSet<PathBuf>,
}

impl WatchedPaths {
    /// The folders to be watched for it.
    pub fn to_watch(&self) -> HashSet<&Path> {
        let around = self.ways.iter().filter_map(|way| way.parent());
        let around = around.filter(|folder| folder.is_dir());
        around
            .chain(self.folders.iter().map(PathBuf::as_path))
            .collect()
    }

    fn join(&mut self, other: Self) {
        self.folders.extend(other.folders);
        self.ways.extend(other.ways);
    }

    /// Whether something that happened to `path` counts.
    pub fn holds(&self, path: &Path) -> bool {
        let is_in = |folder: &Path| self.folders.contains(folder);
        self.ways.contains(path) || is_in(path) || path.parent().is_some_and(is_in)
    }
}

/// The files of one root, while they are looked for.
struct RootSearch<'a> {
    root: &'a ContainedFolder,
    /// What stands before a path of this root when it is shown.
    prefix: &'static str,
    files: Vec<UnreadCommandFile>,
    /// Files of the folder that is searched now.
    count: usize,
    watched: WatchedPaths,
    warnings: Vec<CommandWarning>,
}

/// A command file that is not read yet.
struct UnreadCommandFile {
    command: SlashCommand,
    path: PathBuf,
}

impl CommandScan<'_> {
    /// Looks at every folder once. A folder that is not there is empty; links that lead out of the
    /// working folder or home are left out with a warning.
    ///
    /// Reads the disk, so it is no call for an async thread.
    pub fn run(&self) -> CommandScanResult {
        let mut scanned = CommandScanResult::default();
        let mut commands = Vec::new();
        let mut budget = FrontMatterBudget::new();
        self.search(|search| commands.extend(search.read(&mut scanned, &mut budget)));
        scanned.listing.commands = merged(commands);
        let warnings = &mut scanned.listing.warnings;
        warnings.sort_unstable_by(|a, b| a.file_path.cmp(&b.file_path));
        warnings.truncate(limits::COMMAND_WARNINGS_MAX);
        scanned
    }

    /// The places a look would depend on, without reading any file, so that they can be watched
    /// before it.
    pub fn watched(&self) -> WatchedPaths {
        let mut watched = WatchedPaths::default();
        self.search(|search| watched.join(search.watched));
        watched
    }

    fn search(&self, mut found: impl FnMut(RootSearch<'_>)) {
        let roots = [
            (self.cwd, "", &OF_PROJECT[..]),
            (self.home, "~/", &OF_USER[..]),
        ];
        for (root, prefix, sources) in roots {
            let Some(root) = root.and_then(|root| ContainedFolder::open(root).ok()) else {
                continue;
            };
            let Ok(root) = root.excluding(self.shunned) else {
                continue;
            };
            let mut search = RootSearch::new(&root, prefix);
            for (folder, layout) in sources {
                search.look(Path::new(folder), *layout);
            }
            found(search);
        }
    }
}

impl<'a> RootSearch<'a> {
    fn new(root: &'a ContainedFolder, prefix: &'static str) -> Self {
        Self {
            root,
            prefix,
            files: Vec::new(),
            count: 0,
            watched: WatchedPaths::default(),
            warnings: Vec::new(),
        }
    }

    /// Finds the files of one source; each source has its own bound.
    fn look(&mut self, source: &Path, layout: CommandFolderLayout) {
        self.count = 0;
        self.watch_way_to(source);
        let mut waiting = vec![(source.to_owned(), String::new(), 0)];
        while let Some((folder, namespace, depth)) = waiting.pop() {
            let mut entries = self.entries(&folder, depth == 0);
            entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            for DirEntry { name, kind } in entries {
                if name.starts_with('.') {
                    continue;
                }
                let path = folder.join(&name);
                let Some(kind) = self.resolve(&path, kind) else {
                    continue;
                };
                let is_file = match (layout, kind, depth) {
                    (CommandFolderLayout::Commands, DirEntryKind::Folder, _)
                        if depth < limits::COMMAND_DEPTH_MAX =>
                    {
                        let namespace = match namespace.as_str() {
                            "" => name.clone(),
                            outer => format!("{outer}:{name}"),
                        };
                        waiting.push((path.clone(), namespace, depth + 1));
                        false
                    }
                    (CommandFolderLayout::Skills, DirEntryKind::Folder, 0) => {
                        waiting.push((path.clone(), name.clone(), 1));
                        false
                    }
                    (CommandFolderLayout::Commands, DirEntryKind::File, _) => name.ends_with(".md"),
                    (CommandFolderLayout::Skills, DirEntryKind::File, 1) => name == "SKILL.md",
                    (
                        _,
                        DirEntryKind::Folder
                        | DirEntryKind::File
                        | DirEntryKind::Link
                        | DirEntryKind::Other,
                        _,
                    ) => false,
                };
                if is_file && !self.add(path, &name, &namespace, layout, source) {
                    return;
                }
            }
        }
    }

    /// Notes a command file; answers whether there may be more.
    fn add(
        &mut self,
        path: PathBuf,
        name: &str,
        namespace: &str,
        layout: CommandFolderLayout,
        source: &Path,
    ) -> bool {
        if self.count == limits::COMMAND_FILES_MAX {
            let most = limits::COMMAND_FILES_MAX;
            self.warn(
                source,
                format!("holds more than {most} files; the rest is left out"),
            );
            return false;
        }
        self.count += 1;
        let mut command = match layout {
            CommandFolderLayout::Commands => {
                SlashCommand::named(namespace, name.strip_suffix(".md").unwrap_or(name))
            }
            CommandFolderLayout::Skills => SlashCommand::named("", namespace),
        };
        command.file_path = self.shown(&path);
        self.files.push(UnreadCommandFile { command, path });
        true
    }

    /// What is in a folder; whether it is there at all is asked of the source itself alone.
    fn entries(&mut self, folder: &Path, may_be_missing: bool) -> Vec<DirEntry> {
        // Room for folders and files of other kinds between the ones that are looked for.
        let most = limits::COMMAND_FILES_MAX * 4;
        match self.root.list(folder, most) {
            Ok(entries) => {
                let folder = self.root.path().join(folder);
                self.watched.folders.insert(folder);
                entries
            }
            Err(error) if may_be_missing && is_missing(&error) => Vec::new(),
            Err(error) => {
                self.warn(folder, because(&error));
                Vec::new()
            }
        }
    }

    /// What an entry is, links followed while they stay inside.
    fn resolve(&mut self, path: &Path, kind: DirEntryKind) -> Option<DirEntryKind> {
        if kind != DirEntryKind::Link {
            return Some(kind);
        }
        match self.root.kind(path) {
            Ok(kind) => Some(kind),
            Err(error) => {
                self.warn(path, because(&error));
                None
            }
        }
    }

    fn watch_way_to(&mut self, source: &Path) {
        let way = source.ancestors().filter(|way| !way.as_os_str().is_empty());
        let way = way.map(|way| self.root.path().join(way));
        self.watched.ways.extend(way);
    }

    /// Reads every file that was found, by a few threads when there are many.
    fn read(
        mut self,
        scanned: &mut CommandScanResult,
        budget: &mut FrontMatterBudget,
    ) -> Vec<SlashCommand> {
        /// Files below which a thread more is not worth its start.
        const FILES_PER_THREAD: usize = 200;
        /// Threads at once.
        const THREADS_MAX: usize = 4;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads
            .min(THREADS_MAX)
            .min(self.files.len() / FILES_PER_THREAD)
            .max(1);
        let files = std::mem::take(&mut self.files);
        let share = files.len().div_ceil(threads).max(1);
        let root = self.root;
        let left = &budget.left;
        let read: Vec<_> = std::thread::scope(|scope| {
            let mut shares = files.chunks(share);
            let own = shares.next();
            let others: Vec<_> = shares
                .map(|share| scope.spawn(move || read_all(root, share, left)))
                .collect();
            let mut read = own.map(|own| read_all(root, own, left)).unwrap_or_default();
            for other in others {
                // A share whose thread broke is missing, as if its files could not be read.
                read.extend(other.join().unwrap_or_default());
            }
            read
        });
        let mut commands = Vec::with_capacity(read.len());
        for CommandFileResult {
            command,
            path,
            warning,
            is_beyond,
        } in read
        {
            commands.extend(command);
            if is_beyond && !std::mem::replace(&mut budget.is_warned, true) {
                self.warn(path, BEYOND);
            }
            if let Some(warning) = warning {
                self.warn(path, warning);
            }
        }
        scanned.watched.join(self.watched);
        scanned.listing.warnings.append(&mut self.warnings);
        commands
    }

    fn warn(&mut self, path: &Path, message: impl Into<String>) {
        self.warnings.push(CommandWarning {
            file_path: self.shown(path),
            message: message.into(),
        });
    }

    fn shown(&self, path: &Path) -> String {
        format!("{}{}", self.prefix, path.display())
    }
}

/// What came of reading one file.
struct CommandFileResult<'a> {
    command: Option<SlashCommand>,
    path: &'a Path,
    warning: Option<String>,
    /// Whether its front matter came when no more of them were read.
    is_beyond: bool,
}

/// How much front matter one scan still reads as YAML.
struct FrontMatterBudget {
    /// Bytes, shared by the threads that read; which files are beyond is theirs to settle.
    left: AtomicUsize,
    /// Whether a warning says already that some files are beyond.
    is_warned: bool,
}

impl FrontMatterBudget {
    fn new() -> Self {
        Self {
            left: AtomicUsize::new(limits::COMMANDS_FRONT_MATTER_BYTES_MAX),
            is_warned: false,
        }
    }
}

/// What is said of the first file whose front matter is beyond the budget of a scan.
const BEYOND: &str = "the front matter of all commands together is longer than 1 MiB; \
    this one and others are read as lines of key and value";

fn read_all<'a>(
    root: &ContainedFolder,
    places: &'a [UnreadCommandFile],
    left: &AtomicUsize,
) -> Vec<CommandFileResult<'a>> {
    places.iter().map(|place| read(root, place, left)).collect()
}

fn read<'a>(
    root: &ContainedFolder,
    place: &'a UnreadCommandFile,
    left: &AtomicUsize,
) -> CommandFileResult<'a> {
    let reading = |command, warning| CommandFileResult {
        command,
        path: &place.path,
        warning,
        is_beyond: false,
    };
    let text = match text(root, &place.path) {
        Ok(text) => text,
        Err(error) => return reading(None, Some(because(&error).to_owned())),
    };
    let file = CommandFile::parse(&text);
    let yaml = match file.front {
        Some(_) => {
            let text = file.yaml();
            if is_short(&text) && !spend(left, text.len()) {
                let command = file.describe(place.command.clone(), None);
                return CommandFileResult {
                    is_beyond: true,
                    ..reading(command, None)
                };
            }
            front_matter(&text)
        }
        None => Some(Value::Null),
    };
    let warning = yaml.is_none().then(|| {
        "the front matter is no plain YAML of at most 8 KiB; it is read as lines of key and value".to_owned()
    });
    reading(file.describe(place.command.clone(), yaml), warning)
}

fn front_matter(text: &str) -> Option<Value> {
    is_short(text).then(|| yaml::read(text.as_bytes(), YamlLimits::FrontMatter).ok())?
}

fn is_short(text: &str) -> bool {
    text.len() <= limits::COMMAND_FRONT_MATTER_BYTES_MAX
}

/// Takes these bytes from what is left, and answers whether they were there.
fn spend(left: &AtomicUsize, bytes: usize) -> bool {
    let rest = |left: usize| left.checked_sub(bytes);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest)
        .is_ok()
}

fn text(root: &ContainedFolder, path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut file = root.file(path)?.take(limits::COMMAND_FILE_BYTES_MAX + 1);
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::COMMAND_FILE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Why something was left out, in words that name no path.
fn because(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::CrossesDevices => "leads out of its folder and is left out",
        io::ErrorKind::NotFound => "leads nowhere and is left out",
        io::ErrorKind::PermissionDenied => "may not be read and is left out",
        io::ErrorKind::FileTooLarge => "is larger than 256 KiB and is left out",
        io::ErrorKind::InvalidData => "is no Unicode text and is left out",
        _ => "cannot be read and is left out",
    }
}

#[cfg(test)]
#[path = "command_files_tests.rs"]
mod tests;
