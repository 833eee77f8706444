//! The operating system's users: what the owner is called, and where home is.

use std::path::PathBuf;

use uzers::os::unix::UserExt;

/// The full name of the user this process runs as, else its login name, else `Owner`.
///
/// The full name is the first field of the account's GECOS text.
pub fn own_display_name() -> String {
    let Some(user) = uzers::get_user_by_uid(uzers::get_current_uid()) else {
        return "Owner".to_owned();
    };
    let login = user.name().to_string_lossy().into_owned();
    display_name(&user.gecos().to_string_lossy(), &login)
}

/// The home of the user this process runs as, as the system's list of users says it.
pub fn own_home() -> Option<PathBuf> {
    let user = uzers::get_user_by_uid(uzers::get_current_uid())?;
    Some(user.home_dir().to_owned()).filter(|home| home.is_absolute())
}

/// What this computer is called, as the kernel says it; at most 200 characters.
pub fn computer_name() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    let name: String = name.chars().filter(|c| !c.is_control()).take(200).collect();
    match name.is_empty() {
        true => "guildhall".to_owned(),
        false => name,
    }
}

fn display_name(gecos: &str, login: &str) -> String {
    let full = gecos.split(',').next().unwrap_or_default().trim();
    let name = if full.is_empty() { login } else { full };
    let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    if name.is_empty() {
        "Owner".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_name_comes_before_the_login_name() {
        for (gecos, login, expected) in [
            ("Ada Lovelace,,,", "ada", "Ada Lovelace"),
            ("", "ada", "ada"),
            (" , ", "ada", "ada"),
            ("", "", "Owner"),
        ] {
            assert_eq!(display_name(gecos, login), expected);
        }
        assert!(!own_display_name().is_empty());
    }
}
