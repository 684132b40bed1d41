/** Patterns of tokens that run models and use what outlives a request: files, batches, vector indexes and AI Search. */
import { zipSync } from "fflate";
import {
	type Attacker,
	DIMENSIONS,
	INDEXES,
	INSTANCES,
	indexSettings,
	instanceSettings,
	type Pattern,
} from "../attacker.ts";
import { api, chat, HOLD_MS, KILOBYTE, MEGABYTE, padding } from "./requests.ts";

const DRIP_MS = 500;
const BOUNDARY = "----x";
const FORM = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
const LINES = 200;
/** A document of 50 MB in 50 KB. */
const ZIP_BOMB = zipSync({ "word/document.xml": Buffer.from(padding(50 * MEGABYTE)) });

const inRooms = (name: string, attempt: Pattern["attempt"]): Pattern => ({ name, by: "token", attempt });
const token = (a: Attacker): string => a.roomToken;
const account = ({ account: id }: Attacker): string => `/client/v4/accounts/${id}`;
const files = (a: Attacker): string => `${api(a)}/v1/files`;
const index = (a: Attacker, number = a.number): string =>
	`${account(a)}/vectorize/v2/indexes/hostile-${number % INDEXES}`;
const instances = (a: Attacker): string => `${account(a)}/ai-search/instances`;
const instance = (a: Attacker): string => `${instances(a)}/hostile-${a.number % INSTANCES}`;

const part = (name: string, extra = ""): string =>
	`--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${extra}\r\n\r\n`;
const form = (
	filename: string,
	content: string | Uint8Array,
	fields: Record<string, string> = {},
	field = "file",
): Buffer =>
	Buffer.concat([
		Buffer.from(
			Object.entries(fields)
				.map(([name, value]) => `${part(name)}${value}\r\n`)
				.join(""),
		),
		Buffer.from(part(field, `; filename="${filename}"`)),
		Buffer.from(content as string),
		Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
	]);

const line = (model: string, number: number): string =>
	`${JSON.stringify({ custom_id: `c-${number}`, method: "POST", url: "/v1/chat/completions", body: { ...chat(), model: `hostile/${model}` } })}\n`;
const vector = (number: number, metadata: object = {}): string =>
	`${JSON.stringify({ id: `v-${number}`, values: Array.from({ length: DIMENSIONS }, (_, i) => (number + i) % 7), metadata })}\n`;

/** The beginning of a form, whose file then arrives byte by byte. */
async function dripFile(a: Attacker, path: string): Promise<void> {
	const head = a.head(path, {
		token: token(a),
		headers: { ...FORM, "content-length": String(10 * MEGABYTE) },
	});
	const begin = `${part("purpose")}batch\r\n${part("file", '; filename="a.txt"')}${padding(20 * KILOBYTE)}`;
	await a.drip(await a.connect(head + begin), "a", DRIP_MS, HOLD_MS);
}

async function newFile(a: Attacker, content: string): Promise<string> {
	const sent = await a.ask(files(a), {
		...{ body: form("a.jsonl", content, { purpose: "batch" }), headers: FORM, token: token(a) },
	});
	return /"id":\s*"(file-[\w-]+)"/.exec(sent.received)?.[1] ?? "file-none";
}

/** A batch of lines for a behaviour of the engine. Returns its id. */
async function newBatch(a: Attacker, model: string, lines = LINES): Promise<string> {
	const input_file_id = await newFile(a, Array.from({ length: lines }, (_, i) => line(model, i)).join(""));
	const sent = await a.ask(`${api(a)}/v1/batches`, {
		body: { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" },
		token: token(a),
	});
	return /"id":\s*"(batch[\w-]+)"/.exec(sent.received)?.[1] ?? "batch_none";
}

export const ROOM_PATTERNS: readonly Pattern[] = [
	inRooms("a file that arrives byte by byte", (a) => dripFile(a, files(a))),
	inRooms("an item that arrives byte by byte", (a) => dripFile(a, `${instance(a)}/items`)),
	inRooms("files of 5 MB", async (a) => {
		const body = form("a.bin", padding(5 * MEGABYTE), { purpose: "user_data" });
		await a.ask(files(a), { body, headers: FORM, token: token(a) });
	}),
	inRooms("a file that is left", async (a) => {
		const body = form("a.bin", padding(5 * MEGABYTE), { purpose: "user_data" });
		await a.ask(files(a), { body, headers: FORM, token: token(a), leaveMs: 20 });
	}),
	inRooms("files with paths as names", async (a) => {
		const name = "../../../../etc/passwd\\..\\%2e%2e%2f\u0001.jsonl";
		await a.ask(files(a), { body: form(name, "x", { purpose: "batch" }), headers: FORM, token: token(a) });
	}),
	inRooms("forms without an end", async (a) => {
		const body = form("a.bin", padding(MEGABYTE)).subarray(0, -20);
		await a.ask(files(a), { body, headers: FORM, token: token(a) });
	}),
	inRooms("small files", async (a) => void (await newFile(a, "x\n"))),
	inRooms("files of other accounts", async (a) => {
		await a.ask(`${files(a)}/file-${String(a.number).padStart(32, "0")}/content`, { token: token(a) });
	}),
	inRooms("a file that is read while it is deleted", async (a) => {
		const id = await newFile(a, padding(MEGABYTE));
		const read = a.ask(`${files(a)}/${id}/content`, { token: token(a), unread: true, leaveMs: 500 });
		await a.ask(`${files(a)}/${id}`, { method: "DELETE", token: token(a) });
		await read;
	}),
	inRooms("batches", async (a) => void (await newBatch(a, "quick"))),
	inRooms("batches of a silent engine", async (a) => void (await newBatch(a, "silent"))),
	inRooms("batches of large answers", async (a) => void (await newBatch(a, "large", 20))),
	inRooms("batches that are cancelled", async (a) => {
		const id = await newBatch(a, "slow", 20);
		await a.ask(`${api(a)}/v1/batches/${id}/cancel`, { method: "POST", token: token(a) });
	}),
	inRooms("Anthropic batches of 1 MB", async (a) => {
		const params = { ...chat(padding(50 * KILOBYTE)), max_tokens: 8 };
		const requests = Array.from({ length: 20 }, (_, i) => ({ custom_id: `c-${i}`, params }));
		await a.ask(`${api(a)}/v1/messages/batches`, { body: { requests }, token: token(a) });
	}),
	inRooms("Gemini batches", async (a) => {
		const request = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
		const requests = Array.from({ length: 50 }, (_, i) => ({ request, metadata: { key: `k-${i}` } }));
		const batch = { displayName: "x", inputConfig: { requests: { requests } } };
		await a.ask(`${api(a)}/v1beta/models/hostile/quick:batchGenerateContent`, {
			...{ body: { batch }, token: token(a) },
		});
	}),
	inRooms("Workers AI's queue", async (a) => {
		await a.ask(`${api(a)}/run/hostile/quick?queueRequest=true`, {
			body: { requests: Array.from({ length: 20 }, () => ({ prompt: "Hi" })) },
			token: token(a),
		});
	}),
	inRooms("vector indexes", async (a) => {
		await a.ask(`${account(a)}/vectorize/v2/indexes`, { body: indexSettings(a.number), token: token(a) });
	}),
	inRooms("vector indexes that are deleted", async (a) => {
		await a.ask(index(a), { method: "DELETE", token: token(a) });
	}),
	inRooms("uploads of 5,000 vectors", async (a) => {
		const body = Array.from({ length: 5_000 }, (_, i) => vector(i, { text: padding(100) })).join("");
		const headers = { "content-type": "application/x-ndjson" };
		await a.ask(`${index(a)}/upsert`, { body, headers, token: token(a) });
	}),
	inRooms("an upload of vectors that is left", async (a) => {
		const body = Array.from({ length: 5_000 }, (_, i) => vector(i)).join("");
		const headers = { "content-type": "application/x-ndjson" };
		await a.ask(`${index(a)}/upsert`, { body, headers, token: token(a), leaveMs: 30 });
	}),
	inRooms("vectors that arrive byte by byte", async (a) => {
		const headers = { "content-type": "application/x-ndjson", "content-length": "1000000" };
		const head = a.head(`${index(a)}/upsert`, { token: token(a), headers });
		await a.drip(await a.connect(head + padding(20 * KILOBYTE)), "1", DRIP_MS, HOLD_MS);
	}),
	inRooms("a line of vectors without an end", async (a) => {
		const headers = { "content-type": "application/x-ndjson" };
		const body = `{"id":"x","values":[${"1,".repeat(MEGABYTE)}`;
		await a.ask(`${index(a)}/insert`, { body, headers, token: token(a) });
	}),
	inRooms("queries of vectors", async (a) => {
		const body = { vector: Array.from({ length: DIMENSIONS }, (_, i) => i % 5), topK: 100 };
		await a.ask(`${index(a)}/query`, { body, token: token(a) });
	}),
	inRooms("filters of 1 MB", async (a) => {
		const filter = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, { $in: [i] }]));
		const body = { vector: Array.from({ length: DIMENSIONS }, () => 1), filter };
		await a.ask(`${index(a)}/query`, { body, token: token(a) });
	}),
	inRooms("search instances", async (a) => {
		await a.ask(instances(a), { body: instanceSettings(a.number), token: token(a) });
	}),
	inRooms("search instances that are deleted", async (a) => {
		await a.ask(instance(a), { method: "DELETE", token: token(a) });
	}),
	inRooms("items of 1 MB", async (a) => {
		const body = form(`a-${a.number}.txt`, `${padding(1_000)} `.repeat(1_000));
		await a.ask(`${instance(a)}/items`, { body, headers: FORM, token: token(a) });
	}),
	inRooms("an item that is left while it is indexed", async (a) => {
		const body = form("wait.txt", "words ".repeat(1_000), { wait_for_completion: "true" });
		await a.ask(`${instance(a)}/items`, { body, headers: FORM, token: token(a), leaveMs: 500 });
	}),
	inRooms("items that are compressed bombs", async (a) => {
		const body = form(`a-${a.number}.docx`, ZIP_BOMB);
		await a.ask(`${instance(a)}/items`, { body, headers: FORM, token: token(a) });
	}),
	inRooms("searches", async (a) => {
		const body = { messages: [{ role: "user", content: "words" }] };
		await a.ask(`${instance(a)}/search`, { body, token: token(a) });
	}),
	inRooms("chats of AI Search that are left", async (a) => {
		const body = { messages: [{ role: "user", content: "words" }], model: "hostile/silent", stream: true };
		await a.ask(`${instance(a)}/chat/completions`, { body, token: token(a), leaveMs: 500 });
	}),
	inRooms("documents that are compressed bombs", async (a) => {
		const body = form("a.docx", ZIP_BOMB, {}, "files");
		await a.ask(`${api(a)}/tomarkdown`, { body, headers: FORM });
	}),
];
