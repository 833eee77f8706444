//! How much of a document is read. A short one can describe very much, by referring to the same
//! parts again and again.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::Value;

use crate::limits::connectors::{OPERATION_SCHEMA_BYTES_MAX, TOOLKIT_SCHEMAS_BYTES_MAX};

/// Bytes that are read for all operations together, also for those that are left out for it.
const ALL_BYTES_MAX: usize = 2 * TOOLKIT_SCHEMAS_BYTES_MAX;
/// What a member or item counts beside its text: about what is written of it.
const EACH: usize = 8;
/// What it counts among all: about the time it takes.
const EACH_OF_ALL: usize = 48;
/// What each byte of a reference counts among all: it is taken apart and looked up.
const REFERENCE_BYTE_OF_ALL: usize = 4;

/// What may still be read, in bytes.
#[derive(Debug)]
pub(super) struct ReadBudget<'a> {
    /// Turns true when nobody waits for the document any more.
    stop: &'a AtomicBool,
    operation: Cell<usize>,
    all: Cell<usize>,
}

impl<'a> ReadBudget<'a> {
    pub(super) fn new(stop: &'a AtomicBool) -> Self {
        Self {
            stop,
            operation: Cell::new(OPERATION_SCHEMA_BYTES_MAX),
            all: Cell::new(ALL_BYTES_MAX),
        }
    }

    /// Another operation begins.
    pub(super) fn begin(&self) {
        self.operation.set(OPERATION_SCHEMA_BYTES_MAX);
    }

    /// Whether no operation more can be read.
    pub(super) fn is_over(&self) -> bool {
        self.all.get() == 0
    }

    /// Counts one thing that is no part of the arguments, with a text of this length. Nothing is
    /// left once the reading is to stop.
    pub(super) fn spend_of_all(&self, text_bytes: usize) {
        let of_all = text_bytes.saturating_add(EACH_OF_ALL);
        let left = match self.stop.load(Ordering::Relaxed) {
            true => 0,
            false => self.all.get().saturating_sub(of_all),
        };
        self.all.set(left);
    }

    /// Counts a reference that is followed.
    ///
    /// # Errors
    /// Why it is not followed, for people.
    pub(super) fn spend_reference(&self, reference: &str) -> Result<(), String> {
        self.spend_of_all(reference.len().saturating_mul(REFERENCE_BYTE_OF_ALL));
        match self.is_over() {
            true => Err("the document refers to too much".to_owned()),
            false => Ok(()),
        }
    }

    /// Counts one thing that is read, with a text of this length.
    ///
    /// # Errors
    /// Why the operation cannot be read, for people.
    pub(super) fn spend(&self, text_bytes: usize) -> Result<(), String> {
        self.spend_of_all(text_bytes);
        let of_operation = text_bytes.saturating_add(EACH);
        match self.operation.get().checked_sub(of_operation) {
            Some(left) if !self.is_over() => {
                self.operation.set(left);
                Ok(())
            }
            _ => {
                self.operation.set(0);
                Err("the description of its arguments is too long".to_owned())
            }
        }
    }

    /// Counts a value with all it holds.
    ///
    /// # Errors
    /// As [`Self::spend`].
    pub(super) fn spend_value(&self, value: &Value) -> Result<(), String> {
        match value {
            Value::String(text) => self.spend(text.len()),
            Value::Array(items) => {
                self.spend(0)?;
                items.iter().try_for_each(|item| self.spend_value(item))
            }
            Value::Object(members) => {
                self.spend(0)?;
                members.iter().try_for_each(|(name, value)| {
                    self.spend(name.len())?;
                    self.spend_value(value)
                })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.spend(0),
        }
    }
}
