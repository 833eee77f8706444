//! The scripted agent: what it does stands in the prompt, as directives.
