/**
 * The packed package in an empty folder, without wrangler and the other tools of this project, under the Node of the machine, which
 * may be older than the project's. `workerd` is a link to this checkout, so that no registry is needed.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import {
	cpSync,
	existsSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeNote } from "../../../cli/init.ts";
import { freePort } from "../../../scripts/free-port.ts";
import { packInto } from "../packed.ts";
import { ganglion, type Result } from "./run.ts";

const MAX_MEGABYTES = 200;
/** An option that is a setting needs a gateway of its own, also if another one answers on the default port. */
const STARTED = "Started a gateway for this answer, because of --no-local-engines.\n";
const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

/** Without the folders of npm scripts, which contain the project's own Node. */
const PATH = (process.env.PATH ?? "")
	.split(delimiter)
	.filter((folder) => !folder.includes("node_modules"))
	.join(delimiter);
const systemNode = execFileSync("node", ["-p", "process.execPath"], {
	env: { ...process.env, PATH },
	encoding: "utf8",
}).trim();

let folder = "";
beforeAll(() => {
	folder = realpathSync(mkdtempSync(join(tmpdir(), "ganglion-empty-")));
	const env = { ...process.env, PATH, HOME: folder };
	const tarball = packInto(folder, env);
	const overrides = { workerd: `file:${resolve("node_modules/workerd")}` };
	writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, overrides }));
	const install = ["install", "--offline", "--no-audit", "--no-fund", `./${tarball}`];
	execFileSync("npm", install, { cwd: folder, env, stdio: "pipe" });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], env: Record<string, string> = {}, node = systemNode): Promise<Result> =>
	ganglion(args, {
		node,
		cli: join(folder, "node_modules/.bin/ganglion"),
		cwd: folder,
		env: { HOME: folder, PATH, ...env },
	});

/** Files by their inodes: the runtime may have a second name, which uses no space. */
function filesIn(path: string): [inode: number, bytes: number][] {
	const { ino, size, isDirectory } = statOf(path);
	return isDirectory ? readdirSync(path).flatMap((name) => filesIn(join(path, name))) : [[ino, size]];
}

function statOf(path: string): { ino: number; size: number; isDirectory: boolean } {
	const stat = lstatSync(path);
	return { ino: stat.ino, size: stat.size, isDirectory: stat.isDirectory() };
}

/** The runtime is a process of its own, so the command must end by itself. */
async function stop(child: ChildProcess): Promise<number | null> {
	if (child.exitCode !== null) return child.exitCode;
	const exit = new Promise<number | null>((done) => child.once("exit", done));
	child.kill("SIGTERM");
	return exit;
}

describe("the repository", () => {
	it("names `npm install` before it has run", () => {
		const checkout = join(folder, "uninstalled");
		mkdirSync(join(checkout, "scripts"), { recursive: true });
		for (const file of ["package.json", "scripts/needs-install.mjs", "scripts/node-version.mjs"])
			cpSync(file, join(checkout, file));
		const env = { ...process.env, PATH, HOME: folder };
		for (const script of ["dev", "serve", "build"]) {
			const { status, stderr } = spawnSync("npm", ["run", "--silent", script], {
				cwd: checkout,
				env,
				encoding: "utf8",
			});
			expect({ script, status, stderr }).toEqual({
				script,
				status: 1,
				stderr: expect.stringMatching(
					/^error: run npm install first \(it adds the packages, and a newer Node .*\)\n$/,
				),
			});
		}
	});

	it("has a command before `npm run build`, which names the build, and which npm finds after it", () => {
		const checkout = join(folder, "checkout");
		const { bin, version } = JSON.parse(readFileSync("package.json", "utf8"));
		mkdirSync(join(checkout, "cli"), { recursive: true });
		cpSync("cli/ganglion.mjs", join(checkout, "cli/ganglion.mjs"));
		writeFileSync(
			join(checkout, "package.json"),
			JSON.stringify({ name: "ganglion", version, bin, type: "module" }),
		);
		const npx = () =>
			spawnSync("npm", ["exec", "--offline", "--", "ganglion", "--version"], {
				cwd: checkout,
				env: { ...process.env, PATH, HOME: folder },
				encoding: "utf8",
			});
		const before = npx();
		expect({ status: before.status, stderr: before.stderr }).toEqual({
			status: 1,
			stderr: `error: ganglion is not built: run \`npm run build\` in ${checkout}/\n`,
		});
		mkdirSync(join(checkout, "dist/cli"), { recursive: true });
		writeFileSync(join(checkout, "dist/cli/index.js"), "console.log(process.argv[2]);");
		expect(npx()).toMatchObject({ status: 0, stdout: "--version\n" });
	});
});

describe("the installed package", () => {
	it("has no script that its installation runs or warns of", () => {
		const { scripts } = JSON.parse(readFileSync(join(folder, "node_modules/ganglion/package.json"), "utf8"));
		expect(Object.keys(scripts)).not.toEqual(
			expect.arrayContaining([expect.stringMatching(/^(?:preinstall|install|postinstall|prepare)$/)]),
		);
	});

	it("brings the runtime and nothing else, in at most 200 MB", () => {
		const modules = join(folder, "node_modules");
		expect(readdirSync(modules).filter((name) => !name.startsWith("."))).toEqual(["ganglion", "workerd"]);
		// The runtime is a file of `workerd`, or of a package for the platform.
		const runtime = resolve("node_modules/@cloudflare");
		const platforms = readdirSync(runtime).filter((name) => name.startsWith("workerd-"));
		const installed = [
			join(modules, "ganglion"),
			realpathSync(join(modules, "workerd")),
			...platforms.map((name) => join(runtime, name)),
		];
		const sizes = new Map(installed.flatMap(filesIn));
		const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
		expect(bytes / 2 ** 20).toBeLessThan(MAX_MEGABYTES);
	});

	it("streams a first answer with one command, as the picture of the README shows, and leaves nothing behind", async () => {
		const before = readdirSync(folder);
		const { code, stdout, stderr } = await run(["try", MODEL, "Hello, who are you?", "--no-local-engines"]);
		const summary = /\(13 \+ 43 tokens, 9\.15 neurons, first text after \d+ ms, \d+ ms\)/;
		expect(stderr).toMatch(new RegExp(`^${STARTED}${summary.source}\n$`));
		const answer = `Simulated reply from Ganglion for ${MODEL}: no model ran. You wrote: "Hello, who are you?".`;
		expect({ code, stdout }).toEqual({ code: 0, stdout: `${answer}\n` });
		expect(readdirSync(folder)).toEqual(before);
		const picture = readFileSync("docs/terminal.svg", "utf8");
		expect(picture).toContain(`npx ganglion try ${MODEL} 'Hello, who are you?'`);
		expect(picture).toContain(answer);
		expect(picture).toMatch(summary);
	});

	it("converts a PDF with one command, and ends at a file that is not there", async () => {
		const file = resolve("test/fixtures/documents/tagged.pdf");
		const converted = await run(["markdown", file, "--no-local-engines"]);
		expect(converted.stderr).toBe(STARTED);
		expect(converted.code).toBe(0);
		expect(converted.stdout).toMatch(/^# tagged\.pdf\n## Metadata\n/);
		expect(converted.stdout).toContain("\n# Quarterly report\n");

		const prompt = ["try", MODEL, "Reply with exactly: read", "--no-local-engines"];
		const answer = await run([...prompt, "--file", file, "--json"]);
		const { usage } = JSON.parse(answer.stdout);
		expect(usage.prompt_tokens).toBeGreaterThan(100);

		const { code, stdout, stderr } = await run(["markdown", file, "missing.pdf", "--no-local-engines"]);
		expect({ code, stdout }).toEqual({ code: 1, stdout: converted.stdout });
		expect(stderr).toMatch(/error: missing\.pdf cannot be read: there is no such file\n$/);
	});

	it("refuses an option that the gateway of --url cannot read", async () => {
		const { code, stderr } = await run([
			"try",
			MODEL,
			"Hi",
			"--url",
			"http://127.0.0.1:9",
			"--backend",
			"gpu=http://a/v1",
		]);
		expect({ code, stderr }).toEqual({
			code: 1,
			stderr: "error: the gateway of --url has its own settings: leave out --backend\n",
		});
	});

	it("runs dev with the settings of the folder, reloads them, and keeps its accounts there", async () => {
		const port = await freePort();
		const config = join(folder, "ganglion.jsonc");
		const write = (pattern: string) =>
			writeFileSync(
				config,
				`{ // routes\n"vars": { "ROUTES": { "${pattern}": [{ "backend": "simulator" }] } } }`,
			);
		write("@cf/meta/*");
		const child = spawn(
			systemNode,
			[join(folder, "node_modules/.bin/ganglion"), "dev", "--port", String(port), "--log-format", "json"],
			{ cwd: folder, env: { ...process.env, PATH, HOME: folder } },
		);
		let output = "";
		const until = (pattern: RegExp) => expect.poll(() => output, { timeout: 60_000 }).toMatch(pattern);
		child.stdout.on("data", (chunk) => {
			output += chunk;
		});
		try {
			await until(/"message":"ready"/);
			const { routes, url } = JSON.parse(output.split("\n")[0] ?? "");
			expect(routes).toEqual(["@cf/meta/*       ->  simulator", "everything else  ->  simulator"]);
			const answer = await fetch(`${url}/client/v4/accounts/local/ai/run/${MODEL}`, {
				method: "POST",
				body: '{"prompt":"Reply with exactly: hi"}',
			});
			expect(await answer.json()).toMatchObject({ result: { response: "hi" } });
			write("@cf/qwen/*");
			await until(/"message":"reloaded".*@cf\/qwen/);
			expect(await stop(child)).toBe(0);
			expect(existsSync(join(folder, ".ganglion/objects"))).toBe(true);
		} finally {
			await stop(child);
			rmSync(config);
		}
	});

	it("refuses a second gateway with the same state, also of another version of Node", async () => {
		const port = String(await freePort());
		const args = [
			"serve",
			"--backend",
			"gpu=http://127.0.0.1:9/v1",
			"--route",
			"*=gpu:a/b:c",
			"--port",
			port,
		];
		const child = spawn(systemNode, [join(folder, "node_modules/.bin/ganglion"), ...args], {
			cwd: folder,
			env: { ...process.env, PATH, HOME: folder },
		});
		let output = "";
		child.stdout.on("data", (chunk) => {
			output += chunk;
		});
		try {
			await expect.poll(() => output, { timeout: 60_000 }).toMatch(/is ready[\s\S]*Open files/);
			expect(output).toContain("*  ->  gpu (http://127.0.0.1:9/v1) a/b:c");
			for (const node of [systemNode, process.execPath]) {
				const second = await run([...args.slice(0, -1), String(await freePort())], {}, node);
				expect(second.code).toBe(1);
				expect(second.stderr).toMatch(
					/^cannot keep state in .*: another gateway uses it: give each its own --state\n$/m,
				);
			}
		} finally {
			await stop(child);
		}
	});

	it("creates a Worker that depends on the tarball from which npm installed it", async () => {
		const { code, stdout } = await run(["create", "shop"]);
		expect(code).toBe(0);
		const version = execFileSync(systemNode, ["-p", "process.versions.node"], { encoding: "utf8" }).trim();
		expect(stdout.endsWith(`\n  npm run dev${nodeNote(version)}\n`), stdout).toBe(true);
		const [tarball] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
		const { devDependencies } = JSON.parse(readFileSync(join(folder, "shop/package.json"), "utf8"));
		expect(devDependencies.ganglion).toBe(`file:../${tarball}`);
	});

	it("has the version of the package, and completions for the shells", async () => {
		const { version } = JSON.parse(readFileSync("package.json", "utf8"));
		expect((await run(["--version"])).stdout).toBe(`${version}\n`);
		for (const shell of ["bash", "zsh", "fish"]) {
			const { code, stdout } = await run(["completion", shell]);
			expect(code).toBe(0);
			expect(stdout).toContain("ganglion");
			if (shell === "bash") execFileSync("bash", ["-n"], { input: stdout });
		}
		expect((await run(["complete", "--", "token", ""])).stdout).toMatch(
			/^create\t[^\n]*\nlist\t[^\n]*\nrevoke\t/,
		);
		expect((await run(["complete", "--", "serve", "--log-format", ""])).stdout).toMatch(/^text\t\njson\t\n/);
	});
});
