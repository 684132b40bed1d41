/** A download whose process is killed 20 times: each one continues, and the file is complete and correct at the end. */
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startHub } from "../../test/node/local-engine/hub.ts";
import { becomes, remove } from "./gateway.ts";

const KILLS = 20;
const PIECE_BYTES = 50_000;
const NAME = "bge-small-en-v1.5";
const REPOSITORY = "CompendiumLabs/bge-small-en-v1.5-gguf";
const FILE = "bge-small-en-v1.5-q8_0.gguf";

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

export async function interrupt(): Promise<boolean> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-tool-"));
	const hub = await startHub();
	const content = randomBytes(PIECE_BYTES * (KILLS + 1));
	hub.files.set(`${REPOSITORY}/${FILE}`, content);
	hub.cutAfter = PIECE_BYTES;
	const pull = () =>
		spawn(process.execPath, [resolve("dist/cli/index.js"), "models", "pull", NAME], {
			env: { ...process.env, GANGLION_MODELS: folder, GANGLION_HUB: hub.url },
			stdio: "ignore",
		});
	const files = (): string[] =>
		readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
	const partBytes = (): number =>
		files()
			.filter((name) => name.endsWith(".part"))
			.reduce((sum, name) => sum + statSync(name).size, 0);
	let grew = 0;
	hub.fault = "silent amid";
	for (let count = 0; count < KILLS; count++) {
		const before = partBytes();
		const child = pull();
		if (await becomes(() => partBytes() > before)) grew += 1;
		child.kill("SIGKILL");
		await once(child, "exit");
	}
	hub.fault = undefined;
	const [code] = await once(pull(), "exit");
	const path = files().find((name) => name.endsWith(FILE));
	const isCorrect = path !== undefined && sha256(readFileSync(path)) === sha256(content);
	const left = files().filter((name) => /\.(?:part|lock)$/.test(name));
	const ranges = new Set(hub.requests.filter((line) => line.startsWith("/storage")));
	console.log(
		`${KILLS} kills: ${grew} continued; then exit ${code}, the file is ${isCorrect ? "correct" : "WRONG"}; ${ranges.size} different ranges were requested; left beside it: ${left.length}`,
	);
	hub.close();
	remove(folder);
	return code === 0 && isCorrect && grew === KILLS && left.length === 0;
}
