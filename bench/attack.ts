/**
 * The worst requests of a stranger and of one caller with a valid token: CPU that each costs the gateway, and how long
 * another caller waits meanwhile. The gateway runs on one core, so its CPU is what others wait for.
 */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { modulesIn } from "../miniflare/modules.ts";
import { runtimeSettings } from "../scripts/settings.ts";
import { serve } from "../scripts/workerd.ts";
import { ADMIN_TOKEN, BUILT, CONTENDERS_CPU, createToken, freePort } from "./contenders.ts";
import type { Context } from "./context.ts";
import { agentOf } from "./load.ts";
import { quantile, spread } from "./statistics.ts";
import { type Row, rowLine } from "./table.ts";

const CPU_BAR_MS = 20;
const DELAY_BAR_MS = 50;
/** Repetitions of each request. The first ones compile its code, and do not count. */
const WARM_UPS = 3;
const TIMES = 7;
/** How long the neighbour asks alone: the noise of the machine. */
const QUIET_MS = 100;
const MB = 1_000_000;

interface Hostile {
	label: string;
	path: string;
	/** `invented`: of an account that exists. */
	token: "none" | "invented" | "valid";
	type: string;
	body: Buffer;
	/** Sent without a `content-length`. */
	chunked?: boolean;
	/** A valid request of this size: what is above its cost is measured. */
	plain?: Buffer;
	/** A valid request itself. */
	noBar?: boolean;
}

const repeated = (unit: Buffer | string, bytes: number): Buffer => {
	const piece = Buffer.from(unit);
	return Buffer.concat(Array<Buffer>(Math.floor(bytes / piece.length)).fill(piece));
};
const keys = (bytes: number): Buffer => {
	const members = Array.from(
		{ length: Math.floor(bytes / 14) },
		(_, i) => `"${String(i).padStart(8, "k")}":1`,
	);
	return Buffer.from(`{${members.join(",")}}`);
};
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const atom = (bytes: number): Buffer => {
	const head = Buffer.alloc(8);
	head.writeUInt32BE(bytes, 0);
	head.write("free", 4);
	return head;
};
const ftyp = Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "latin1");
const plainMp4 = Buffer.concat([ftyp, atom(25 * MB), Buffer.alloc(25 * MB - 8)]);
const mp4 = Buffer.concat([ftyp, repeated(atom(8), 25 * MB)]);
const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8]), repeated(Buffer.from([0xff, 0xe1, 0, 2]), 24 * MB)]);
const form = repeated('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n', 26 * MB);

const CHAT = "/ai/v1/chat/completions";
const RUN = "/ai/run/@cf/meta/llama-3.1-8b-instruct-fp8";
const WHISPER = "/ai/run/@cf/openai/whisper";
const VISION = "/ai/run/@cf/llava-hf/llava-1.5-7b-hf";
const JSON_TYPE = "application/json";
const FORM_TYPE = "multipart/form-data; boundary=b";

function hostileRequests(): Hostile[] {
	const small = 16_000;
	const messages = (bytes: number) =>
		json({ model: "m", messages: Array(Math.floor(bytes / 30)).fill({ role: "user", content: "" }) });
	const tools = Array.from({ length: 120 }, (_, i) => ({
		type: "function",
		function: {
			name: `f${i}`,
			parameters: { type: "object", properties: { a: { anyOf: Array(20).fill({ pattern: "(a+)+" }) } } },
		},
	}));
	const stranger: Omit<Hostile, "token">[] = [
		{ label: "7 MB of JSON keys", path: CHAT, type: JSON_TYPE, body: keys(7 * MB) },
		{ label: "16 KB of JSON keys", path: CHAT, type: JSON_TYPE, body: keys(small) },
		{ label: "16 KB of empty messages", path: CHAT, type: JSON_TYPE, body: messages(small) },
		{
			label: "16 KB of tools with patterns",
			path: CHAT,
			type: JSON_TYPE,
			body: json({ model: "m", messages: [], tools }).subarray(0, 16_000),
		},
		{
			label: "16 KB in one list of numbers",
			path: WHISPER,
			type: JSON_TYPE,
			body: json({ audio: Array(7_900).fill(1) }),
		},
		{ label: "26 MB form of empty parts", path: "/ai/v1/audio/transcriptions", type: FORM_TYPE, body: form },
		{ label: "26 MB form to Markdown", path: "/ai/tomarkdown", type: FORM_TYPE, body: form },
		{ label: "MP4 of empty boxes, 25 MB", path: WHISPER, type: "application/octet-stream", body: mp4 },
		{ label: "7 MB of JSON keys, chunked", path: CHAT, type: JSON_TYPE, body: keys(7 * MB), chunked: true },
	];
	const valid: Omit<Hostile, "token">[] = [
		{ label: "7 MB of JSON keys", path: CHAT, type: JSON_TYPE, body: keys(7 * MB) },
		{ label: "99,000 JSON keys", path: RUN, type: JSON_TYPE, body: keys(14 * 99_000) },
		{ label: "9 MB of empty messages", path: CHAT, type: JSON_TYPE, body: messages(9 * MB) },
		{ label: "9 MB of lists", path: RUN, type: JSON_TYPE, body: repeated("[],", 9 * MB) },
		{
			label: "9 MB of escapes in one text",
			path: RUN,
			type: JSON_TYPE,
			body: Buffer.from(`{"prompt":"${"\\u0041".repeat(1_500_000)}"}`),
		},
		{
			label: "9 MB of text",
			path: RUN,
			type: JSON_TYPE,
			body: json({ prompt: "a b ".repeat(2_250_000) }),
			noBar: true,
		},
		{ label: "26 MB form of empty parts", path: "/ai/v1/audio/transcriptions", type: FORM_TYPE, body: form },
		{
			label: "MP4 of empty boxes, 25 MB",
			path: WHISPER,
			type: "application/octet-stream",
			body: mp4,
			plain: plainMp4,
		},
		{ label: "JPEG of empty segments, 24 MB", path: VISION, type: "application/octet-stream", body: jpeg },
		{
			label: "JPEG of empty segments in JSON, 7 MB",
			path: VISION,
			type: JSON_TYPE,
			body: json({
				prompt: "a",
				image: `data:image/jpeg;base64,${jpeg.subarray(0, 5 * MB).toString("base64")}`,
			}),
		},
	];
	return [
		...stranger.map((each) => ({ ...each, token: "none" }) as const),
		...stranger.map((each) => ({ ...each, token: "invented" }) as const),
		...valid.map((each) => ({ ...each, token: "valid" }) as const),
	];
}

/** Milliseconds of CPU of all threads, to the nanosecond. */
function cpuMs(pid: number): number {
	const tasks = `/proc/${pid}/task`;
	return readdirSync(tasks).reduce((sum, task) => {
		const [ran = "0"] = readFileSync(join(tasks, task, "schedstat"), "utf8").split(" ");
		return sum + Number(ran) / 1e6;
	}, 0);
}

interface Sent {
	status: number;
	milliseconds: number;
}

const agent = agentOf(8);

function send(
	url: string,
	{
		method = "POST",
		headers,
		body,
		chunked,
	}: { method?: string; headers: Record<string, string>; body?: Buffer; chunked?: boolean },
): Promise<Sent> {
	const begun = performance.now();
	return new Promise((resolve) => {
		const end = (status: number): void => resolve({ status, milliseconds: performance.now() - begun });
		const length = body && !chunked ? { "content-length": String(body.length) } : {};
		const sent = request(url, { method, agent, headers: { ...headers, ...length } }, (answer) => {
			answer.resume();
			answer.on("end", () => end(answer.statusCode ?? 0));
			answer.on("error", () => end(0));
		});
		// The gateway may close a connection whose body it does not read.
		sent.on("error", () => end(0));
		sent.end(body);
	});
}

export async function attack({ field, say }: Context): Promise<Row[]> {
	const folder = join(field.folder, "attack");
	mkdirSync(folder);
	const spec = {
		name: "ganglion",
		modules: modulesIn(BUILT),
		vars: {
			// An engine that refuses every request: what is measured is before it.
			BACKENDS: { engine: { kind: "openai", url: "http://127.0.0.1:9/v1" } },
			ROUTES: { "*": [{ backend: "engine", model: "m" }] },
			LIMITS: { requests_per_minute: "none", daily_neurons: 1e9 },
			ADMIN_TOKEN,
		},
		...runtimeSettings(),
	};
	const served = await serve(spec, await freePort(), folder, CONTENDERS_CPU);
	try {
		const account = `${served.url}/client/v4/accounts/bench`;
		const valid = await createToken(served.url, "bench");
		const tokens = {
			none: undefined,
			invented: valid.replace(/.$/, (last) => (last === "a" ? "b" : "a")),
			valid,
		};
		const other = { method: "GET", headers: { authorization: `Bearer ${valid}` } };
		const neighbour = () => send(`${account}/ai/usage`, other);
		const rows: Row[] = [];
		for (const { label, path, token, type, body, chunked, plain, noBar } of hostileRequests()) {
			const text = tokens[token];
			const headers = {
				"content-type": type,
				...(text !== undefined && { authorization: `Bearer ${text}` }),
			};
			const ask = (sent: Buffer) => () =>
				send(account + path, { headers, body: sent, ...(chunked && { chunked }) });
			const { costs, status } = await costsOf(served.pid, ask(body));
			const usual = plain ? quantile((await costsOf(served.pid, ask(plain))).costs, 0.5) : 0;
			const alone = await waits(neighbour, () => wait(QUIET_MS));
			const beside = await waits(neighbour, ask(body));
			const description = `${token === "none" ? "no" : token === "valid" ? "a valid" : "an invented"} token, ${label}`;
			const cpu: Row = {
				label: `${description}: CPU${plain ? " above that of a valid file" : ""}`,
				measured: spread(costs.map((cost) => cost - usual)),
				unit: "ms",
				...(!noBar && { bar: CPU_BAR_MS }),
				note: `HTTP ${status}${plain ? `, a valid file ${usual.toFixed(1)} ms` : ""}`,
			};
			const delay: Row = {
				label: `${description}: another's longest wait`,
				measured: spread(beside),
				unit: "ms",
				error: spread(alone),
				...(!noBar && { bar: DELAY_BAR_MS }),
				note: `alone ${quantile(alone, 0.5).toFixed(1)} ms`,
			};
			rows.push(cpu, delay);
			say(`  ${rowLine(cpu)}\n  ${rowLine(delay)}`);
		}
		return rows;
	} finally {
		await served.stop();
	}
}

/** Milliseconds of CPU of each of some requests, after the first ones. */
async function costsOf(pid: number, ask: () => Promise<Sent>): Promise<{ costs: number[]; status: number }> {
	const costs: number[] = [];
	let status = 0;
	for (let i = -WARM_UPS; i < TIMES; i++) {
		const before = cpuMs(pid);
		({ status } = await ask());
		if (i >= 0) costs.push(cpuMs(pid) - before);
	}
	return { costs, status };
}

/** The neighbour's longest wait during each of some pieces of work. */
async function waits(neighbour: () => Promise<Sent>, work: () => Promise<unknown>): Promise<number[]> {
	const longest: number[] = [];
	for (let i = 0; i < TIMES; i++) {
		const state = { over: false };
		const done = work().then(() => {
			state.over = true;
		});
		let most = 0;
		while (!state.over) most = Math.max(most, (await neighbour()).milliseconds);
		await done;
		longest.push(most);
	}
	return longest;
}
