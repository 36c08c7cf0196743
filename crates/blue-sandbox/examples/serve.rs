//! Run a sandbox on a folder until the process is ended
//!
//! `serve [DIR] [gitea|forgejo|forgejo-7|forgejo-15]`; prints the address and the first user's token.

use blue_sandbox::{Config, Flavor, Sandbox};

#[expect(clippy::print_stdout, reason = "an example prints to its user")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().filter(|dir| !dir.is_empty()).map(Into::into);
    let flavor = match args.next().as_deref() {
        Some("forgejo") => Flavor::Forgejo,
        Some("forgejo-7") => Flavor::Forgejo7,
        Some("forgejo-15") => Flavor::Forgejo15,
        _ => Flavor::Gitea,
    };
    let sandbox = Sandbox::start(Config {
        dir,
        flavor,
        ..Config::default()
    })
    .await?;
    let first = &sandbox.users()[0];
    println!("{} {}", sandbox.url(), first.token.expose());
    std::future::pending::<()>().await;
    Ok(())
}
