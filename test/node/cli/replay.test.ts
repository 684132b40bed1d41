/** `ganglion replay`, against `ganglion serve` and an engine whose answers are hostile to a terminal. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { runScript, type Script } from "../script.ts";
import { CLI, type Result } from "./run.ts";
import { sharedProcess } from "./shared-process.ts";

const ADMIN_TOKEN = "an-admin-token-of-a-test-with-32-characters";
const ANSWERS: Readonly<Record<string, string>> = {
	old: '{"city": "Bonn"}',
	new: '{"city": "\\u001b[2JUlm"}',
	text: "red\u001b[31m\nnext \u202eline",
	judge: '{"score": 0.25, "reason": "Wrong city"}',
};

let folder = "";
let url = "";
let server: Script;
const engine = createServer((request, response) => {
	const pieces: Buffer[] = [];
	request.on("data", (piece: Buffer) => pieces.push(piece));
	request.on("end", () => {
		const { model } = JSON.parse(Buffer.concat(pieces).toString()) as { model: string };
		const message = { role: "assistant", content: ANSWERS[model] };
		const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
		const choices = [{ index: 0, message, finish_reason: "stop" }];
		response.writeHead(200, { "content-type": "application/json" });
		response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model, choices, usage }));
	});
});

beforeAll(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-replay-"));
	await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
	const port = await freePort();
	url = `http://127.0.0.1:${port}`;
	const names = Object.keys(ANSWERS);
	server = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
		env: {
			ADMIN_TOKEN,
			BACKENDS: JSON.stringify({
				engine: { kind: "openai", url: `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1` },
			}),
			ROUTES: JSON.stringify(
				Object.fromEntries(names.map((name) => [name, [{ backend: "engine", model: name }]])),
			),
			MODELS: JSON.stringify(Object.fromEntries(names.map((name) => [name, { task: "Text Generation" }]))),
		},
	});
	expect(await server.until(/Open files|error/)).toContain(`Ganglion is ready on ${url}`);
	const headers = {
		...{ authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
		"cf-aig-gateway-id": "default",
	};
	const account = `${url}/client/v4/accounts/acme`;
	for (const content of ["one", "two"]) {
		const body = JSON.stringify({ model: "old", messages: [{ role: "user", content }] });
		const response = await fetch(`${account}/ai/v1/chat/completions`, { method: "POST", headers, body });
		expect(response.status).toBe(200);
		await response.text();
	}
	const logs = async (): Promise<number> => {
		const listed = await fetch(`${account}/ai-gateway/gateways/default/logs`, { headers });
		return ((await listed.json()) as { result: unknown[] }).result.length;
	};
	await vi.waitFor(async () => expect(await logs()).toBe(2), { timeout: 30_000 });
});
afterAll(async () => {
	server.kill("SIGTERM");
	await server.exit;
	engine.close();
	rmSync(folder, { recursive: true, force: true });
});

const shared = sharedProcess();
const run = (...args: string[]): Promise<Result> =>
	shared(["replay", ...args], {
		env: { GANGLION_URL: url, GANGLION_ACCOUNT: "acme", GANGLION_TOKEN: ADMIN_TOKEN },
	});

it("shows the progress, the answers side by side, and what they cost", async () => {
	const { code, stderr, stdout } = await run("new", "--judge", "judge", "--filter", "model=old");
	expect([code, stderr]).toEqual([
		0,
		expect.stringMatching(
			/^Replay (\S+)\. It also runs without this command: npx ganglion replay --gateway default --id \1\n/,
		),
	]);
	expect(stderr).toContain("[##############################] 2 of 2 (completed)\n");
	const lines = stdout.split("\n");
	expect(lines[0]).toMatch(/^TIME \(UTC\) +LOGGED +NEW +SAME +SCORE +TOKENS OUT +US DOLLARS +MILLISECONDS$/);
	expect(lines[1]).toMatch(
		/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d {2}\{"city": "Bonn"\} +\{"city": "\\u001b\[2JUlm"\} +1 differ +0\.25 +5 → 5 +\S+ → \S+ +\d+ → \d+$/,
	);
	expect(lines.at(-2)).toMatch(/^2 answers, 0 the same; \d\.\d{6} US dollars then, \d\.\d{6} now$/);
	const [, id = ""] = /^Replay (\S+)\./.exec(stderr) ?? [];
	const again = await run("--id", id, "--json");
	expect(JSON.parse(again.stdout)).toMatchObject({
		...{ id, model: "new", judge: "judge", status: "completed" },
		results: [
			{ differences: [{ path: "$.city", kind: "changed" }], judge: { score: 0.25, reason: "Wrong city" } },
			{ same: false },
		],
	});
});

it("writes no control characters of an answer to the terminal", async () => {
	const { stdout } = await run("text", "--limit", "1", "--oldest");
	expect(stdout).toContain("red [31m next line");
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
	expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
});

it("refuses bad options with the reason", async () => {
	for (const [args, message] of [
		[[], "error: name a model, or a replay that exists with --id\n"],
		[["new", "--filter", "model"], "error: --filter model: expected such as model=gpt-5"],
		[["new", "--filter", "modell=a"], "filters[0]"],
		[["unknown"], "No such model unknown"],
		[["new", "--gateway", "absent"], 'error: Gateway not found: "absent" [code: 7002] (HTTP 404)\n'],
		[["--id", "absent"], "error: No such Replay object: absent [code: 7002] (HTTP 404)\n"],
	] as const) {
		const { code, stderr } = await run(...args);
		expect([args, code, stderr]).toEqual([args, 1, expect.stringContaining(message.trim())]);
	}
});
