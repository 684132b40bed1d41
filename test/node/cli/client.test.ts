/** The commands that call a running gateway, against `ganglion serve` with an operator's token. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { runScript, type Script, stopScripts } from "../script.ts";
import { CLI, ganglion, type Result } from "./run.ts";
import { sharedProcess } from "./shared-process.ts";

const ADMIN_TOKEN = "an-admin-token-of-a-test-with-32-characters";
const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

let folder = "";
let url = "";
let server: Script;
beforeAll(async () => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-client-"));
	const port = await freePort();
	url = `http://127.0.0.1:${port}`;
	server = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
		env: {
			...{ ADMIN_TOKEN, DEFAULT_BACKEND: "simulator", PG_PASSWORD: "secret" },
			VECTORS:
				'{"stores":{"pg":{"kind":"pgvector","url":"postgres://user@127.0.0.1:1/app","key":"PG_PASSWORD"}}}',
		},
	});
	expect(await server.until(/Open files|error/)).toContain(`Ganglion is ready on ${url}`);
});
afterAll(async () => {
	stopScripts();
	await server.exit;
	rmSync(folder, { recursive: true, force: true });
});

const shared = sharedProcess();
const variables = (account: string, token = ADMIN_TOKEN) => ({
	env: { GANGLION_URL: url, GANGLION_ACCOUNT: account, GANGLION_TOKEN: token },
});
const run = (args: readonly string[], token?: string): Promise<Result> =>
	shared(args, variables("acme", token));

async function json<T>(args: readonly string[]): Promise<T> {
	const { code, stdout, stderr } = await run([...args, "--json"]);
	expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
	return JSON.parse(stdout);
}

describe("ganglion token", () => {
	it("creates a token that runs models, lists it, and revokes it", async () => {
		const { code, stdout: none } = await ganglion(["token", "list"], variables("acme"));
		expect([code, none]).toEqual([0, "The account has no tokens.\n"]);
		const created = await run([
			"token",
			"create",
			"shop",
			"--permission",
			"Workers AI Run",
			"--daily-neurons",
			"500",
		]);
		expect(created.code).toBe(0);
		expect(created.stderr).toMatch(/^Token [0-9a-f]{32} of account acme\. Its value is shown only once:\n$/);
		const token = created.stdout.trim();

		const answer = await ganglion(
			["try", MODEL, "Reply with exactly: good morning"],
			variables("acme", token),
		);
		expect(answer.stdout).toBe("good morning\n");
		expect(answer.stderr).toMatch(/^\(\d+ \+ 2 tokens, [\d.]+ neurons, first text after \d+ ms, \d+ ms\)\n$/);

		const { stdout } = await run(["token", "list"]);
		expect(stdout).toMatch(
			/^NAME +STATUS +LAST USED +EXPIRES +LIMITS +GATEWAY +PERMISSIONS +ID\nshop +active +20\S+Z +never +[\d.]+ of 500 neurons a day +any +Workers AI Run +[0-9a-f]{32}\n$/,
		);
		const [listed] = await json<{ limits: object; value?: string }[]>(["token", "list"]);
		expect(listed).toMatchObject({ limits: { daily_neurons: 500 } });
		expect(listed).not.toHaveProperty("value");

		expect((await run(["token", "revoke", "shop"])).stdout).toMatch(
			/^Token [0-9a-f]{32} \(shop\) is revoked\.\n$/,
		);
		const refused = await run(["try", MODEL, "hi"], token);
		expect(refused.code).toBe(1);
		expect(refused.stderr).toMatch(
			/^error: .*\(HTTP 401\)\nGANGLION_TOKEN is no token of account acme on http:\S+\. Set it to one, or name the account with --account or GANGLION_ACCOUNT\.\n$/,
		);
		const again = await run(["token", "revoke", "shop"]);
		expect([again.code, again.stderr]).toEqual([1, 'error: account acme has no token "shop"\n']);
	});
});

describe("ganglion token list", () => {
	it("shows the gateway that the account binds", async () => {
		const account = "bound";
		const ask = (args: readonly string[]) => shared(args, variables(account));
		const row = async () => (await ask(["token", "list"])).stdout.split("\n")[1];
		await ask(["token", "create", "shop", "--permission", "Workers AI Run"]);
		expect(await row()).toMatch(/ none +any +Workers AI Run /);
		const bound = await fetch(`${url}/client/v4/accounts/${account}/ai/bound-gateway`, {
			method: "PUT",
			headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
			body: JSON.stringify({ id: "prod", mode: "required" }),
		});
		expect(bound.status).toBe(200);
		expect(await row()).toMatch(/ none +prod \(required, of the account\) +Workers AI Run /);
	});
});

describe("ganglion models", () => {
	it("lists what matches, with task, window and price", async () => {
		const { stdout } = await run(["models", "llama-3.3"]);
		expect(stdout).toMatch(/^MODEL +TASK +CONTEXT +PRICE \(USD\)\n/);
		expect(stdout).toContain(
			`${MODEL}  Text Generation  24000    0.293 per M input tokens, 2.253 per M output tokens\n`,
		);
		const all = await json<{ task: { name: string } }[]>(["models", "--task", "Text Embeddings"]);
		expect(all.length).toBeGreaterThan(3);
		expect(new Set(all.map(({ task }) => task.name))).toEqual(new Set(["Text Embeddings"]));
		expect((await run(["models", "no-such-model"])).stdout).toBe("No model matches.\n");
	});
});

describe("ganglion explain", () => {
	it("shows the engines and the cost, and exits with 1 for a request that would fail", async () => {
		const { code, stdout } = await run(["explain", MODEL, "Hi"]);
		expect(code).toBe(0);
		expect(stdout).toMatch(
			/^@cf\/meta\/llama-3\.3-70b-instruct-fp8-fast {2}\(Text Generation\)\n {2}1\. simulator: the default backend.*\n {2}price \(model\): \d+ neurons per M input tokens, .*\n {2}reserves at most [\d.]+ neurons\n$/,
		);
		const file = join(folder, "body.json");
		writeFileSync(file, '{"prompt":"Hi","max_tokens":1}');
		const { estimate } = await json<{ estimate: object }>(["explain", MODEL, "--body", `@${file}`]);
		expect(estimate).toMatchObject({ output_tokens: 1 });
		const wrong = await run(["explain", MODEL, "--body", '{"prompt":1}']);
		expect(wrong.code).toBe(1);
		expect(wrong.stdout).toMatch(/✗ .*prompt/);
		expect((await run(["explain", MODEL, "--body", "@missing.json"])).stderr).toMatch(
			/missing\.json cannot be read: there is no such file\n/,
		);
		expect((await run(["explain", MODEL, "--body", "{"])).stderr).toMatch(
			/^error: option '--body <json>' argument '\{' is invalid/,
		);
	});
});

describe("ganglion batch", () => {
	it("runs a file, shows its progress, and stores the results", async () => {
		const line = (id: string, fields: object = {}) =>
			`${JSON.stringify({ custom_id: id, method: "POST", url: "/v1/chat/completions", body: { model: MODEL, messages: [{ role: "user", content: `Say ${id}` }], ...fields } })}\n`;
		const file = join(folder, "requests.jsonl");
		writeFileSync(file, `${line("one")}${line("two", { messages: "none" })}`);
		const { code, stdout, stderr } = await run(["batch", "run", file]);
		const [output, errors] = ["output", "errors"].map((kind) => join(folder, `requests.${kind}.jsonl`));
		expect([code, stdout]).toEqual([1, `${output}\n${errors}\n`]);
		expect(stderr).toMatch(
			/^Batch (batch_[\da-f]{32})\. It also runs without this command: npx ganglion batch watch \1\n/,
		);
		expect(stderr).toContain("[##############################] 2 of 2, 1 failed (completed)\n");
		const stored = (name = "") => JSON.parse(readFileSync(name, "utf8"));
		expect(stored(output)).toMatchObject({ custom_id: "one", response: { status_code: 200 } });
		expect(stored(errors)).toMatchObject({ custom_id: "two", response: { status_code: 400 } });
		const again = await run(["batch", "run", file]);
		expect(again.stderr).toBe(`error: ${output} exists: name other files with --output and --errors\n`);
		const [id = ""] = /batch_[\da-f]{32}/.exec(stderr) ?? [];
		const flags = ["--output", join(folder, "o.jsonl"), "--errors", join(folder, "e.jsonl"), "--json"];
		const watched = await run(["batch", "watch", id, ...flags]);
		expect(JSON.parse(watched.stdout)).toMatchObject({ id, status: "completed" });
		expect(stored(join(folder, "o.jsonl"))).toMatchObject({ custom_id: "one" });
	});

	it("refuses a file without a request, and an unknown batch", async () => {
		const file = join(folder, "notes.jsonl");
		writeFileSync(file, "Hello\n");
		expect((await run(["batch", "run", file])).stderr).toMatch(
			/^error: \S+notes\.jsonl: expected a line such as /,
		);
		expect((await run(["batch", "watch", "batch_none"])).stderr).toBe(
			"error: No such Batch object: batch_none [code: 7002] (HTTP 404)\n",
		);
	});
});

describe("ganglion accounts move", () => {
	it("moves one account to an object of its own, and all back to their shards", async () => {
		await run(["usage"]);
		const own = ["accounts", "move", "--own"];
		expect((await run([...own, "--account", "local"])).stdout).toBe("1 accounts, 1 moved\n");
		expect((await run([...own, "--account", "local"])).stdout).toBe("1 accounts, 0 moved\n");
		const all = await run(["accounts", "move", "--json"]);
		expect(JSON.parse(all.stdout)).toMatchObject({ moved: 1 });
		expect((await run(own)).stderr).toBe(
			"error: --own: name the account that gets an object of its own with --account\n",
		);
	});
});

describe("ganglion usage", () => {
	it("shows counts per group, and their total", async () => {
		await run(["try", MODEL, "Reply with exactly: one"]);
		const { rows, totals } = await json<{
			rows: { model: string; requests: number }[];
			totals: { requests: number };
		}>(["usage", "--by", "model"]);
		expect(rows.map(({ model }) => model)).toEqual([MODEL]);
		expect(totals.requests).toBe(rows[0]?.requests);
		const { stdout } = await run(["usage", "--by", "model"]);
		const lines = stdout.split("\n");
		expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d \(UTC\)$/);
		expect(lines[2]).toMatch(
			/^MODEL +REQUESTS +FAILED +INPUT TOKENS +CACHED TOKENS +OUTPUT TOKENS +NEURONS$/,
		);
		expect(lines[4]).toMatch(/^total +\d+ +0 /);
		const wrong = await run(["usage", "--by", "nothing"]);
		expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
		expect(wrong.stderr).toMatch(/^error: .*group_by/);
	});

	it("names the tokens to a caller that may list them", async () => {
		const ask = (args: readonly string[], token?: string) => shared(args, variables("desk", token));
		const created = await ask(["token", "create", "web shop", "--permission", "Workers AI Read", "--json"]);
		const { id, value }: { id: string; value: string } = JSON.parse(created.stdout);
		await ask(["try", MODEL, "Reply with exactly: one"], value);
		const by = ["usage", "--by", "token"];
		expect((await ask(by)).stdout).toContain(`\nweb shop (${id})  `);
		expect((await ask(by, value)).stdout).toContain(`\n${id}  `);
	});
});

it("lists the permission groups of a token", async () => {
	const { stdout } = await run(["token", "create", "--help"]);
	for (const group of ["Workers AI Run", "Workers AI Metadata Read", "Account API Tokens Write"])
		expect(stdout.replaceAll(/\s+/g, " ")).toContain(group);
});

describe("a mistake", () => {
	it("names the address that does not answer, and the token that is missing", async () => {
		const port = await freePort();
		const { code, stderr } = await run(["models", "--url", `http://127.0.0.1:${port}`]);
		expect(code).toBe(1);
		expect(stderr).toBe(
			`error: no gateway answers on http://127.0.0.1:${port}: ECONNREFUSED\nStart one (npx ganglion dev), or set --url or GANGLION_URL.\n`,
		);
		for (const url of ["nonsense", "localhost:8787", "http://"])
			expect((await run(["models", "--url", url])).stderr).toMatch(
				/^error: the address of the gateway \(--url or GANGLION_URL\): expected one such as http:\/\/localhost:8787, found "/,
			);
		for (const path of ["/v1", "/client/v4/accounts/local/ai/v1/"])
			expect((await run(["models", "--url", `http://127.0.0.1:${port}${path}`])).stderr).toMatch(
				/^error: the address of the gateway \(--url or GANGLION_URL\): expected one without the path of an API, such as http:\/\/localhost:8787, found "/,
			);
		expect((await run(["usage"], "")).stderr).toMatch(
			/\(HTTP 401\)\nSet GANGLION_TOKEN to a token of the account\.\n$/,
		);
	});

	it("in the name of the address in the environment is named, before the call", async () => {
		const { stderr } = await shared(["usage", "--url", `http://127.0.0.1:${await freePort()}`], {
			env: { GANGLON_URL: "http://gateway.example" },
		});
		expect(stderr).toMatch(
			/^GANGLON_URL of the environment: no setting has this name, so it has no effect; did you mean "GANGLION_URL"\?\nerror: no gateway answers/,
		);
	});

	it.each([
		[["tokn"], /^error: unknown command 'tokn'\n\(Did you mean token\?\)/],
		[["serve", "--port", "0"], /Expected a number from 1 to 65535\./],
		[["backup"], /^error: required option '--to <folder>' not specified/],
		[["try", MODEL], /^error: missing required argument 'prompt'/],
	])("in %j is explained", async (args, message) => {
		const { code, stderr } = await ganglion(args);
		expect(code).toBe(1);
		expect(stderr).toMatch(message);
	});
});

describe("ganglion vectors move", () => {
	const indexes = () => `${url}/client/v4/accounts/acme/vectorize/v2/indexes`;
	const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };

	it("shows the state of a move, cancels it, and names what is wrong", async () => {
		const body = JSON.stringify({ name: "docs", config: { dimensions: 2, metric: "cosine" } });
		expect((await fetch(indexes(), { method: "POST", headers, body })).status).toBe(201);
		const none = await run(["vectors", "move", "docs"]);
		expect(none).toMatchObject({ code: 1, stdout: "" });
		expect(none.stderr).toContain("expected --to STORE, or --cancel");
		const unknown = await run(["vectors", "move", "docs", "--to", "pgg"]);
		expect(unknown.stderr).toContain('store: expected "builtin" or "pg", found "pgg"; did you mean "pg"?');
		// The store does not answer, so the move goes on until it is cancelled.
		const move = ganglion(["vectors", "move", "docs", "--to", "pg"], variables("acme"));
		await expect
			.poll(async () => (await fetch(`${indexes()}/docs/move`, { headers })).status, { timeout: 20_000 })
			.toBe(200);
		expect(await run(["vectors", "move", "docs", "--cancel"])).toMatchObject({
			code: 0,
			stdout: "docs is where it was: the move to the store pg was cancelled\n",
		});
		const { code, stderr, stdout } = await move;
		expect([code, stdout]).toEqual([1, "docs is where it was: the move to the store pg was cancelled\n"]);
		expect(stderr).toMatch(/^The move also runs without this command[^\n]+\nstarting\n(?:.*\n)*cancelled\n$/);
	});
});

describe("ganglion search sync", () => {
	const files = mkdtempSync(join(tmpdir(), "ganglion-sync-"));
	afterAll(() => rmSync(files, { recursive: true, force: true }));
	const sync = (...flags: string[]) => ["search", "sync", files, "--instance", "manual", ...flags];
	const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
	const items = () => `${url}/client/v4/accounts/acme/ai-search/instances/manual/items`;
	async function stored(): Promise<{ key: string; id: string }[]> {
		const response = await fetch(`${items()}?sort_by=modified_at`, { headers });
		return ((await response.json()) as { result: { key: string; id: string }[] }).result;
	}
	const keys = async (): Promise<string[]> => (await stored()).map(({ key }) => key).sort();

	it("sends what differs, deletes what is gone, and reports what is refused", async () => {
		mkdirSync(join(files, "guides"), { recursive: true });
		mkdirSync(join(files, ".git"));
		writeFileSync(join(files, "a.md"), "To reset a password, open the settings page.");
		writeFileSync(join(files, "guides/b.md"), "An invoice is sent each month.");
		writeFileSync(join(files, ".git/config"), "hidden");
		expect(await run(sync())).toMatchObject({
			...{ code: 0, stdout: "manual: 2 sent, 0 unchanged, 0 deleted, 0 refused\n" },
		});
		expect(await keys()).toEqual(["a.md", "guides/b.md"]);
		// Not of the folder.
		const form = new FormData();
		form.set("file", new File(["Notes of a person."], "notes.md"));
		expect((await fetch(items(), { method: "POST", headers, body: form })).status).toBe(200);
		writeFileSync(join(files, "a.md"), "To reset a password, call the service.");
		writeFileSync(join(files, "tool.exe"), "MZ");
		rmSync(join(files, "guides/b.md"));
		const second = await run(sync());
		expect(second).toMatchObject({
			...{ code: 1, stdout: "manual: 1 sent, 0 unchanged, 1 deleted, 1 refused\n" },
		});
		expect(second.stderr).toContain("tool.exe: unsupported_file_type [code: 7060] (HTTP 400)");
		expect(await keys()).toEqual(["a.md", "notes.md"]);
		rmSync(join(files, "tool.exe"));
		expect(await json(sync())).toEqual({ sent: [], deleted: [], unchanged: 1, refused: {} });
		// Node reads no file of this length at once.
		truncateSync(join(files, "a.md"), 2 ** 31);
		const unread = await run(sync());
		expect(unread).toMatchObject({
			...{ code: 1, stdout: "manual: 0 sent, 0 unchanged, 0 deleted, 1 refused\n" },
		});
		expect(unread.stderr).toContain("a.md: File size (2147483648) is greater than 2 GiB");
		expect(await keys()).toEqual(["a.md", "notes.md"]);
		writeFileSync(join(files, "a.md"), "To reset a password, call the service.");
		expect((await run(["search", "sync", join(files, "none"), "--instance", "x"])).stderr).toContain(
			"is no folder",
		);
	});

	it("continues with what changes", async () => {
		const watching = runScript(CLI, sync("--watch", "--prefix", "live"), {
			env: { GANGLION_URL: url, GANGLION_ACCOUNT: "acme", GANGLION_TOKEN: ADMIN_TOKEN },
		});
		await watching.until(/Watching/);
		writeFileSync(join(files, "c.md"), "The warranty lasts for two years.");
		await watching.until(/manual: 1 sent, 1 unchanged, 0 deleted, 0 refused/);
		expect(await keys()).toEqual(["a.md", "live/a.md", "live/c.md", "notes.md"]);
		watching.kill("SIGTERM");
		await watching.exit;
	});
});

describe("ganglion accounts delete", () => {
	it("deletes the data of an account after --yes", async () => {
		await run(["usage"]);
		expect((await run(["accounts", "delete", "local"])).stderr).toBe(
			"error: This deletes all data of the account local, for ever. Add --yes to do it.\n",
		);
		const { stdout } = await run(["accounts", "delete", "local", "--yes"]);
		expect(stdout).toMatch(/^The data of the account local are deleted: \d+ rows and objects\n$/);
	});
});
