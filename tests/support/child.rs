//! Child processes that end with the tests, also if the tests are killed.

use std::ffi::OsStr;
use std::process::{Child, Command};
use std::sync::{LazyLock, mpsc};

/// The command of a program that Linux kills when the thread ends which has started it: see [`spawn`]. On other systems
/// it outlives tests that are killed.
pub fn ends_with_tests(program: impl AsRef<OsStr>) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Starts a process from a thread that lives as long as the tests. The thread of one test may end earlier.
pub fn spawn(command: Command) -> Child {
    type Order = (Command, mpsc::Sender<std::io::Result<Child>>);
    static THREAD: LazyLock<mpsc::Sender<Order>> = LazyLock::new(|| {
        let (orders, ordered) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, started) in ordered {
                let _ = started.send(command.spawn());
            }
        });
        orders
    });
    let (started, child) = mpsc::channel();
    THREAD.send((command, started)).expect("the thread runs");
    child.recv().expect("the thread runs").expect("the program is installed")
}
