//! Applications of JavaScript frameworks, built from the tarball with the newest of each. `tests/pages/package.rs` opens them, as they are
//! built and as the framework serves them in development.

use std::fs;

use anyhow::{Context as _, Result};

use super::bundlers::ENTRIES;
use super::project::{Project, copy};
use crate::cargo::root;
use crate::npm::{Tools, remove, run_quietly};

/// Each framework, the npm package and the command that build its application, and the folder of the application's sources.
const FRAMEWORKS: [(&str, &str, &[&str], &str); 9] = [
    ("svelte", "vite", &["vite", "build"], "src"),
    ("sveltekit", "vite", &["vite", "build"], "src"),
    ("nuxt", "nuxt", &["nuxt", "build"], "app"),
    ("astro", "astro", &["astro", "build"], "src"),
    ("angular", "@angular/cli", &["ng", "build"], "src"),
    ("react-router", "@react-router/dev", &["react-router", "build"], "app"),
    ("gatsby", "gatsby", &["gatsby", "build"], "src"),
    ("storybook", "storybook", &["storybook", "build"], "src"),
    ("metro", "metro", &METRO, "src"),
];

const METRO: [&str; 8] =
    ["metro", "build", "src/index.js", "--out", "public/main.js", "--platform=web", "--dev=false", "--reset-cache"];

impl Project {
    /// Builds the applications of `tests/pages/package/frameworks/`.
    pub(super) fn build_in_frameworks(&self, remark: &mut String) -> Result<()> {
        let tests = root().join("tests/pages/package");
        let mut versions = Vec::new();
        for (name, package, command, sources) in FRAMEWORKS {
            let tools = Tools::framework(name)?;
            // Without the framework's cache: it takes a package of the same version for the same package.
            let application = tools.folder().join("application");
            remove(&application)?;
            copy(&tests.join("frameworks").join(name), &application)?;
            let sources = application.join(sources);
            fs::copy(tests.join("frameworks/calls.js"), sources.join("calls.js"))?;
            let call = fs::read_to_string(tests.join("pages/call.js"))?;
            for (entry, import) in ENTRIES {
                fs::write(sources.join(format!("{entry}.js")), call.replace("\"guichet\"", &format!("\"{import}\"")))?;
            }
            copy(&self.package(), &application.join("node_modules/guichet"))?;
            let mut build = tools.node(package, command[0])?;
            build.current_dir(&application).args(&command[1..]).env("NO_COLOR", "1").env_remove("NODE_ENV");
            for (variable, value) in WITHOUT_TELEMETRY {
                build.env(variable, value);
            }
            run_quietly(&mut build).with_context(|| format!("{name} cannot build its application"))?;
            versions.push(format!("{name}: {package} {}", tools.version(package)?));
        }
        *remark = versions.join(", ");
        Ok(())
    }
}

const WITHOUT_TELEMETRY: [(&str, &str); 5] = [
    ("ASTRO_TELEMETRY_DISABLED", "1"),
    ("GATSBY_TELEMETRY_DISABLED", "1"),
    ("NG_CLI_ANALYTICS", "false"),
    ("NUXT_TELEMETRY_DISABLED", "1"),
    ("STORYBOOK_DISABLE_TELEMETRY", "1"),
];
