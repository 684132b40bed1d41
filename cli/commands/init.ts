/** `ganglion init`: makes `env.AI` of an existing Worker a local gateway in development. `ganglion create`: a new Worker with one. */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { cannotBeRead, cannotBeWritten } from "../../scripts/file-failure.ts";
import { makeFolder } from "../../scripts/make-folder.ts";
import { ROOT } from "../../scripts/root.ts";
import { shellQuoted } from "../../src/core/shell.ts";
import { CommandError } from "../gateway-client.ts";
import { diffOf, InitError, nodeNote, withDependency, withPlugin, workerName } from "../init.ts";
import { specifierFor } from "../specifier.ts";

export interface InitFlags {
	/** The project's folder. */
	folder: string;
	binding?: string;
	/** A version or another specifier of npm. */
	package?: string;
	yes?: boolean;
	dryRun?: boolean;
}

const CONFIG_NAMES = ["wrangler.jsonc", "wrangler.json"];
const TEMPLATE = join(ROOT, "templates/worker");
/** Replaced in the files of the template. */
const NAME = "ganglion-worker";

export async function initCommand(flags: InitFlags): Promise<number> {
	const files = plannedFiles(flags);
	const diff = files.map(({ name, before, after }) => diffOf(name, before, after)).join("");
	if (diff === "") {
		console.log("Nothing to do: the plugin and the dependency are present.");
		return 0;
	}
	console.log(diff);
	if (flags.dryRun) return 0;
	if (!flags.yes && !(await isConfirmed())) {
		console.error("Nothing is written. Use --yes to write without a question.");
		return 1;
	}
	for (const { path, before, after } of files) if (before !== after) write(path, after);
	console.log(`Written. Next: npm install, then npx wrangler dev${nodeNote(process.versions.node)}`);
	return 0;
}

function write(path: string, text: string): void {
	try {
		writeFileSync(path, text);
	} catch (error) {
		throw new CommandError(cannotBeWritten(path, error));
	}
}

interface PlannedFile {
	name: string;
	path: string;
	before: string;
	after: string;
}

function plannedFiles({
	folder,
	binding,
	package: version = specifierFor(folder),
}: InitFlags): PlannedFile[] {
	const config = CONFIG_NAMES.find((name) => existsSync(join(folder, name)));
	if (config === undefined)
		throw new CommandError(
			existsSync(join(folder, "wrangler.toml"))
				? "wrangler.toml cannot be edited without the loss of comments: add the block of docs/local-binding.md"
				: `${folder} has no wrangler.jsonc: run this in the folder of a Worker, or make a new one with npx ganglion create`,
		);
	const planned = (name: string, edit: (text: string) => string): PlannedFile => {
		const path = join(folder, name);
		try {
			const before = existsSync(path) ? readFileSync(path, "utf8") : "";
			return { name, path, before, after: edit(before) };
		} catch (error) {
			throw new CommandError(error instanceof InitError ? error.message : cannotBeRead(path, error));
		}
	};
	return [
		planned(config, (text) => withPlugin(text, binding)),
		planned("package.json", (text) => withDependency(text || "{}", version)),
	];
}

async function isConfirmed(): Promise<boolean> {
	if (!process.stdin.isTTY) return false;
	const prompt = createInterface({ input: process.stdin, output: process.stdout });
	const answer = await prompt.question("Write these changes? [y/N] ");
	prompt.close();
	return /^y(?:es)?$/i.test(answer.trim());
}

/** A path as one word of a shell. */
const shellWord = (path: string): string => (/^[\w./:\\-]+$/.test(path) ? path : shellQuoted(path));

/** `folder`: an absolute path. It must be empty or absent. `version`: a version or another specifier of npm. */
export async function createCommand(folder: string, version = specifierFor(folder)): Promise<number> {
	const name = workerName(basename(folder)) || NAME;
	try {
		makeFolder(folder);
		if (readdirSync(folder).length > 0) throw new CommandError(`${folder} is not empty: name a new folder`);
		cpSync(TEMPLATE, folder, { recursive: true });
	} catch (error) {
		throw error instanceof CommandError ? error : new CommandError(cannotBeWritten(folder, error));
	}
	for (const file of ["package.json", "wrangler.jsonc", "README.md"]) {
		const path = join(folder, file);
		writeFileSync(path, readFileSync(path, "utf8").replaceAll(NAME, name));
	}
	const manifest = join(folder, "package.json");
	writeFileSync(manifest, withDependency(readFileSync(manifest, "utf8"), version));
	console.log(
		`A Worker is in ${folder}. Next:\n  cd ${shellWord(folder)}\n  npm install\n  npm run dev${nodeNote(process.versions.node)}`,
	);
	return 0;
}
