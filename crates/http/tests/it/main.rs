//! The front door as its callers meet it.

mod openapi;
