//! Rule: names that were given up do not come back.
//!
//! They said what somebody did or a picture of it, and not what a module or a type holds. Only the
//! exact names of modules, files and types are refused, not words inside longer ones.

use super::Finding;
use super::rust_tokens;
use super::workspace_tree::WorkspaceTree;

const MODULES: &str = "\
    amid asked asking asks at_hand beneath book cinema considering deciding deeds desk ear \
    ear_tests ending filling film handing happenings heads hearing house joining judging \
    keeper kept launching leaving life living making minting moment moving noting \
    oauth_landing operating playing puppet puppets reaching refreshing reloading repeats sent \
    shown sight standing standing_tests sweep talk told twins typists wires";

const TYPES: &str = "\
    AgentLink Alarms AnsweredBody Apart Approach ApprovalsAsk Arriving Ask AskOption Asked \
    Asker Askers Asking Asks AuthorsAsk Axis Beginning Begun Beneath Cinema CommandsAsk \
    ConnectionSeen Counterpart Deed Desk Dice Differing Digesting Doing Doom Ear Elicited \
    Ended Ending EntriesAsk Eyes Fate FileNow Film FlowSeen Fold Granted Guest Handing \
    Happened Happening Happenings Heard HeldBack House Joining Judged Keeper KeeperCommand \
    Kept KeptClient KeptFlow KeptProcess KeptTab Landed Learned Leaving LeftOut Line LinkSeen \
    Listening Meant Mischief Moment Mood NoText NotDone Noted NowTrue OnDisk Parked Peek \
    PeerWord Place PlaceOf Places Plainly Played Posed Presses Probed ProviderSeen Puppet Put \
    Reaching RoomSeen RoomsAsk Rx Said Says Seat Seats ServerSaid Shown Sight Skim Spoken \
    Standing StreamAsk Talk TellEnd Thing Things ThreadAsk ThreadSeen Told ToldPage Trouble \
    Turnback TurnsAsk Twin UsageAsk ViewerHears ViewerSays Waited Wanted Went Whole Wish \
    Wished Woken";

/// What introduces the name of a type.
const INTRODUCTIONS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// Finds modules and types that have such a name.
pub(super) fn check(tree: &WorkspaceTree) -> Vec<Finding> {
    let sources = tree.files.iter().filter(|(path, _)| path.ends_with(".rs"));
    sources
        .flat_map(|(path, text)| {
            let file = path
                .rsplit('/')
                .next()
                .and_then(|name| name.strip_suffix(".rs"));
            let file = file.filter(|name| is_in(MODULES, name));
            let file = file.map(|name| Finding::of_file(path, sentence(name)));
            file.into_iter().chain(declared(path, text))
        })
        .collect()
}

/// Modules and types that are declared in a file.
fn declared(path: &str, text: &str) -> Vec<Finding> {
    let code = rust_tokens::code_only(text);
    let tokens = rust_tokens::tokens(&code);
    let pairs = tokens.windows(2);
    pairs
        .filter(|pair| {
            let (before, name) = (pair[0].text, pair[1].text);
            (before == "mod" && is_in(MODULES, name))
                || (INTRODUCTIONS.contains(&before) && is_in(TYPES, name))
        })
        .map(|pair| Finding::of_line(path, pair[1].line, sentence(pair[1].text)))
        .collect()
}

fn is_in(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|one| one == name)
}

fn sentence(name: &str) -> String {
    format!("`{name}` was given up: name it after what it holds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retired_name_is_caught_where_it_is_declared() {
        let tree = WorkspaceTree::of(&[
            ("crates/hall/src/told.rs", "pub struct EventPayload;\n"),
            (
                "crates/hall/src/rooms.rs",
                "//! Rooms.\nmod told {}\nenum Deed {}\n",
            ),
        ]);
        let places: Vec<_> = check(&tree)
            .into_iter()
            .map(|finding| finding.place)
            .collect();
        assert_eq!(
            places,
            [
                "crates/hall/src/rooms.rs:2",
                "crates/hall/src/rooms.rs:3",
                "crates/hall/src/told.rs"
            ]
        );
    }

    #[test]
    fn words_inside_names_and_names_of_others_are_fine() {
        let text = "//! Told.\nuse other::Told;\nstruct ToldTwice;\nfn told(told: Told) {}\n";
        assert_eq!(
            check(&WorkspaceTree::of(&[("crates/hall/src/untold.rs", text)])),
            []
        );
    }
}
