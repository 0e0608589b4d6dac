//! What becomes of a panic: in a case it is the case's error, anywhere else the end of the process.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, UnwindSafe};
use std::process;

thread_local! {
    static DECIDES: Cell<bool> = const { Cell::new(false) };
    /// Where the last panic of this thread was raised.
    static ORIGIN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has a panic in a case remembered with its place, and any other end the process with status 1, once it is shown on stderr:
/// where a thread of the checker's own has failed, which cases it bears on is not known.
pub(crate) fn install() {
    let show = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if DECIDES.get() {
            ORIGIN.set(info.location().map(ToString::to_string));
            return;
        }
        show(info);
        eprintln!("retrial: not caught by the checker: the process ends");
        process::exit(1);
    }));
}

/// Calls `f`. Where it panics, the error says how, and where if [`install`] was called.
pub(crate) fn caught<T>(f: impl FnOnce() -> T + UnwindSafe) -> Result<T, String> {
    let before = DECIDES.replace(true);
    ORIGIN.set(None);
    let ended = panic::catch_unwind(f);
    DECIDES.set(before);
    ended.map_err(|payload| match ORIGIN.take() {
        Some(origin) => format!("panic: {} (at {origin})", shown(payload)),
        None => format!("panic: {}", shown(payload)),
    })
}

fn shown(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => match other.downcast_ref::<&str>() {
            Some(text) => (*text).to_owned(),
            None => {
                std::mem::forget(other); // to drop it may panic again, and nobody would catch that
                "a value that cannot be shown".into()
            }
        },
    }
}
