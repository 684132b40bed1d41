/** The installation of the packages that run ONNX models, with a scripted npm: it takes a moment, and counts its runs. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const INSTALL = `
	const { installEngine } = await import(${JSON.stringify(resolve("scripts/local-engine/packages.ts"))});
	console.log(await installEngine(process.env, () => {}));
`;

let folder: string;
let env: Record<string, string | undefined>;
const runs = (): string[] => {
	const file = join(folder, "runs");
	return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-packages-"));
	const npm = join(folder, "bin/npm");
	mkdirSync(join(folder, "bin"));
	writeFileSync(
		npm,
		`#!/bin/sh\nmkdir node_modules\necho $$ >> ${folder}/runs\nsleep 1\necho done > node_modules/complete\n`,
	);
	chmodSync(npm, 0o755);
	env = {
		...process.env,
		PATH: [join(folder, "bin"), process.env.PATH].join(delimiter),
		GANGLION_ENGINE_PACKAGES: join(folder, "engine"),
	};
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const args = ["--input-type=module", "-e", INSTALL];
const install = async (): Promise<string> =>
	(await promisify(execFile)(process.execPath, args, { env: env as NodeJS.ProcessEnv })).stdout.trim();

/** The folder of the one version, complete and alone. */
function expectComplete(program: string): void {
	const names = readdirSync(join(folder, "engine"));
	expect(names).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
	const installed = join(folder, "engine", names[0] ?? "");
	expect(readFileSync(join(installed, "node_modules/complete"), "utf8")).toBe("done\n");
	expect(program.startsWith(installed)).toBe(true);
	expect(existsSync(program)).toBe(true);
}

it.skipIf(process.platform === "win32")(
	"is done once by processes that need it at the same time",
	async () => {
		const programs = await Promise.all([install(), install(), install()]);
		expect(new Set(programs).size).toBe(1);
		expect(runs()).toHaveLength(1);
		expectComplete(programs[0] ?? "");
	},
);

it("names the folder that cannot be written, and the setting", async () => {
	const file = join(folder, "file");
	writeFileSync(file, "");
	env.GANGLION_ENGINE_PACKAGES = join(file, "engine");
	await expect(install()).rejects.toThrow(
		/\/file\/engine\S* cannot be written: [a-z ,]+ \((?:EEXIST|ENOTDIR)\): move the file away, or set GANGLION_ENGINE_PACKAGES to another folder/,
	);
});

it.skipIf(process.platform === "win32")("starts anew after a kill, which leaves nothing", async () => {
	const killed = spawn(process.execPath, args, { env: env as NodeJS.ProcessEnv, stdio: "ignore" });
	await expect.poll(() => runs().length, { timeout: 20_000 }).toBe(1);
	killed.kill("SIGKILL");
	await once(killed, "exit");
	const program = await install();
	expect(runs()).toHaveLength(2);
	expectComplete(program);
});
