#!/usr/bin/env node
// Checked before anything else is imported: an older Node.js cannot read it.
if (Number(process.versions.node.split(".")[0]) < 20) {
  console.error(`guichet-sandbox: This is Node.js ${process.versions.node}, and guichet-sandbox needs 20 or newer. Install it from https://nodejs.org.`);
  process.exitCode = 1;
} else {
  const { run } = await import("./command.js");
  await run(process.argv.slice(2));
}
