//! Framing: what an agent is told beside the post it answers.
//! The post's own text is handed over byte-exact as the message; this stands beside it.

use std::fmt::Write;

/// What a turn's agent is told about where it is.
#[derive(Clone, Debug, Default)]
pub struct TurnPrompt {
    /// What the agent is called here.
    pub own_name: String,
    /// The room's title.
    pub room: String,
    /// Whether it is a direct message.
    pub is_direct: bool,
    /// What the room is for; may be `""`.
    pub topic: String,
    /// Who belongs to it, the agent aside.
    pub members: Vec<PromptMember>,
    /// The entry whose thread the posts lie in.
    pub thread_root: Option<PromptEntry>,
    /// What the agent has not seen, oldest first.
    pub unseen: Vec<PromptEntry>,
    /// How many older entries it has not seen either.
    pub left_out: u64,
    /// The posts it answers before the last one, oldest first.
    pub earlier: Vec<PromptEntry>,
    /// The last post it answers, whose text is the message itself.
    pub last: PromptEntry,
}

/// One member, for show.
#[derive(Clone, Debug, Default)]
pub struct PromptMember {
    /// Its name, with its handle if it has one.
    pub name: String,
    /// Whether it is an agent.
    pub is_agent: bool,
}

/// One entry, for show.
#[derive(Clone, Debug, Default)]
pub struct PromptEntry {
    /// Its place in the room.
    pub seq: u64,
    /// Who wrote it.
    pub author: String,
    /// What it says.
    pub text: String,
    /// The seq of the entry it answers in a thread.
    pub in_thread: bool,
    /// The names of the files posted with it.
    pub files: Vec<String>,
}

impl PromptEntry {
    fn write(&self, to: &mut String) {
        let thread = if self.in_thread { " (in a thread)" } else { "" };
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(to, "[{}] {}{thread}:", self.seq, self.author);
        for line in self.text.lines() {
            let _ = writeln!(to, "  {line}");
        }
        self.write_files(to);
    }

    fn write_files(&self, to: &mut String) {
        if !self.files.is_empty() {
            let _ = writeln!(to, "  (files: {})", self.files.join(", "));
        }
    }
}

/// Writes the frame as text.
///
/// Every line of an entry is indented, so that none can be taken for a line of the frame.
///
/// Source: contract 2.6, step 6.
pub fn render(frame: &TurnPrompt) -> String {
    let mut text = String::new();
    let place = if frame.is_direct {
        "the direct message"
    } else {
        "the room"
    };
    let _ = writeln!(
        text,
        "You are {} in {place} \"{}\" of guildhall, where people and coding agents write to each other.",
        frame.own_name, frame.room
    );
    if !frame.topic.is_empty() {
        let _ = writeln!(text, "What it is for: {}", frame.topic);
    }
    let who = frame.members.iter().map(|member| {
        let kind = if member.is_agent { "agent" } else { "person" };
        format!("{} ({kind})", member.name)
    });
    let _ = writeln!(
        text,
        "Who else is here: {}.",
        who.collect::<Vec<_>>().join(", ")
    );
    text.push_str(
        "Your whole answer is posted there as it is; an empty answer posts nothing. \
         Writing @ and a handle calls that member.\n",
    );
    if let Some(root) = &frame.thread_root {
        text.push_str("\nThe thread you answer in began with:\n");
        root.write(&mut text);
    }
    if !frame.unseen.is_empty() || frame.left_out > 0 {
        text.push_str("\nWritten since you last read, oldest first:\n");
        if frame.left_out > 0 {
            let _ = writeln!(text, "({} older entries are left out)", frame.left_out);
        }
        for line in &frame.unseen {
            line.write(&mut text);
        }
    }
    if !frame.earlier.is_empty() {
        text.push_str("\nWritten to you just before the message, and to be answered with it:\n");
        for line in &frame.earlier {
            line.write(&mut text);
        }
    }
    let _ = writeln!(
        text,
        "\nThe message is entry [{}], written by {}.",
        frame.last.seq, frame.last.author
    );
    frame.last.write_files(&mut text);
    text
}
