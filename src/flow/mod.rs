//! What a paying page must decide, as pure functions.
