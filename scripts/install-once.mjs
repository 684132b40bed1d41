/** Installs packages into a folder outside of the project, once for all checkouts. JavaScript, because older versions of Node run it. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export function installOnce(folder, files, ...args) {
	if (existsSync(folder)) return;
	mkdirSync(dirname(folder), { recursive: true });
	const started = mkdtempSync(`${folder}-`);
	for (const [name, text] of Object.entries(files)) writeFileSync(join(started, name), text);
	execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], {
		cwd: started,
		// Not the variables that npm sets for its scripts: they name the project's folder and options.
		env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
		shell: process.platform === "win32",
		stdio: ["ignore", "ignore", "inherit"],
	});
	try {
		renameSync(started, folder);
	} catch (error) {
		// Another checkout was faster.
		if (!existsSync(folder)) throw error;
		rmSync(started, { recursive: true });
	}
}
