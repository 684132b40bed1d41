/**
 * `npm run backup -- --state FOLDER --to FOLDER`: a copy of a gateway's state, also while it runs. SQLite itself copies each
 * database, so each account is consistent in itself, at its own moment. A plain copy of the files may be torn.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { readOptions } from "./options.ts";
import { stopWith } from "./settings.ts";
import { ROOT } from "./worker.ts";

const USAGE = `npm run backup -- --to FOLDER [--state FOLDER]

  --to FOLDER      where the copy goes: a folder that does not exist yet
  --state FOLDER   the state of npm run serve (.ganglion)`;

const values = readOptions(
	{ to: { type: "string" }, state: { type: "string", default: join(ROOT, ".ganglion") } },
	USAGE,
);
const base = process.env.INIT_CWD ?? process.cwd();
if (values.to === undefined) stopWith(`--to: expected a folder, found nothing\n\n${USAGE}`);
const [from, to] = [resolve(base, values.state), resolve(base, values.to)];
const objects = join(from, "objects");
if (!existsSync(objects)) stopWith(`--state: ${from} holds no state of npm run serve`);
if (existsSync(to)) stopWith(`--to: ${to} exists: name a new folder`);

// Named at the end: what has the name is whole.
const unfinished = `${to}.unfinished`;
rmSync(unfinished, { recursive: true, force: true });
let count = 0;
for (const name of readdirSync(objects, { recursive: true, encoding: "utf8" })) {
	if (!name.endsWith(".sqlite")) continue;
	const file = join(objects, name);
	const target = join(unfinished, relative(from, file));
	mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
	const source = new DatabaseSync(file, { readOnly: true });
	try {
		await backup(source, target);
	} catch (error) {
		stopWith(`${file} cannot be copied: ${error instanceof Error ? error.message : error}`);
	} finally {
		source.close();
	}
	count++;
}
renameSync(unfinished, to);
console.log(`${count} databases are copied to ${to}`);
