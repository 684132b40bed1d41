/**
 * The deletion of an account's data, with requests of this account and of another one, and with kills in each of its phases. Afterwards all
 * files of the gateway are read.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { Gateway } from "../../tools/soak/gateway.ts";
import { CLI } from "./cli/run.ts";
import { runScript, stopScripts } from "./script.ts";

const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const ADMIN = "the-admin-token-of-a-soak-on-loopback";
const LORA = "@cf/mistral/mistral-7b-instruct-v0.2-lora";

const WORKERS = 2;
/** Larger than all other data of the account. */
const LARGE_BYTES = 6_000_000;

let folder = "";
let running: Running | undefined;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-deletion-"));
});
afterEach(async () => {
	await running?.stop();
	running = undefined;
	stopScripts();
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A gateway with its state in the folder. */
interface Running {
	url: string;
	/** By SIGKILL, and it starts again. */
	kill(): Promise<void>;
	/** By SIGKILL. */
	stop(): Promise<void>;
	output(): string;
}

/** The built Worker in plain workerd. */
async function oneProcess(): Promise<Running> {
	const gateway = await Gateway.start(folder, { DEFAULT_BACKEND: "simulator" });
	return {
		url: gateway.url,
		kill: () => gateway.kill(),
		stop: () => gateway.stop(),
		output: () => gateway.output(),
	};
}

/** `ganglion serve --workers 2`. */
async function twoWorkers(): Promise<Running> {
	const port = await freePort();
	const config = join(folder, "ganglion.json");
	mkdirSync(join(folder, "tmp"));
	writeFileSync(config, JSON.stringify({ vars: { ADMIN_TOKEN: ADMIN, DEFAULT_BACKEND: "simulator" } }));
	let output = "";
	const start = async () => {
		const args = ["--port", String(port), "--workers", String(WORKERS), "--state", join(folder, "state")];
		const started = runScript(CLI, ["serve", ...args, "--config", config], {
			env: { TMPDIR: join(folder, "tmp") },
			group: true,
		});
		await started.until(/Accounts and bills are in .*\n/);
		return started;
	};
	let script = await start();
	let isStopped = false;
	const stop = async () => {
		// A group without a process cannot be killed.
		if (isStopped) return;
		isStopped = true;
		script.kill("SIGKILL", "group");
		output += await script.until(/$/);
		await script.exit;
	};
	return {
		url: `http://127.0.0.1:${port}`,
		async kill() {
			await stop();
			script = await start();
			isStopped = false;
		},
		stop,
		output: () => output,
	};
}

type Send = (method: string, path: string, body?: object | FormData, headers?: object) => Promise<Response>;

/** Requests of the operator for one account. `path`: below the account. */
const sender =
	({ url }: Running, account: string, authorization = `Bearer ${ADMIN}`): Send =>
	(method, path, body, headers) =>
		fetch(`${url}/client/v4/accounts/${account}${path}`, {
			method,
			headers: {
				authorization,
				...(body && !(body instanceof FormData) && { "content-type": "application/json" }),
				...headers,
			},
			...(body && { body: body instanceof FormData ? body : JSON.stringify(body) }),
		});

const formOf = (fields: Record<string, string | File>): FormData => {
	const form = new FormData();
	for (const [name, value] of Object.entries(fields)) form.append(name, value);
	return form;
};

/** Data in every class of objects, each with the text. */
async function fill(send: Send, text: string): Promise<void> {
	const messages = [{ role: "user", content: text }];
	const post = async (path: string, body: object | FormData, headers?: object) => {
		const response = await send("POST", path, body, headers);
		const answer = await response.text();
		expect([path, response.ok, answer.slice(0, 300)]).toEqual([path, true, expect.anything()]);
		return answer.startsWith("{") ? JSON.parse(answer) : answer;
	};
	const logged = { "cf-aig-gateway-id": text, "cf-aig-metadata": JSON.stringify({ note: text }) };
	await post("/ai-gateway/gateways", {
		...{ id: text, collect_logs: true, cache_ttl: 3_600, cache_invalidate_on_update: false },
		...{ rate_limiting_interval: 0, rate_limiting_limit: 0, rate_limiting_technique: "fixed" },
	});
	await post(`/ai/run/${CHAT}`, { messages }, { ...logged, "cf-aig-cache-ttl": "3600" });
	await post(`/ai/run/${CHAT}`, { messages, stream: true }, { ...logged, "cf-aig-resumable": "true" });
	await post("/ai/v1/responses", { model: CHAT, input: text, store: true });
	await post("/ai/v1/conversations", { items: [{ type: "message", ...messages[0] }] });
	const line = {
		custom_id: text,
		method: "POST",
		url: "/v1/chat/completions",
		body: { model: CHAT, messages },
	};
	const file = new File([JSON.stringify(line)], `${text}.jsonl`);
	const { id } = await post("/ai/v1/files", formOf({ purpose: "batch", file }));
	await post("/ai/v1/batches", {
		...{ input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" },
	});
	const large = new File([text, new Uint8Array(LARGE_BYTES)], `${text}.bin`);
	await post("/ai/v1/files", formOf({ purpose: "user_data", file: large }));
	await post("/ai/finetunes", { model: LORA, name: text, description: text });
	await post("/vectorize/v2/indexes", { name: "docs", config: { dimensions: 3, metric: "cosine" } });
	const vector = JSON.stringify({ id: "v1", values: [1, 2, 3], metadata: { note: text } });
	await post("/vectorize/v2/indexes/docs/upsert", formOf({ vectors: new File([vector], "v.ndjson") }));
	await post("/ai-search/instances", { id: "manual" });
	await post("/ai-search/instances/manual/items", formOf({ file: new File([text], `${text}.md`) }));
	expect((await send("PUT", "/ai/aliases/mine", { model: CHAT })).status).toBe(200);
}

const filesIn = (path: string): string[] =>
	readdirSync(path, { recursive: true, encoding: "utf8", withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name));

/** What has the text: tables of databases, as `Class/table`, and other files. */
function findText(text: string): string[] {
	const found = new Set<string>();
	const isDatabase = (file: string) => file.endsWith(".sqlite");
	// A database that is read has no other files afterwards.
	const files = () => filesIn(join(folder, "state"));
	for (const file of files().filter(isDatabase)) {
		const database = new DatabaseSync(file, { readBigInts: true, timeout: 10_000 });
		for (const { name } of database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()) {
			const texts = database
				.prepare(`SELECT * FROM "${name}"`)
				.all()
				.flatMap((row) => Object.values(row))
				.map((value) =>
					value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value),
				);
			if (texts.some((value) => value.includes(text))) found.add(`${classOf(file)}/${name}`);
		}
		database.close();
	}
	for (const file of files().filter((other) => !isDatabase(other)))
		if (readFileSync(file).includes(text)) found.add(file);
	return [...found].sort();
}

/** The folder of a class has its name at the end. */
const classOf = (file: string): string => (file.split("/").at(-2) ?? "").replace(/^.*-/, "");

const bytesOf = (path: string): number => filesIn(path).reduce((sum, file) => sum + statSync(file).size, 0);

const classesIn = (file: string): string[] =>
	[
		...readFileSync(resolve(import.meta.dirname, "../..", file), "utf8").matchAll(/"class_name": "(\w+)"/g),
	].map(([, name = ""]) => name);

/** They have no text of an account: the health of engines, and the queue once its work is done. */
const WITHOUT_TEXT = ["Fleet", "WorkQueue"];
/** The name of the account, so that nothing writes its rows again. Each is deleted an hour later. */
const NAMES_LEFT = ["Directory/deletions", "WorkQueue/items"];

interface Deletion {
	state: "absent" | "deleting" | "present";
	deleted: Record<string, number>;
	waiting: string[];
	free_at?: string;
}

/** Accounts whose names are texts that occur nowhere else. */
async function world(start: () => Promise<Running>) {
	const gateway = await start();
	running = gateway;
	const [doomed, neighbour] = ["doomed-5d1f", "neighbour-5d1f"].map((account) => ({
		account,
		send: sender(gateway, account),
		text: `marker-of-${account}`,
	}));
	if (!doomed || !neighbour) throw new Error("two accounts");
	const tokenOf = async ({ account, send }: typeof doomed) => {
		const created = await send("POST", "/tokens", {
			name: "test",
			policies: [
				{
					effect: "allow",
					resources: { [`com.cloudflare.api.account.${account}`]: "*" },
					permission_groups: [{ id: "a92d2450e05d4e7bb7d0a64968f83d11" }],
				},
			],
		});
		const { result } = (await created.json()) as { result: { value: string } };
		return sender(gateway, account, `Bearer ${result.value}`);
	};
	return {
		doomed,
		neighbour,
		gateway,
		byToken: await tokenOf(doomed),
		neighbourByToken: await tokenOf(neighbour),
	};
}

type World = Awaited<ReturnType<typeof world>>;

/** A failed call is asked again: the gateway may be starting. */
async function deletionOf({ doomed }: World): Promise<Deletion | undefined> {
	const answer = await doomed.send("GET", "/ai/data").catch(() => undefined);
	if (!answer?.ok) return undefined;
	return ((await answer.json()) as { result: Deletion }).result;
}

const until = async (of: World, isReached: (deletion: Deletion) => boolean): Promise<Deletion> => {
	let last: Deletion | undefined;
	await expect
		.poll(
			async () => {
				last = (await deletionOf(of)) ?? last;
				return last && isReached(last) ? "reached" : last;
			},
			{ timeout: 60_000, interval: 50 },
		)
		.toBe("reached");
	if (!last) throw new Error("no state");
	return last;
};

/** What the account has, without what changes with time. */
async function contentsOf(send: Send): Promise<unknown> {
	const paths = [
		"/ai-gateway/gateways",
		`/ai-gateway/gateways/marker-of-neighbour-5d1f/logs`,
		"/ai/v1/files",
		"/ai/v1/batches",
		"/ai/finetunes",
		"/vectorize/v2/indexes",
		"/vectorize/v2/indexes/docs/list",
		"/ai-search/instances",
		"/ai/aliases",
		"/ai/usage?group_by=model,backend",
	];
	const answers = [];
	for (const path of paths) answers.push([path, (await (await send("GET", path)).json()) as object]);
	return answers;
}

/** Until the batch has its answer and the item its chunks: their requests are in the usage. */
async function durableWorkEnds(send: Send): Promise<void> {
	const json = async (path: string) => (await send("GET", path)).json() as Promise<Record<string, unknown>>;
	const states = async () => [
		...((await json("/ai/v1/batches")).data as { status: string }[]),
		...((await json("/ai-search/instances/manual/items")).result as { status: string }[]),
	];
	await expect
		.poll(async () => (await states()).map(({ status }) => status), { timeout: 60_000 })
		.toEqual(["completed", "completed"]);
}

/** Requests one after another, until the end. They fail while the gateway is killed, and those of a deleted account. */
function traffic(each: () => Promise<unknown>): { end(): Promise<void> } {
	let isEnded = false;
	const done = (async () => {
		while (!isEnded) {
			await each().catch(() => {});
			await wait(20);
		}
	})();
	return {
		async end() {
			isEnded = true;
			await done;
		},
	};
}

/** Requests that write to each class of objects, for as long as they are let. */
function doomedTraffic({ byToken, doomed }: World): { end(): Promise<void> }[] {
	const { send, text } = doomed;
	const body = { messages: [{ role: "user", content: text }] };
	const logged = { "cf-aig-gateway-id": text };
	const drained = async (answer: Promise<Response>) => (await answer).text();
	return [
		() => drained(byToken("POST", `/ai/run/${CHAT}`, body)),
		() => drained(send("POST", `/ai/run/${CHAT}`, body, logged)),
		() =>
			drained(
				send("POST", `/ai/run/${CHAT}`, { ...body, stream: true }, { ...logged, "cf-aig-resumable": "true" }),
			),
		() => drained(send("POST", "/ai/v1/responses", { model: CHAT, input: text, store: true })),
		() =>
			drained(send("POST", "/ai/v1/files", formOf({ purpose: "user_data", file: new File([text], text) }))),
		() =>
			drained(
				send("POST", "/ai-search/instances/manual/items", formOf({ file: new File([text], `${text}.md`) })),
			),
		() => drained(send("POST", "/ai-gateway/gateways", { id: `late-${text}`, collect_logs: true })),
		() => drained(send("PUT", "/ai/aliases/mine", { model: CHAT })),
	].map(traffic);
}

async function nothingIsLeft({ doomed, gateway, neighbour }: World): Promise<void> {
	await gateway.stop();
	const filled = new Set(
		[...findText(neighbour.account), ...findText(neighbour.text)].map((at) => at.split("/")[0]),
	);
	expect([...filled]).toEqual(
		expect.arrayContaining(classesIn("wrangler.jsonc").filter((name) => !WITHOUT_TEXT.includes(name))),
	);
	expect(findText(doomed.account)).toEqual(NAMES_LEFT);
	expect(findText(doomed.text)).toEqual([]);
	expect(gateway.output()).not.toContain(doomed.text);
}

const ONE_PROCESS = "in one process";
const PHASES: [string, (of: World) => Promise<unknown>][] = [
	["at its begin", async () => {}],
	[
		"in its first pass",
		(of) => until(of, ({ deleted, state }) => state === "absent" || Object.keys(deleted).length > 0),
	],
	[
		"before its last pass",
		(of) => until(of, ({ state, waiting }) => state === "absent" || waiting.length === 0),
	],
	["at its end", (of) => until(of, ({ state }) => state === "absent")],
];

it(`leaves nothing of the account in any class of objects ${ONE_PROCESS} that is killed in each phase, and nothing comes later`, async () => {
	const of = await world(oneProcess);
	const { byToken, doomed, gateway, neighbour } = of;
	await fill(doomed.send, doomed.text);
	await fill(neighbour.send, neighbour.text);
	await durableWorkEnds(neighbour.send);
	const before = await contentsOf(neighbour.send);
	const bytes = bytesOf(join(folder, "state"));
	expect(await deletionOf(of)).toEqual({ state: "present", deleted: {}, waiting: [] });

	const requests = doomedTraffic(of);
	await wait(300);
	const started = await doomed.send("DELETE", "/ai/data");
	expect(await started.json()).toMatchObject({ result: { state: "deleting" } });
	for (const [, reached] of PHASES) {
		await reached(of);
		await gateway.kill();
	}
	const end = await until(of, ({ state }) => state === "absent");
	expect(Object.keys(end.deleted)).toEqual(
		expect.arrayContaining([
			"ACCOUNT",
			"BLOBS",
			"GATEWAYS",
			"JOB_STORE",
			"RESPONSE_STORE",
			"VECTOR_REGISTRY",
		]),
	);
	expect(Date.parse(end.free_at ?? "")).toBeGreaterThan(Date.now() + 3_500_000);
	await wait(1_000);
	expect((await byToken("POST", `/ai/run/${CHAT}`, { prompt: "Hi" })).status).toBe(401);
	const refused = await doomed.send("POST", `/ai/run/${CHAT}`, { prompt: "Hi" });
	expect(refused.status).toBe(409);
	expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3_500);
	expect(await refused.text()).toContain(`The data of the account ${doomed.account} were deleted`);
	await Promise.all(requests.map((one) => one.end()));
	expect(await contentsOf(neighbour.send)).toEqual(before);
	await nothingIsLeft(of);
	expect(bytesOf(join(folder, "state"))).toBeLessThan(bytes - LARGE_BYTES / 2);
}, 300_000);

it("leaves nothing of the account in two workers, and every request of its neighbour has its bill", async () => {
	const of = await world(twoWorkers);
	const { doomed, gateway, neighbour, neighbourByToken } = of;
	await fill(doomed.send, doomed.text);
	await fill(neighbour.send, neighbour.text);
	await durableWorkEnds(neighbour.send);
	const requests = doomedTraffic(of);
	await wait(300);
	await doomed.send("DELETE", "/ai/data");
	await gateway.kill();
	const usage = async () => {
		const answer = await neighbour.send("GET", "/ai/usage?group_by=model,backend");
		return ((await answer.json()) as { result_info: { totals: { requests: number; failed: number } } })
			.result_info.totals;
	};
	const before = await usage();
	let answered = 0;
	const refused: number[] = [];
	const meanwhile = Array.from({ length: WORKERS * 2 }, () =>
		traffic(async () => {
			const answer = await neighbourByToken("POST", `/ai/run/${CHAT}`, { prompt: "Hi" });
			await answer.text();
			if (answer.ok) answered++;
			// On a fast machine the account reaches its own rate.
			else if (answer.status !== 429) refused.push(answer.status);
		}),
	);
	await until(of, ({ state }) => state === "absent");
	await wait(1_000);
	await expect.poll(() => answered, { timeout: 60_000 }).toBeGreaterThan(50);
	await Promise.all([...requests, ...meanwhile].map((one) => one.end()));
	expect(refused).toEqual([]);
	await expect
		.poll(async () => (await usage()).requests - before.requests, { timeout: 10_000 })
		.toBe(answered);
	expect((await usage()).failed).toBe(before.failed);
	await nothingIsLeft(of);
}, 300_000);
