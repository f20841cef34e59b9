//! The files of a sandbox: one sandbox at a time uses a database, under any name of it, and only the owner can read the
//! keys.
#![cfg(unix)]

use crate::support::api::{order, send};
use crate::support::folder::Folder;
use crate::support::process::{SandboxProcess, command_on};
use guichet_sandbox::{Config, Sandbox};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

const CREATE: &str = "/v1/payment-intents";

#[tokio::test]
async fn a_hard_link_to_a_database_is_refused_within_one_process() {
    let folder = Folder::new("names");
    let (first, second) = (folder.path.join("sandbox.sqlite"), folder.path.join("second.sqlite"));
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    fs::hard_link(&first, &second).unwrap();
    symlink(&first, folder.path.join("link.sqlite")).unwrap();
    for name in ["sandbox.sqlite", "second.sqlite", "link.sqlite"] {
        let refused = start(&folder.path.join(name)).await.unwrap_err();
        assert!(refused.contains("Another sandbox already uses the database"), "{name}: {refused}");
    }
    assert_eq!(create(&sandbox, "ORDER-1").await, 201, "the first sandbox goes on");
    // The refusals did not release SQLite's own lock, so no other program can write.
    let held = Command::new("sh").arg("-c").arg(format!("cat /proc/locks | grep -c ':{} '", inode(&first))).output();
    let held = String::from_utf8(held.unwrap().stdout).unwrap();
    assert!(!cfg!(target_os = "linux") || held.trim() != "0", "SQLite's locks were released");
    sandbox.stop().await;

    let refused = start(&first).await.unwrap_err();
    assert!(refused.contains("has 2 names (hard links)") && refused.contains("-wal"), "{refused}");
    fs::remove_file(second).unwrap();
    let sandbox = start(&first).await.unwrap();
    assert_eq!(create(&sandbox, "ORDER-1").await, 200, "the payment is stored");
    sandbox.stop().await;
}

#[tokio::test]
async fn a_hard_link_to_a_database_is_refused_by_a_second_process() {
    let folder = Folder::new("names-of-processes");
    let first = SandboxProcess::start(&folder, None);
    let (path, second) = (folder.path.join("sandbox.sqlite"), folder.path.join("second.sqlite"));
    symlink(&path, folder.path.join("link.sqlite")).unwrap();
    let stderr = refusal(&folder, "link.sqlite");
    assert!(stderr.contains("Another sandbox already uses the database"), "{stderr}");
    fs::hard_link(&path, &second).unwrap();
    for name in ["second.sqlite", "sandbox.sqlite"] {
        let stderr = refusal(&folder, name);
        assert!(stderr.contains("has 2 names (hard links)"), "{name}: {stderr}");
    }
    // The first name is removed while the first sandbox runs. Its write-ahead log still has that name.
    fs::remove_file(&path).unwrap();
    let stderr = refusal(&folder, "second.sqlite");
    assert!(stderr.contains("was last used under the name"), "{stderr}");
    assert_eq!(first.call("POST", CREATE, order("ORDER-1")).await.status, 201, "the first sandbox goes on");
}

#[tokio::test]
async fn no_payment_is_lost_when_a_killed_sandboxs_database_is_renamed() {
    let folder = Folder::new("killed-by-name");
    let (path, second) = (folder.path.join("sandbox.sqlite"), folder.path.join("second.sqlite"));
    let mut sandbox = SandboxProcess::start(&folder, None);
    for number in 0..40 {
        assert_eq!(sandbox.call("POST", CREATE, order(&format!("ORDER-{number}"))).await.status, 201);
    }
    fs::hard_link(&path, &second).unwrap();
    sandbox.child.kill().unwrap();
    sandbox.child.wait().unwrap();
    assert!(
        fs::metadata(folder.path.join("sandbox.sqlite-wal")).unwrap().len() > 0,
        "the payments are in the write-ahead log"
    );

    for name in [&path, &second] {
        let refused = start(name).await.unwrap_err();
        assert!(refused.contains("has 2 names (hard links)"), "{refused}");
    }
    fs::remove_file(&path).unwrap();
    let refused = start(&second).await.unwrap_err();
    assert!(refused.contains("was last used under the name"), "{refused}");
    assert!(refused.contains("sandbox.sqlite-wal") && refused.contains("Rename the database back"), "{refused}");

    // SQLite would delete a write-ahead log without a database, or of an empty one.
    let refused = start(&path).await.unwrap_err();
    assert!(refused.contains("Put the database back") && !path.exists(), "{refused}");
    fs::write(&path, "").unwrap();
    let refused = start(&path).await.unwrap_err();
    assert!(refused.contains("Put the database back"), "{refused}");

    fs::rename(&second, &path).unwrap();
    let sandbox = start(&path).await.unwrap();
    for number in 0..40 {
        assert_eq!(create(&sandbox, &format!("ORDER-{number}")).await, 200, "ORDER-{number} was acknowledged");
    }
    sandbox.stop().await;
    // After a regular stop there is no write-ahead log, so the database can be renamed together with its keys.
    fs::rename(&path, &second).unwrap();
    fs::rename(folder.path.join("sandbox.sqlite.keys"), folder.path.join("second.sqlite.keys")).unwrap();
    let sandbox = start(&second).await.unwrap();
    assert_eq!(create(&sandbox, "ORDER-39").await, 200);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_folder_can_be_moved_with_its_log_and_a_copy_is_independent() {
    let folder = Folder::new("moved");
    let (home, away) = (&folder.path, folder.path.with_file_name("away"));
    let mut sandbox = SandboxProcess::start(&folder, None);
    assert_eq!(sandbox.call("POST", CREATE, order("ORDER-1")).await.status, 201);
    sandbox.child.kill().unwrap();
    sandbox.child.wait().unwrap();
    fs::create_dir(&away).unwrap();
    for name in folder.file_names() {
        fs::copy(home.join(&name), away.join(&name)).unwrap();
    }
    // The copy starts while the original still has its write-ahead log.
    let copy = start(&away.join("sandbox.sqlite")).await.unwrap();
    assert_eq!(create(&copy, "ORDER-1").await, 200);
    copy.stop().await;
    fs::remove_dir_all(&away).unwrap();
    fs::rename(home, &away).unwrap();
    let moved = start(&away.join("sandbox.sqlite")).await.unwrap();
    assert_eq!(create(&moved, "ORDER-1").await, 200);
    moved.stop().await;
}

#[tokio::test]
async fn a_start_that_fails_leaves_the_database_unlocked() {
    let folder = Folder::new("unlocked");
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
    let keys = folder.path.join("sandbox.sqlite.keys");
    let good = fs::read(&keys).unwrap();
    fs::write(&keys, "nothing").unwrap();
    for _ in 0..3 {
        let refused = Sandbox::start_with(folder.config()).await.unwrap_err().to_string();
        assert!(refused.contains("does not contain the keys of a sandbox"), "{refused}");
    }
    fs::write(&keys, good).unwrap();
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
}

#[tokio::test]
async fn keys_are_never_written_through_a_planted_link() {
    let folder = Folder::new("planted");
    let victim = folder.path.join("victim");
    fs::write(&victim, "letters").unwrap();
    symlink(&victim, folder.path.join("sandbox.sqlite.keys.new")).unwrap();
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
    assert_eq!(fs::read_to_string(&victim).unwrap(), "letters", "the keys were written elsewhere");
    let keys = fs::symlink_metadata(folder.path.join("sandbox.sqlite.keys")).unwrap();
    assert!(keys.is_file() && keys.permissions().mode() & 0o777 == 0o600);

    // The same with a file in place of the link, which its owner could read.
    let folder = Folder::new("planted-file");
    let open_to_all = folder.path.join("sandbox.sqlite.keys.new");
    fs::write(&open_to_all, "").unwrap();
    fs::set_permissions(&open_to_all, fs::Permissions::from_mode(0o666)).unwrap();
    let reading_along = fs::File::open(&open_to_all).unwrap();
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
    assert_eq!(reading_along.metadata().unwrap().len(), 0, "the other owner can read the keys");
    assert_eq!(mode(&folder.path.join("sandbox.sqlite.keys")), 0o600);

    // A link in place of the keys, to a missing file or to other keys.
    let folder = Folder::new("planted-keys");
    symlink(folder.path.join("elsewhere"), folder.path.join("sandbox.sqlite.keys")).unwrap();
    let refused = Sandbox::start_with(folder.config()).await.unwrap_err().to_string();
    assert!(refused.contains("is a link"), "{refused}");
    assert!(!folder.path.join("elsewhere").exists());
}

#[tokio::test]
async fn keys_that_others_can_read_are_refused() {
    let folder = Folder::new("wide");
    Sandbox::start_with(folder.config()).await.unwrap().stop().await;
    let keys = folder.path.join("sandbox.sqlite.keys");
    for wide in [0o644, 0o640, 0o604, 0o602] {
        fs::set_permissions(&keys, fs::Permissions::from_mode(wide)).unwrap();
        let refused = Sandbox::start_with(folder.config()).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("chmod 600 {}", keys.display())), "{wide:o}: {refused}");
    }
    for private in [0o600, 0o400] {
        fs::set_permissions(&keys, fs::Permissions::from_mode(private)).unwrap();
        Sandbox::start_with(folder.config()).await.unwrap().stop().await;
    }
}

#[tokio::test]
async fn a_start_through_a_link_finds_the_same_keys() {
    let folder = Folder::new("linked-keys");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let key = sandbox.secret_key().expose().to_owned();
    sandbox.stop().await;
    let link = folder.path.join("link.sqlite");
    symlink(folder.path.join("sandbox.sqlite"), &link).unwrap();
    let sandbox = start(&link).await.unwrap();
    assert_eq!(sandbox.secret_key().expose(), key, "the keys were rotated");
    sandbox.stop().await;
    assert_eq!(folder.file_names(), ["link.sqlite", "sandbox.sqlite", "sandbox.sqlite.keys", "sandbox.sqlite.lock"]);
}

#[tokio::test]
async fn a_database_that_others_can_read_is_made_private_with_its_log() {
    let folder = Folder::new("mode-of-old");
    let files = ["sandbox.sqlite", "sandbox.sqlite-wal", "sandbox.sqlite-shm"].map(|name| folder.path.join(name));
    let mut sandbox = SandboxProcess::start(&folder, None);
    assert_eq!(sandbox.call("POST", CREATE, order("ORDER-1")).await.status, 201);
    sandbox.child.kill().unwrap();
    sandbox.child.wait().unwrap();
    for file in &files {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let sandbox = start(&files[0]).await.unwrap();
    assert_eq!(create(&sandbox, "ORDER-1").await, 200);
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    sandbox.stop().await;
}

/// Starts a sandbox on the database of this path.
async fn start(path: &Path) -> Result<Sandbox, String> {
    let database = format!("sqlite:{}", path.display());
    Sandbox::start_with(Config { database, ..Config::default() }).await.map_err(|error| error.to_string())
}

/// The error with which the command refuses to start on the database of this name.
fn refusal(folder: &Folder, name: &str) -> String {
    let mut start = command_on(&format!("sqlite:{}", folder.path.join(name).display()));
    let mut child = start.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    // Empty if the command ends before it is ready.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    if !ready.is_empty() {
        child.kill().unwrap();
    }
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ready, "", "{name}: it has started");
    assert_eq!(ended.status.code(), Some(1));
    String::from_utf8(ended.stderr).unwrap()
}

async fn create(sandbox: &Sandbox, reference: &str) -> u16 {
    let (key, url) = (sandbox.secret_key().expose(), format!("{}{CREATE}", sandbox.base_url()));
    let body = order(reference).to_string();
    send(&crate::support::api::client(), "POST", &url, Some(key), Some(body), &[]).await.status
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}
