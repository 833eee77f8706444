//! Sealed values as they are stored: in which columns they stand, and the place each is sealed
//! for. Written here once more, because what was sealed for a place opens at no other one.

use std::{collections::BTreeSet, path::Path};

use guildhall_testkit::{Cell, Table, tables_of};
use guildhall_world::seal::{Seal, SealContext};
use serde_json::Value;

/// A column of sealed values: where it is, and the parts of the place of a row's.
struct Sealed {
    table: &'static str,
    column: &'static str,
    place: &'static [Part],
}

/// A part of a place.
enum Part {
    /// The same in every row.
    Word(&'static str),
    /// What another column holds.
    Column(&'static str),
    /// Which values of a tool server it are: `env` of a program, `headers` of an address.
    Field,
}

use Part::{Column, Field, Word};

const SEALED: &[Sealed] = &[
    Sealed {
        table: "cloud_links",
        column: "device",
        place: &[Word("cloud"), Column("url"), Word("device")],
    },
    Sealed {
        table: "cloud_links",
        column: "key",
        place: &[Word("cloud"), Column("url"), Word("key")],
    },
    Sealed {
        table: "connector_clients",
        column: "client",
        place: &[
            Word("connector_clients"),
            Column("provider_id"),
            Column("toolkit"),
        ],
    },
    Sealed {
        table: "connector_connections",
        column: "credentials",
        place: &[Word("connector_connections"), Column("id")],
    },
    Sealed {
        table: "connector_flows",
        column: "sealed",
        place: &[Word("connector_flows"), Column("id")],
    },
    Sealed {
        table: "connector_toolkits",
        column: "sealed",
        place: &[
            Word("connector_toolkits"),
            Column("provider_id"),
            Column("slug"),
        ],
    },
    Sealed {
        table: "mcp_flows",
        column: "sealed",
        place: &[Word("mcp_flows"), Column("id")],
    },
    Sealed {
        table: "mcp_servers",
        column: "sealed",
        place: &[
            Word("mcp_servers"),
            Column("agent_id"),
            Column("name"),
            Field,
        ],
    },
    Sealed {
        table: "mcp_signins",
        column: "access",
        place: &[
            Word("mcp_signins"),
            Column("agent_id"),
            Column("folded"),
            Word("access"),
        ],
    },
    Sealed {
        table: "mcp_signins",
        column: "client",
        place: &[
            Word("mcp_signins"),
            Column("agent_id"),
            Column("folded"),
            Word("client"),
        ],
    },
    Sealed {
        table: "repeats",
        column: "body",
        place: &[Word("repeats"), Column("claim")],
    },
];

/// Bytes of the shortest sealed value: nonce and tag. Ids and digests are shorter.
const SEALED_BYTES_MIN: usize = 24 + 16;
/// Columns of values as long that are sealed nowhere.
const OPEN: [(&str, &str); 1] = [("turns", "triggers")];

/// What stands sealed in a column of a row; `None` where nothing is.
///
/// # Panics
/// When it does not open at its place.
pub(super) fn opened(seal: &Seal, table: &Table, row: &[Cell], column: &str) -> Option<Vec<u8>> {
    let at = format!("{}.{column}", table.name);
    let of = |it: &&Sealed| it.table == table.name && it.column == column;
    let sealed = SEALED.iter().find(of)?;
    let Cell::Blob(bytes) = table.cell(row, column) else {
        return None;
    };
    if is_kept_open(table, row) {
        return None;
    }
    let parts: Vec<Vec<u8>> = sealed.place.iter().map(|it| part(it, table, row)).collect();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let opened = seal.unseal(SealContext(&parts), bytes);
    Some(opened.unwrap_or_else(|| panic!("what is sealed in {at} does not open")))
}

/// Whether a row keeps the answer it holds as it is.
fn is_kept_open(table: &Table, row: &[Cell]) -> bool {
    table.name == "repeats" && table.cell(row, "is_sealed") == &Cell::Integer(0)
}

fn part(part: &Part, table: &Table, row: &[Cell]) -> Vec<u8> {
    let bytes = |column: &str| match table.cell(row, column) {
        Cell::Text(text) => text.clone().into_bytes(),
        Cell::Blob(bytes) => bytes.clone(),
        other => panic!("{}.{column} is {other:?}", table.name),
    };
    match part {
        Word(word) => word.as_bytes().to_vec(),
        Column(column) => bytes(column),
        Field => {
            let connection: Value = serde_json::from_slice(&bytes("connection")).unwrap();
            let is_program = connection["transport"] == "stdio";
            if is_program { "env" } else { "headers" }.into()
        }
    }
}

/// Demands that every sealed value opens at its place, that there is one in each column, and that
/// no column holds sealed values that stands in no list here.
pub(super) fn check(database: &Path, data: &Path) {
    let seal = Seal::open(data).unwrap();
    let mut found = BTreeSet::new();
    for table in tables_of(database) {
        // The index of words keeps bytes of its own kind.
        if table.name.starts_with("entry_words") {
            continue;
        }
        for row in &table.rows {
            for column in &table.columns {
                if opened(&seal, &table, row, column).is_some() {
                    found.insert((table.name.clone(), column.clone()));
                    continue;
                }
                let Cell::Blob(bytes) = table.cell(row, column) else {
                    continue;
                };
                let is_open = OPEN.contains(&(table.name.as_str(), column.as_str()))
                    || is_kept_open(&table, row);
                assert!(
                    is_open || bytes.len() < SEALED_BYTES_MIN,
                    "{}.{column} holds {} bytes: name its place here if they are sealed",
                    table.name,
                    bytes.len()
                );
            }
        }
    }
    let known = SEALED.iter();
    let known = known.map(|it| (it.table.to_owned(), it.column.to_owned()));
    assert_eq!(found, known.collect(), "a secret in each column");
}
