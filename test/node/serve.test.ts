/**
 * `ganglion serve` as an operator runs it, as built, and by npm where npm matters: secrets, state that stays, an end that waits for
 * answers, and its mistakes.
 */
import { once } from "node:events";
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRunning } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "./cli/run.ts";
import { sharedProcess } from "./cli/shared-process.ts";
import { runScript, type Script, stopScripts } from "./script.ts";

const ADMIN_TOKEN = "an-admin-token-that-no-file-may-have";
const ENGINE_KEY = "an-engine-key-that-no-file-may-have";
const MODEL = "@cf/meta/llama-3.1-8b-instruct-fast";
const READY = /Accounts and bills are in .*\n[\s\S]*\n/;

let folder = "";
let engine: Server | undefined;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-serve-"));
	mkdirSync(join(folder, "tmp"));
});
afterEach(() => {
	stopScripts();
	engine?.closeAllConnections();
	engine?.close();
	engine = undefined;
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

interface Options {
	args?: string[];
	env?: Record<string, string>;
	npm?: string;
	group?: boolean;
}

async function start({ args = [], env = {}, ...how }: Options = {}): Promise<{
	script: Script;
	url: string;
	port: string;
}> {
	const port = String(await freePort());
	const own = ["--port", port, "--state", join(folder, "state")];
	const command = how.npm === undefined ? ["serve"] : [];
	const script = runScript(CLI, [...command, ...own, ...args], {
		env: { TMPDIR: join(folder, "tmp"), ...env },
		...how,
	});
	return { script, port, url: `http://127.0.0.1:${port}` };
}

const shared = sharedProcess();

/** The command ends before it starts a process. */
async function expectStop(
	args: readonly string[],
	said: RegExp,
	env: Record<string, string> = {},
): Promise<void> {
	const own = ["--port", String(await freePort()), "--state", join(folder, "state")];
	const { code, stdout, stderr } = await shared(["serve", ...own, ...args], { env });
	expect([code, stdout]).toEqual([1, ""]);
	expect(stderr).toMatch(said);
	expect(stderr).not.toContain("    at ");
}

async function startEngine(answer: RequestListener): Promise<string> {
	engine = createServer(answer).listen(0, "127.0.0.1");
	await once(engine, "listening");
	return `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`;
}

const as = (token: string) => ({ authorization: `Bearer ${token}` });

async function createToken(account: string): Promise<string> {
	const groups = await fetch(`${account}/tokens/permission_groups`, { headers: as(ADMIN_TOKEN) });
	const { result } = (await groups.json()) as { result: { id: string; name: string }[] };
	const group = result.find(({ name }) => name === "Workers AI Read");
	const created = await fetch(`${account}/tokens`, {
		method: "POST",
		headers: as(ADMIN_TOKEN),
		body: JSON.stringify({
			name: "test",
			policies: [
				{
					effect: "allow",
					permission_groups: [{ id: group?.id }],
					resources: { "com.cloudflare.api.account.acme": "*" },
				},
			],
		}),
	});
	const { result: token } = (await created.json()) as { result: { value: string } };
	return token.value;
}

const filesIn = (path: string): string[] =>
	readdirSync(path, { recursive: true, encoding: "utf8" })
		.map((name) => join(path, name))
		.filter((file) => statSync(file).isFile());

describe("ganglion serve", () => {
	it("keeps tokens and bills on this machine's disk, and secrets in no file", async () => {
		const url = await startEngine((request, response) => {
			expect(request.headers.authorization).toBe(`Bearer ${ENGINE_KEY}`);
			response.setHeader("content-type", "application/json").end(
				JSON.stringify({
					choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
					usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
				}),
			);
		});
		const env = {
			ADMIN_TOKEN,
			ENGINE_KEY,
			BACKENDS: JSON.stringify({ engine: { kind: "openai", url, key: "ENGINE_KEY" } }),
			ROUTES: JSON.stringify({ "@cf/meta/*": [{ backend: "engine" }] }),
		};
		const first = await start({ env });
		const output = await first.script.until(READY);
		expect(output).toMatch(new RegExp(`^\nGanglion is ready on ${first.url}\n`));
		expect(output).toContain(`Console: ${first.url}/console\n`);
		expect(output).toContain("@cf/meta/*       ->  engine");
		expect(output).toContain("everything else  ->  nothing");
		expect(output).not.toMatch(/warn|error|ADMIN_TOKEN|key-that/i);

		const run = `client/v4/accounts/acme/ai/run/${MODEL}`;
		const ask = (at: string, token: string) =>
			fetch(`${at}/${run}`, { method: "POST", headers: as(token), body: '{"prompt":"hi"}' });
		expect((await ask(first.url, "nobody")).status).toBe(401);
		const token = await createToken(`${first.url}/client/v4/accounts/acme`);
		expect(await (await ask(first.url, token)).json()).toMatchObject({ result: { response: "Hi" } });
		for (const file of filesIn(folder)) expect(readFileSync(file, "utf8"), file).not.toMatch(/-that-no-file/);
		for (const file of filesIn(join(folder, "state"))) expect(statSync(file).mode & 0o077, file).toBe(0);

		first.script.kill("SIGTERM");
		expect(await first.script.exit).toBe(0);
		expect(filesIn(join(folder, "tmp"))).toEqual([]);

		const second = await start({ env });
		await second.script.until(READY);
		const usage = await fetch(`${second.url}/client/v4/accounts/acme/ai/usage`, { headers: as(ADMIN_TOKEN) });
		expect(await usage.json()).toMatchObject({ result_info: { totals: { requests: 1 } } });
		expect((await ask(second.url, token)).status).toBe(200);
	});

	it.each([
		["SIGTERM, to the script", "SIGTERM", {}, undefined],
		["SIGTERM, to npm", "SIGTERM", { npm: "serve" }, undefined],
		["Ctrl-C, to all of a terminal's processes", "SIGINT", { npm: "serve", group: true }, "group"],
	] as const)("completes and bills the answers in progress at %s", async (_, signal, how, to) => {
		let goOn = () => {};
		const url = await startEngine((_, response) => {
			const chunk = (delta: object, finish_reason: string | null = null) =>
				response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
			response.setHeader("content-type", "text/event-stream");
			chunk({ content: "one" });
			goOn = () => {
				chunk({ content: " two" });
				chunk({}, "stop");
				response.end("data: [DONE]\n\n");
			};
		});
		const env = {
			ALLOW_ANONYMOUS: "true",
			BACKENDS: JSON.stringify({ engine: { kind: "openai", url } }),
			ROUTES: JSON.stringify({ "*": [{ backend: "engine" }] }),
		};
		const { script, url: gateway } = await start({ env, ...how });
		expect(await script.until(READY)).toContain("Open to everyone");
		const account = "client/v4/accounts/acme/ai";
		const answer = await fetch(`${gateway}/${account}/v1/chat/completions`, {
			method: "POST",
			body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "hi" }], stream: true }),
		});
		const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
		let text = (await reader?.read())?.value ?? "";
		expect(text).toContain("one");
		script.kill(signal, to);
		await script.until(/Waiting for running answers/);
		// Who comes now is told to come back, and not left to wait.
		await expect.poll(async () => (await fetch(`${gateway}/`)).status).toBe(503);
		goOn();
		for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) text += read.value;
		expect(text).toContain(" two");
		expect(text).toMatch(/data: \[DONE\]\n\n$/);
		expect(await script.exit).toBe(0);

		const again = await start({ env });
		await again.script.until(READY);
		const requests = await fetch(`${again.url}/${account}/usage/requests`);
		expect(await requests.json()).toMatchObject({ result: [{ outcome: "ok" }] });
	});

	it("reloads 5 times under load, refuses no request, and keeps the old settings if the new ones are invalid", async () => {
		const config = join(folder, "wrangler.json");
		// In one step: the gateway may read the file at any time.
		const write = (model: string, more: object = {}) => {
			const vars = {
				ALLOW_ANONYMOUS: "true",
				BACKENDS: { engine: { kind: "openai", url } },
				ROUTES: { "*": [{ backend: "engine", model }] },
				...more,
			};
			writeFileSync(`${config}.new`, JSON.stringify({ vars }));
			renameSync(`${config}.new`, config);
		};
		const url = await startEngine(async (request, response) => {
			const { model } = (await json(request)) as { model: string };
			const choices = [{ index: 0, message: { role: "assistant", content: model }, finish_reason: "stop" }];
			response.setHeader("content-type", "application/json").end(JSON.stringify({ choices }));
		});
		write("model-0");
		const { script, url: gateway } = await start({ args: ["--config", config] });
		await script.until(READY);
		const run = `${gateway}/client/v4/accounts/acme/ai/run/${MODEL}`;
		const ask = async (): Promise<string> => {
			const answer = await fetch(run, { method: "POST", body: '{"prompt":"hi"}' });
			const { result } = (await answer.json()) as { result: { response: string } };
			return answer.status === 200 ? result.response : `status ${answer.status}`;
		};
		let loading = true;
		const answers: string[] = [];
		const load = async () => {
			while (loading) answers.push(await ask());
		};
		const callers = Array.from({ length: 4 }, load);
		const reloaded = (model: string) => new RegExp(`Reloaded in \\d+ ms\\n\\n.*\\n.*engine .* ${model}\\n`);
		// By the file alone, then by the signal.
		write("model-1");
		await script.until(reloaded("model-1"));
		for (let i = 2; i <= 5; i++) {
			write(`model-${i}`);
			script.kill("SIGHUP");
			await script.until(reloaded(`model-${i}`));
		}
		loading = false;
		await Promise.all(callers);
		expect(answers.filter((answer) => !/^model-\d+$/.test(answer))).toEqual([]);
		expect(answers.length).toBeGreaterThan(5);
		expect(await ask()).toBe("model-5");
		expect((await fetch(`${gateway}/health`)).status).toBe(200);
		expect((await fetch(`${gateway}/ready`)).status).toBe(200);

		write("model-51", { BACKENDS: { engine: { kind: "openai", url: "nonsense" } } });
		// A reload may have read a file that was not complete yet, so the message is matched by its mistake.
		await script.until(
			/Not reloaded.*\n\s*BACKENDS\.engine\.url: expected the http or https address of an engine/,
		);
		expect(await ask()).toBe("model-5");
		script.kill("SIGTERM");
		expect(await script.exit).toBe(0);
	});

	it("can be copied while it runs; the copy has its bills and its tokens, also if a version without a directory has written it", async () => {
		const ADMIN_TOKEN = "the-admin-token-of-the-copied-state-32";
		const env = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator", ADMIN_TOKEN };
		// As in that version, the account has an object of its own. At its first request it moves to its shard.
		const { script, url } = await start({ env: { ...env, SHARDS: "0" } });
		await script.until(READY);
		const account = "client/v4/accounts/acme/ai";
		const created = await fetch(`${url}/client/v4/accounts/acme/tokens`, {
			method: "POST",
			headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
			body: JSON.stringify({
				name: "app",
				policies: [
					{
						effect: "allow",
						resources: { "com.cloudflare.api.account.acme": "*" },
						permission_groups: [{ id: "d3ab162cd977454484c09407d166146a" }],
					},
				],
			}),
		});
		const { result: token } = (await created.json()) as { result: { value: string } };
		for (let i = 0; i < 3; i++)
			await fetch(`${url}/${account}/run/${MODEL}`, { method: "POST", body: '{"prompt":"hi"}' });
		const bills = async (origin: string, token?: string) => {
			const headers = { ...(token && { authorization: `Bearer ${token}` }) };
			const answer = await fetch(`${origin}/${account}/usage/requests`, { headers });
			return ((await answer.json()) as { result: unknown[] }).result;
		};
		// A request that was admitted from a lease is stored with the next batch.
		await expect.poll(() => bills(url), { timeout: 10_000 }).toHaveLength(3);
		const copy = join(folder, "copy");
		const args = ["backup", "--state", join(folder, "state"), "--to", copy];
		const backup = runScript(CLI, args);
		expect(await backup.exit).toBe(0);
		const again = runScript(CLI, args);
		expect(await again.exit).toBe(1);
		expect(await again.until(/$/)).toMatch(/^--to: .*copy exists: name a new folder\n$/);
		expect((await fetch(`${url}/ready`)).status).toBe(200);

		rmSync(join(copy, "objects/Directory"), { recursive: true });
		const restored = await start({
			args: ["--state", copy],
			env: { DEFAULT_BACKEND: "simulator", ADMIN_TOKEN },
		});
		expect(await restored.script.until(READY)).toContain(
			"Accounts in a state of a version without a list of them: 1. Each is added to the list at its first request.",
		);
		const use = async (authorization: string): Promise<number> => {
			const run = `${restored.url}/${account}/run/${MODEL}`;
			return (await fetch(run, { method: "POST", headers: { authorization }, body: '{"prompt":"hi"}' }))
				.status;
		};
		expect(await use("Bearer glt_acme_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")).toBe(401);
		expect(await use(`Bearer ${token.value}`)).toBe(200);
		expect((await bills(restored.url, ADMIN_TOKEN)).length).toBeGreaterThanOrEqual(3);
	});

	it("reports a runtime that exits by itself, and the answers that it interrupted", async () => {
		const { script, url } = await start({ env: { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" } });
		await script.until(READY);
		expect((await fetch(`${url}/`)).status).toBe(200);
		process.kill(Number(readFileSync(join(folder, "state/workerd.pid"), "utf8")), "SIGKILL");
		expect(await script.exit).toBe(1);
		expect(await script.until(/$/)).toContain("workerd has stopped by itself (SIGKILL)");
	});

	it("does not start while the runtime of a killed script runs, which ends soon", async () => {
		const env = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" };
		const first = await start({ env });
		await first.script.until(READY);
		const left = Number(readFileSync(join(folder, "state/workerd.pid"), "utf8"));
		first.script.kill("SIGKILL");
		await first.script.exit;
		await expect.poll(() => isRunning(left), { timeout: 10_000 }).toBe(false);
		const socket = join(folder, "state/drain.sock");
		rmSync(socket, { force: true });
		const runtime = createServer().listen(socket);
		await once(runtime, "listening");
		const second = await start({ env });
		expect(await second.script.exit).toBe(1);
		expect(await second.script.until(/$/)).toContain(`still uses it: stop it first (kill ${left})`);
		runtime.close();
		expect(await (await start({ env })).script.until(READY)).toContain("is ready");
	});

	it("warns about a missing ADMIN_TOKEN, and shares neither its address nor its state", async () => {
		const first = await start({ env: { ADMIN_TOKEN: "" } });
		expect(await first.script.until(/export ADMIN_TOKEN/)).toContain("No ADMIN_TOKEN is set");

		const sameState = await start();
		expect(await sameState.script.exit).toBe(1);
		expect(await sameState.script.until(/$/)).toMatch(
			/^cannot keep state in .*: another gateway uses .*--state\n$/,
		);

		const other = ["--state", join(folder, "other"), "--port", first.port];
		const samePort = await start({ args: other });
		expect(await samePort.script.exit).toBe(1);
		expect(await samePort.script.until(/$/)).toMatch(/^port \d+ of 127\.0\.0\.1 is in use: .*--port\n$/);
	});

	it.each([
		[["--prot", "1"], {}, /^error: unknown option '--prot'\n\(Did you mean --port\?\)/],
		[["--config", "missing.jsonc"], {}, /missing\.jsonc/],
		[
			["--config", "wrangler.jsonc", "--env", "nope"],
			{},
			/--env: the file has no environments, found "nope"/,
		],
		[
			["--state", "package.json"],
			{},
			/^cannot keep state in .*package\.json: a file has this name, where a folder is needed \(EEXIST\)\n$/,
		],
		[
			["--state", "package.json/state"],
			{},
			/^cannot keep state in .*: a part of the path is a file, where a folder is needed \(ENOTDIR\)\n$/,
		],
		[[], { ROUTES: '{"*":[{"backend":"nobody"}]}' }, /ROUTES\["\*"\]\[0\]\.backend/],
	])("stops before it starts on a mistake: %j %j", async (args, env, said) => {
		await expectStop(args, said, env);
	});

	it.each([
		[
			"a configuration",
			"w.jsonc",
			'{\n  "vars": {\n    "ROUTES": { "a": [ }\n  }\n}\n',
			/w\.jsonc:3:\d+: expected a value/,
		],
		[
			"a configuration without a comma",
			"c.jsonc",
			'{\n  "vars": { "LIMITS": {} "ROUTES": {} }\n}\n',
			/c\.jsonc:2:\d+: expected a comma/,
		],
		["a configuration in TOML", "w.toml", 'name = "x"\n[vars]\nROUTES = = 1\n', /w\.toml:3:\d+: /],
	])("reports the position of a syntax error in %s", async (_, name, text, where) => {
		const config = join(folder, name);
		writeFileSync(config, text);
		await expectStop(["--config", config], where);
	});

	it("needs only the variables of a configuration", async () => {
		const config = join(folder, "wrangler.json");
		const ROUTES = { "@cf/meta/llama-3.1-8b-instruct-fsat": [{ backend: "simulator" }] };
		const vars = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator", ROUTES };
		writeFileSync(config, JSON.stringify({ vars }));
		const { script, url } = await start({ args: ["--config", config] });
		const output = await script.until(READY);
		expect(output).toContain('did you mean "@cf/meta/llama-3.1-8b-instruct-fast"?');
		const run = `${url}/client/v4/accounts/acme/ai/run/${MODEL}`;
		expect((await fetch(run, { method: "POST", body: '{"prompt":"hi"}' })).status).toBe(200);
	});

	it("explains how npm passes an option to the script", async () => {
		const env = { npm_lifecycle_event: "serve", npm_config_port: "true", npm_config_state: "true" };
		const script = runScript("scripts/serve.ts", ["9000"], { env });
		expect(await script.exit).toBe(1);
		expect(await script.until(/$/)).toBe(
			'npm took --port, --state for its own. Put "--" before the options: npm run serve -- --port … --state …\n',
		);
	});

	it("names the project's own file in its help", async () => {
		const help = await runScript("scripts/serve.ts", ["--help"]).until(/--env/);
		expect(help).toContain("configuration file (wrangler.jsonc of the project)");
	});

	it("reads variables that the environment does not have from the configuration, also from a named environment", async () => {
		const config = join(folder, "wrangler.json");
		const vars = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" };
		const durable_objects = {
			bindings: [
				{ name: "ACCOUNT", class_name: "Account" },
				{ name: "DIRECTORY", class_name: "Directory" },
				{ name: "FLEET", class_name: "Fleet" },
				{ name: "GATEWAYS", class_name: "GatewayRegistry" },
				{ name: "GATEWAY", class_name: "Gateway" },
				{ name: "RESPONSE_CACHE", class_name: "ResponseCache" },
				{ name: "STREAM_RUN", class_name: "StreamRun" },
				{ name: "BLOBS", class_name: "BlobStore" },
				{ name: "WORK_QUEUE", class_name: "WorkQueue" },
			],
		};
		const common = { name: "ganglion", main: "x.js", compatibility_date: "2026-11-01", durable_objects };
		writeFileSync(config, JSON.stringify({ ...common, env: { staging: { vars, durable_objects } } }));
		const { script, url } = await start({ args: ["--config", config, "--env", "staging"] });
		expect(await script.until(READY)).toContain("every model  ->  simulator");
		const answer = await fetch(`${url}/client/v4/accounts/acme/ai/run/${MODEL}`, {
			method: "POST",
			body: '{"prompt":"hi"}',
		});
		expect(answer.headers.get("x-ganglion-backend")).toBe("simulator");
	});
});
