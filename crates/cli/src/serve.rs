//! `guichet sandbox`: it runs until Ctrl-C or SIGTERM.

use clap::Args;
use guichet::native::Profile;
use guichet_sandbox::{Config, Package, Sandbox};
use serde_json::json;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

const KEYS: &str = "\
The sandbox prints the first merchant's secret key. It makes the key at the first start and stores it beside the database, in
<database>.keys, or in the file of --keys; only its owner can read it. In memory without --keys it is new at each start. If GUICHET_SECRET_KEY is set (sk_test_ and at least 16 letters and digits), the
first merchant has that key from then on, so a command in the same terminal uses the same key. Client secrets are made from
GUICHET_INSTANCE_KEY, at least 32 characters (openssl rand -hex 32); without it, from a key in the same file.

If the file of --keys does not exist, it is created with the variables that are set, and new keys for the others. If it exists, a
variable that differs from it is refused.

The control token is new at each start, unless GUICHET_CONTROL_TOKEN is set (ctl_ and at least 16 letters and digits). The commands
clock, events, faults, handset, inspector, merchants, operators, purchases, requests, reset and thread read it from
there.";

#[derive(Args)]
#[command(after_long_help = KEYS)]
pub(super) struct SandboxArgs {
    /// The address to listen on; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 4243)), value_parser = listen_address)]
    listen: SocketAddr,
    /// The database; `memory:` keeps everything in memory.
    #[arg(long, value_name = "URL", default_value = "sqlite:.guichet/sandbox.sqlite")]
    database: String,
    /// The file of the keys; created if it does not exist. Default: beside the database.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// The folder of the npm package, for the hosted checkout page.
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
    /// The folder of your own checkout page, whose index.html is served in the place of the sandbox's.
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
    /// The name of the first merchant, which the hosted page shows; a merchant that is in the database keeps its name.
    #[arg(long, value_name = "NAME", default_value_t = Config::default().merchant_name)]
    merchant_name: String,
    /// The origin under which customers reach the sandbox; default: the address it listens on.
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// A host name under which the control API answers, besides loopback. May be repeated.
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,
    /// An origin whose pages may call the service; default: every origin. May be repeated.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allow_origins: Vec<String>,
    /// Let anyone read payment methods and fees without a credential, for pages that show prices to guests.
    #[arg(long)]
    public_methods: bool,
    /// The most open connections of one client address; loopback is not limited. Behind a load balancer all clients
    /// have its address.
    #[arg(long, value_name = "N", default_value_t = Config::default().connections_per_address, value_parser = at_least_one)]
    connections_per_address: usize,
    /// Refuse unknown fields.
    #[arg(long)]
    strict: bool,
    /// The profile of a payment company (`service.json`): payments are then read, found and canceled as it says, in its
    /// words. Nothing else of the company is imitated.
    #[arg(long, value_name = "FILE", value_parser = profile)]
    profile: Option<Profile>,
    /// Print one line of JSON when ready, and nothing else on stdout.
    #[arg(long)]
    json: bool,
}

pub(super) async fn sandbox(args: SandboxArgs) -> Result<(), Box<dyn Error>> {
    look_for_package(args.package.clone())?;
    if args.listen.ip().is_unspecified() && args.public_url.is_none() {
        return Err(format!(
            "{} is every address of this machine, so the sandbox does not know the address of its checkout page for customers. Missing option \
             --public-url, for example --public-url http://192.168.1.20:{}.",
            args.listen,
            args.listen.port()
        )
        .into());
    }
    let stop = stop_signal()?;
    let sandbox = Sandbox::start_with(Config {
        listen: args.listen,
        database: args.database,
        keys: args.keys,
        merchant_name: args.merchant_name,
        package: Package::find(args.package),
        checkout: args.checkout,
        public_url: args.public_url,
        allow_hosts: args.allow_hosts,
        allow_origins: args.allow_origins,
        public_methods: args.public_methods,
        connections_per_address: args.connections_per_address,
        strict: args.strict,
        profile: args.profile,
        ..Config::default()
    })
    .await?;
    let (base_url, control_url) = (sandbox.base_url(), sandbox.control_url());
    let (secret_key, control_token) = (sandbox.secret_key().expose(), sandbox.control_token().expose());
    if args.json {
        println!(
            "{}",
            json!({
                "base_url": base_url, "secret_key": secret_key, "control_url": control_url,
                "control_token": control_token,
                "inspector_url": sandbox.inspector_url(),
            })
        );
    } else {
        println!("The sandbox is running: the whole service on this machine. No real money moves.\n");
        println!("  The service          {base_url}/v1");
        println!("  The secret key       {secret_key}    (a test key: for your server, never for a page)");
        println!("  The control API      {control_url}");
        println!("  The control token    {control_token}");
        println!("  The inspector        {}    (opens it once)", sandbox.inspector_url());
        println!("\nCtrl-C stops it.");
    }
    stop.await;
    sandbox.stop().await;
    Ok(())
}

/// Parses the value of an option that takes an address to listen on. clap's message names the option.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.rsplit(':').next().unwrap_or_default().parse::<u16>();
    text.parse().map_err(|_| {
        let example = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(4243)));
        format!("the option takes an address with a port, for example {example}")
    })
}

/// Reads the profile in a file.
pub(super) fn profile(file: &str) -> Result<Profile, String> {
    let json = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    Profile::new(&json).map_err(|invalid| invalid.to_string())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "Give a whole number of at least 1.".to_owned())
}

/// Checks at the start that there is an npm package. Without one only the pages are missing, but a folder that was
/// given with `--package` must contain it.
fn look_for_package(named: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let is_named = named.is_some();
    match Package::find(named).problem() {
        Some(problem) if is_named => Err(problem.into()),
        Some(problem) => {
            eprintln!("guichet: {problem}");
            Ok(())
        }
        None => Ok(()),
    }
}

/// Resolves on Ctrl-C, and on SIGTERM on Unix.
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    Ok(async move {
        #[cfg(unix)]
        let terminate = terminated.recv();
        #[cfg(not(unix))]
        let terminate = std::future::pending::<Option<()>>();
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate => {}
        }
    })
}
