/** `npm run doctor`, and the faster `ganglion doctor`, against engines on loopback that are wrong in each way. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Finding } from "../../scripts/engines/doctor.ts";
import { freePort } from "../../scripts/free-port.ts";
import { examineMachine } from "../../scripts/machine-doctor.ts";
import { BUCKET, startS3 } from "../storage/blobs/s3-server.ts";
import { CLI } from "./cli/run.ts";
import { sharedProcess } from "./cli/shared-process.ts";
import { runScript, stopScripts } from "./script.ts";

const servers: Server[] = [];
afterEach(() => {
	stopScripts();
	for (const server of servers.splice(0)) server.close();
});

const KEY = "sk-engine-secret";

async function engine(answer: RequestListener): Promise<string> {
	const server = createServer(answer).listen(0, "127.0.0.1");
	servers.push(server);
	await once(server, "listening");
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Has its list below /v1, behind a key. */
const vllm: RequestListener = ({ url, headers }, response) => {
	response.setHeader("content-type", "application/json");
	if (url !== "/v1/models") response.writeHead(404).end('{"detail":"Not Found"}');
	else if (headers.authorization !== `Bearer ${KEY}`) response.writeHead(401).end("{}");
	else response.end('{"data":[{"id":"llama-3","max_model_len":8192}]}');
};

const shared = sharedProcess();

async function doctor(
	backends: object,
	routes: object,
	more: Record<string, string> = {},
): Promise<{ code: number; rows: string[]; output: string }> {
	const env = { BACKENDS: JSON.stringify(backends), ROUTES: JSON.stringify(routes), KEY, ...more };
	const { code, stdout, stderr } = await shared(["doctor", "--json"], { env });
	const findings = (JSON.parse(stdout) as Finding[]).filter(({ backend }) => backend !== "this machine");
	const rows = findings.map(
		({ backend, check, result, detail }) => `${result} ${backend} ${check}: ${detail}`,
	);
	return { code, rows, output: stdout + stderr };
}

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

describe("npm run doctor", () => {
	it("checks the machine, and the guards and collectors of the gateways of a running gateway", async () => {
		const collector = await engine((_, response) => response.writeHead(400).end());
		const closed = `http://127.0.0.1:${await freePort()}/v1/traces`;
		const gateways = [
			{ id: "prod", guardrails: { prompt: { S1: "BLOCK" } }, otel: [{ url: collector }, { url: closed }] },
			{ id: "plain" },
		];
		const url = await engine(({ url: path = "", headers }, response) => {
			response.setHeader("content-type", "application/json");
			if (headers.authorization !== "Bearer glt_acme") response.writeHead(401).end("{}");
			else if (path.includes("/acme/ai-gateway/gateways")) response.end(JSON.stringify({ result: gateways }));
			else response.writeHead(400).end('{"errors":[{"code":5007,"message":"No such model"}]}');
		});
		const env = { BACKENDS: "{}", ROUTES: "{}", GANGLION_TOKEN: "glt_acme", GANGLION_ACCOUNT: "acme" };
		const script = runScript("scripts/doctor.ts", ["--json", "--url", url], { env });
		expect(await script.exit).toBe(1);
		const findings = JSON.parse(await script.until(/$/)) as Finding[];
		const rows = findings.map(({ backend, check, result }) => `${result} ${backend} ${check}`);
		expect(rows.slice(0, 4)).toEqual([
			"ok this machine storage",
			"failed gateway prod guard",
			"ok gateway prod collector",
			"failed gateway prod collector",
		]);
		expect(findings[0]?.detail).toBe("objects are in the state (SQLite); no STORAGE.s3 is set");
		expect(findings[1]?.detail).toContain("@cf/meta/llama-guard-3-8b: No such model [code: 5007] (HTTP 400)");
		expect(findings[3]?.detail).toBe("no answer: ECONNREFUSED");
		expect(rows.slice(4).map((row) => row.split(" ").slice(1).join(" "))).toEqual([
			"this machine disk",
			"this machine state",
			"this machine files",
		]);
	});

	it("says that a gateway was reached, and which search providers cannot be", async () => {
		const url = await engine(({ url: path = "" }, response) => {
			response.setHeader("content-type", "application/json");
			response.end(path.includes("/acme/ai-gateway/gateways") ? '{"result":[{"id":"plain"}]}' : "{}");
		});
		const closed = `http://127.0.0.1:${await freePort()}`;
		const WEB_SEARCH = JSON.stringify({
			near: { kind: "searxng", url },
			far: { kind: "searxng", url: closed },
			simulator: { kind: "simulator" },
		});
		const env = { BACKENDS: "{}", ROUTES: "{}", WEB_SEARCH, GANGLION_ACCOUNT: "acme" };
		const { code, stdout } = await shared(["doctor", "--url", url], { env });
		const lines = stdout.split("\n");
		expect(lines).toContain(`✓ WEB_SEARCH.near ${url}  reachable: HTTP 200`);
		expect(lines).toContain(
			`✗ WEB_SEARCH.far ${closed}  reachable: no answer: nothing listens there (ECONNREFUSED)`,
		);
		expect(lines).toContain(`✓ account acme ${url}  gateways: reached, nothing to try`);
		expect(stdout).not.toContain("WEB_SEARCH.simulator");
		expect(code).toBe(1);
	});

	it("says whether the state exists, so that a misspelled one is seen", async () => {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-doctor-"));
		try {
			const detail = async (state: string) =>
				(await examineMachine(state)).find(({ check }) => check === "state")?.detail;
			expect(await detail(folder)).toBe(`${folder} can be written`);
			const absent = join(folder, "a/b");
			expect(await detail(absent)).toBe(`${absent} does not exist yet, and can be made`);
		} finally {
			rmSync(folder, { recursive: true });
		}
	});

	it.runIf(process.platform === "linux")("warns of few open files", async () => {
		const env = { ...process.env, BACKENDS: "{}", ROUTES: "{}" };
		const command = `ulimit -n 512; exec "${process.execPath}" "${CLI}" doctor --json`;
		const output = await new Promise<string>((resolve) => {
			execFile("bash", ["-c", command], { env }, (_, stdout) => resolve(stdout));
		});
		expect((JSON.parse(output) as Finding[]).find(({ check }) => check === "files")).toMatchObject({
			result: "warning",
			detail: "512 open files are few: raise the limit (docs/self-hosting.md#open-files)",
		});
	});

	// The system's own folder has no space and takes no file, also for a user who may write everything.
	it.runIf(process.platform === "linux")(
		"says that the disk is full and why nothing can be written",
		async () => {
			const env = { BACKENDS: "{}", ROUTES: "{}" };
			const script = runScript(CLI, ["doctor", "--json", "--state", "/proc/ganglion"], { env });
			expect(await script.exit).toBe(1);
			const findings = JSON.parse(await script.until(/$/)) as Finding[];
			expect(findings.filter(({ result }) => result === "failed").map(({ detail }) => detail)).toEqual([
				"0 MiB are free for /proc/ganglion: make space (docs/operations.md#a-full-disk)",
				expect.stringMatching(/^\/proc cannot be written: [a-z ]+ \(E[A-Z]+\)$/),
			]);
		},
	);

	it.each([
		["glt_other", /^.* \(HTTP 401\)\nGANGLION_TOKEN is no token of account acme on http:/],
		["", /^.* \(HTTP 401\)\nSet GANGLION_TOKEN to a token of the account\.$/],
	])("names the token that a gateway refuses (%j), and makes the other checks", async (token, message) => {
		const url = await engine((_, response) => void response.writeHead(401).end("{}"));
		const env = { BACKENDS: "{}", ROUTES: "{}", GANGLION_TOKEN: token, GANGLION_ACCOUNT: "acme" };
		const { code, stdout } = await shared(["doctor", "--json", "--url", url], { env });
		expect(code).toBe(1);
		const findings = JSON.parse(stdout) as Finding[];
		expect(findings.map(({ check }) => check)).toEqual(["storage", "gateways", "disk", "state", "files"]);
		expect(findings[1]).toMatchObject({ backend: "account acme", url, result: "failed" });
		expect(findings[1]?.detail).toMatch(message);
	});

	it("finds all well, and warns of a window that is smaller than the catalogue promises", async () => {
		const url = `${await engine(vllm)}/v1`;
		const { code, rows, output } = await doctor(
			{ a: { kind: "openai", url, key: "KEY", price: { input: 1, output: 1 } } },
			{ [LLAMA]: [{ backend: "a", model: "llama-3" }], "llama-3": [{ backend: "a" }] },
		);
		expect(rows).toEqual([
			"ok a reachable: HTTP 200",
			"ok a key: accepted",
			"ok a model: llama-3",
			`warning a context: llama-3 takes 8192 tokens, ${LLAMA} promises 24000: set MODELS["${LLAMA}"].context_window`,
			"ok a model: llama-3",
			`ok a price: ${LLAMA}`,
			"ok a price: llama-3",
		]);
		expect(code).toBe(0);
		expect(output).not.toContain(KEY);
	});

	it("reads the list of a pool, and checks each replica that it names", async () => {
		const replica = await engine(vllm);
		const list = await engine(({ url }, response) =>
			url === "/replicas"
				? void response.end(JSON.stringify([replica]))
				: url === "/wrong"
					? void response.end('["gpu-1"]')
					: void response.writeHead(404).end(),
		);
		const price = { input: 1, output: 1 };
		const pooled = (path: string) => ({
			kind: "openai",
			key: "KEY",
			price,
			pool: { discover: `${list}${path}` },
		});
		const { code, rows } = await doctor(
			{ a: pooled("/replicas"), b: pooled("/wrong"), c: pooled("/none") },
			{ "llama-3": [{ backend: "a" }] },
		);
		expect(rows).toEqual([
			"ok a list: replicas: 1",
			"ok a reachable: HTTP 200",
			"ok a key: accepted",
			"ok a model: llama-3",
			expect.stringMatching(/^failed b list: \[0\]/),
			"failed c list: HTTP 404",
			"ok a price: llama-3",
		]);
		expect(code).toBe(1);
	});

	it("names the problem of each: no server, a key, a missing /v1, another server, a model", async () => {
		const origin = await engine(vllm);
		const web = await engine((_, response) => void response.end("<html>"));
		const ollama = await engine(
			(_, response) => void response.end('{"models":[{"name":"llama3.2:latest"}]}'),
		);
		const { code, rows, output } = await doctor(
			{
				gone: { kind: "openai", url: `http://127.0.0.1:${await freePort()}/v1` },
				nokey: { kind: "openai", url: `${origin}/v1` },
				badkey: { kind: "openai", url: `${origin}/v1`, key: "OTHER_KEY" },
				nov1: { kind: "openai", url: origin, key: "KEY" },
				web: { kind: "ollama", url: web },
				model: { kind: "openai", url: `${origin}/v1`, key: "KEY" },
				ollama: { kind: "ollama", url: ollama },
			},
			{
				mine: [
					{ backend: "model", model: "lama-3" },
					{ backend: "ollama", model: "llama3.2" },
				],
			},
			{ OTHER_KEY: "sk-other" },
		);
		expect(rows.filter((row) => !row.includes(" reachable: HTTP"))).toEqual([
			"failed gone reachable: no answer: nothing listens there (ECONNREFUSED)",
			"failed nokey key: HTTP 401: the engine needs a key, and BACKENDS.nokey.key is not set",
			"failed badkey key: HTTP 401: the key of BACKENDS.badkey.key is not accepted",
			`failed nov1 address: ${origin}/models has no list of models, ${origin}/v1/models has: add /v1 to the address`,
			`failed web address: ${web}/api/tags is no ollama engine's (HTTP 200)`,
			"ok model key: accepted",
			'failed model model: lama-3 is not there; did you mean "llama-3"?',
			"ok ollama key: none needed",
			"ok ollama model: llama3.2",
			"warning model price: mine has none: set BACKENDS.model.price",
		]);
		expect(code).toBe(1);
		expect(output).not.toMatch(/sk-/);
	});

	it("puts, reads and deletes an object in the store, and names the host and the setting if that fails", async () => {
		const secrets = { S3_ID: "S3RVER", S3_SECRET: "S3RVER" };
		const { url, stop } = await startS3();
		const storage = (bucket: string, endpoint = url) => ({
			...secrets,
			STORAGE: JSON.stringify({
				s3: { endpoint, bucket, access_key_id: "S3_ID", secret_access_key: "S3_SECRET" },
			}),
		});
		const works = await doctor({}, {}, storage(BUCKET));
		const absent = await doctor({}, {}, storage("no-such-bucket"));
		await stop();
		expect(works).toMatchObject({ code: 0 });
		expect(works.output).toContain("bucket ganglion-tests: an object was put, read and deleted");
		expect(absent).toMatchObject({ code: 1 });
		expect(absent.output).toContain(
			`bucket no-such-bucket: put failed: PUT at ${new URL(url).host} (STORAGE.s3) was answered with 404 NoSuchBucket`,
		);
		const denied = await engine((_, response) =>
			response
				.writeHead(403)
				.end("<Error><Code>SignatureDoesNotMatch</Code><Message>S3RVER</Message></Error>"),
		);
		const refused = await doctor({}, {}, storage(BUCKET, denied));
		expect(refused).toMatchObject({ code: 1 });
		expect(refused.output).toContain("was answered with 403 SignatureDoesNotMatch");
		expect(refused.output).not.toContain("S3RVER");
	});
});
