//! Changes of files as unified diffs: every changed line, with three unchanged ones around.

/// Unchanged lines around a change.
const AROUND: usize = 3;
/// Pairs of lines compared to find the shortest change; above it all old lines go and all new
/// ones come, which says the same in more lines.
const PAIRS_MAX: usize = 4_000_000;

/// One line of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffLine<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The change of the file `path` from `old`, `None` for a new file, to `new`; no lines when
/// nothing changes. The lines hold the files' text as it is.
pub(super) fn unified(path: &str, old: Option<&str>, new: &str) -> Vec<String> {
    let steps = steps(old.unwrap_or_default(), new);
    let from = if old.is_some() { path } else { "/dev/null" };
    let mut lines = vec![format!("--- {from}"), format!("+++ {path}")];
    let is_change = |step: &DiffLine<'_>| !matches!(step, DiffLine::Same(_));
    let mut at = 0;
    while let Some(change) = steps.iter().skip(at).position(is_change) {
        let start = (at + change).saturating_sub(AROUND).max(at);
        let mut end = at + change;
        // A hunk goes on as long as the next change is near.
        while let Some(next) = steps.iter().skip(end).position(is_change) {
            if next > 2 * AROUND {
                break;
            }
            end += next + 1;
        }
        let end = (end + AROUND).min(steps.len());
        hunk(&steps, start, end, &mut lines);
        at = end;
    }
    if at == 0 { Vec::new() } else { lines }
}

fn hunk(steps: &[DiffLine<'_>], start: usize, end: usize, lines: &mut Vec<String>) {
    let old = |step: &&DiffLine<'_>| !matches!(step, DiffLine::New(_));
    let new = |step: &&DiffLine<'_>| !matches!(step, DiffLine::Gone(_));
    let (before, within) = (&steps[..start], &steps[start..end]);
    let range = |first: usize, count: usize| match count {
        0 => format!("{first},0"),
        _ => format!("{},{count}", first + 1),
    };
    lines.push(format!(
        "@@ -{} +{} @@",
        range(
            before.iter().filter(old).count(),
            within.iter().filter(old).count()
        ),
        range(
            before.iter().filter(new).count(),
            within.iter().filter(new).count()
        ),
    ));
    for step in within {
        let (sign, line) = match step {
            DiffLine::Same(line) => (' ', line),
            DiffLine::Gone(line) => ('-', line),
            DiffLine::New(line) => ('+', line),
        };
        lines.push(format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
        if !line.ends_with('\n') {
            lines.push("\\ No newline at end of file".to_owned());
        }
    }
}

fn steps<'a>(old: &'a str, new: &'a str) -> Vec<DiffLine<'a>> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let equal = |(one, other): &(&&str, &&str)| one == other;
    let head = old.iter().zip(&new).take_while(equal).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let backwards = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = backwards.take_while(equal).count();
    let (old_middle, old_tail) = old_rest.split_at(old_rest.len() - tail);
    let (new_middle, _) = new_rest.split_at(new_rest.len() - tail);
    let mut steps: Vec<DiffLine<'a>> = old[..head].iter().copied().map(DiffLine::Same).collect();
    steps.extend(middle(old_middle, new_middle));
    steps.extend(old_tail.iter().copied().map(DiffLine::Same));
    steps
}

/// The shortest way from `old` to `new`, by the longest common subsequence.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let (rows, columns) = (old.len(), new.len());
    if rows.saturating_mul(columns) > PAIRS_MAX {
        let gone = old.iter().copied().map(DiffLine::Gone);
        return gone.chain(new.iter().copied().map(DiffLine::New)).collect();
    }
    let width = columns + 1;
    let mut common = vec![0_u32; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row * width + column] = if old[row] == new[column] {
                common[(row + 1) * width + column + 1] + 1
            } else {
                common[(row + 1) * width + column].max(common[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut steps = Vec::with_capacity(rows.max(columns));
    while row < rows || column < columns {
        if row < rows && column < columns && old[row] == new[column] {
            steps.push(DiffLine::Same(old[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == columns
            || row < rows && common[(row + 1) * width + column] >= common[row * width + column + 1]
        {
            steps.push(DiffLine::Gone(old[row]));
            row += 1;
        } else {
            steps.push(DiffLine::New(new[column]));
            column += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_every_line_that_goes_or_comes() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12";
        let expected = [
            "--- a.txt",
            "+++ a.txt",
            "@@ -2,11 +2,11 @@",
            " 2",
            " 3",
            " 4",
            "-5",
            "+five",
            " 6",
            " 7",
            " 8",
            " 9",
            " 10",
            " 11",
            "-12",
            "+12",
            "\\ No newline at end of file",
        ];
        assert_eq!(unified("a.txt", Some(old), new), expected);
        assert_eq!(
            unified("a", None, "x\n"),
            ["--- /dev/null", "+++ a", "@@ -0,0 +1,1 @@", "+x"]
        );
        assert!(unified("a", Some("x\n"), "x\n").is_empty());
        assert_eq!(
            unified("a", Some("x\ny\n"), ""),
            ["--- a", "+++ a", "@@ -1,2 +0,0 @@", "-x", "-y"]
        );
    }

    #[test]
    fn far_changes_stand_in_hunks_of_their_own() {
        let old: String = (0..40).map(|n| format!("{n}\n")).collect();
        let new = old.replacen("3\n", "three\n", 1).replace("\n30\n", "\n");
        let lines = unified("a", Some(&old), &new);
        let hunks: Vec<_> = lines.iter().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(hunks, ["@@ -1,7 +1,7 @@", "@@ -28,7 +28,6 @@"]);
    }

    #[test]
    fn what_comes_of_a_change_is_the_new_text_however_long_it_is() {
        let long = |mark: &str| -> String { (0..2_500).map(|n| format!("{mark}{n}\n")).collect() };
        for (old, new) in [
            ("a\nb\nc\n".to_owned(), "b\nx\nc\ny\n".to_owned()),
            (String::new(), "x".to_owned()),
            (long("old "), long("new ")),
        ] {
            let (mut before, mut after) = (String::new(), String::new());
            for step in steps(&old, &new) {
                match step {
                    DiffLine::Same(line) => {
                        before.push_str(line);
                        after.push_str(line);
                    }
                    DiffLine::Gone(line) => before.push_str(line),
                    DiffLine::New(line) => after.push_str(line),
                }
            }
            assert_eq!((before, after), (old, new));
        }
    }
}
