//! The catalog: every service one can connect, over all instances.
//! Source: contract 5.3, "GET /api/connectors/catalog".

use super::toolkits::{ToolkitAuthKind, ToolkitSlug};
use crate::{field_validation::FieldValidator, ids::ProviderId};

/// Characters of a search in the catalog.
const SEARCH_CHARS_MAX: usize = 200;
/// Words of a search that count.
const SEARCH_WORDS_MAX: usize = 8;

/// A service of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogService {
    /// Its place among all services, in the order they were put.
    pub place: u64,
    /// The instance.
    pub provider_id: ProviderId,
    /// The toolkit.
    pub toolkit: ToolkitSlug,
    /// What people call it.
    pub display_name: String,
    /// What it is for.
    pub description: String,
    /// How one signs in.
    pub auth_kind: ToolkitAuthKind,
    /// How many operations it has.
    pub operation_count: u32,
    /// How many more it has that cannot be run.
    pub left_out_count: u32,
    /// Why it cannot be connected now; `None` while it can.
    pub unavailable: Option<String>,
}

impl CatalogService {
    /// What people should know of it beside the listing.
    pub fn warning(&self) -> Option<String> {
        let operations = match self.left_out_count {
            0 => return None,
            1 => "1 operation".to_owned(),
            count => format!("{count} operations"),
        };
        Some(format!(
            "{}: {operations} cannot be run from here and are left out.",
            self.display_name
        ))
    }
}

/// A text as it is searched.
pub fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// The words a service must hold, all of them.
///
/// # Errors
/// [`crate::Refusal::Validation`] for a search of more than 200 characters.
pub fn words(search: &str) -> Result<Vec<String>, crate::Refusal> {
    let mut check = FieldValidator::new();
    check.chars("q", search, 0, SEARCH_CHARS_MAX);
    check.finish()?;
    let words = search.split_whitespace().take(SEARCH_WORDS_MAX);
    Ok(words.map(folded).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_its_words_in_small_letters() {
        assert_eq!(words("  Add ÄPFEL ").unwrap(), ["add", "äpfel"]);
        assert_eq!(words("").unwrap(), Vec::<String>::new());
        assert_eq!(words("1 2 3 4 5 6 7 8 9").unwrap().len(), 8);
        assert!(words(&"a".repeat(201)).is_err());
    }
}
