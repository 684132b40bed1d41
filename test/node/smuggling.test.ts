/** What the connection guard accepts is the same requests for the runtime, in hostile sequences of bytes (hostile-bytes.ts). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FramingError, MessageFraming, requestBodyKind } from "../../scripts/connections/framing.ts";
import { type Served, serve, singleModule } from "../../scripts/workerd.ts";
import { Random } from "../../tools/soak/random.ts";
import { hostileBytes } from "./hostile-bytes.ts";

/** Set `HOSTILE_SEQUENCES` for a longer run. */
const SEQUENCES = Number(process.env.HOSTILE_SEQUENCES ?? 1_500);
const SEED = 20_261_129;
const AT_ONCE = 25;

/** Answers with what it has seen in a header, because the answer of HEAD has no body. */
const WORKER = `export default {
	async fetch(request) {
		const { pathname, search } = new URL(request.url);
		const credentials = ["authorization", "x-api-key"].map((name) => request.headers.get(name) ?? "");
		const body = await request.arrayBuffer().then((bytes) => String.fromCharCode(...new Uint8Array(bytes)), () => "broken");
		const seen = [request.method, pathname + search, body, ...credentials];
		return new Response(null, { headers: { "x-seen": encodeURIComponent(JSON.stringify(seen)) } });
	},
};`;

/** Those of the generator that the runtime knows. It refuses others with 501, and closes. */
const METHODS = new Set([
	"GET",
	"HEAD",
	"POST",
	"PUT",
	"DELETE",
	"OPTIONS",
	"PATCH",
	"PROPFIND",
	"TRACE",
	"LOCK",
]);

/** The method, the path with its query, the body, and two credentials. */
type Seen = readonly string[];

interface Guarded {
	/** The bytes of the complete requests. */
	forwarded: string;
	requests: Seen[];
	/** The runtime may close the connection after it. */
	mayEnd: boolean[];
	status?: number;
}

const fromUtf8 = (latin1: string): string => Buffer.from(latin1, "latin1").toString("utf8");

function addressOf(target: string): string {
	const { pathname, search } = new URL(target.startsWith("/") ? `http://x${target}` : target);
	return pathname + search;
}

/** Of a body that is well-formed. */
function dechunked(text: string): string {
	let body = "";
	for (let chunks = text; ; ) {
		const from = chunks.indexOf("\r\n") + 2;
		const size = Number.parseInt(chunks, 16);
		if (size === 0) return body;
		body += chunks.slice(from, from + size);
		chunks = chunks.slice(from + size + 2);
	}
}

function guarded(text: string): Guarded {
	const bytes = Buffer.from(text, "latin1");
	const framing = new MessageFraming(requestBodyKind);
	const requests: Seen[] = [];
	const mayEnd: boolean[] = [];
	let from = 0;
	const result = (): Guarded => ({ forwarded: text.slice(0, from), requests, mayEnd });
	try {
		for (let at = 0; at < bytes.length; ) {
			at += framing.push(bytes.subarray(at));
			const { head, kind } = framing;
			if (!framing.hasEnded || !head) continue;
			const [method = "", target = "", version] = head.startLine;
			const message = text.slice(from, at);
			const bodyAt = message.indexOf("\r\n\r\n") + 4;
			const body = kind === "chunked" ? dechunked(message.slice(bodyAt)) : message.slice(bodyAt);
			const credentials = ["authorization", "x-api-key"].map((name) =>
				fromUtf8(head.headers.get(name) ?? ""),
			);
			requests.push([method, addressOf(target), body, ...credentials]);
			mayEnd.push(!METHODS.has(method) || version === "HTTP/1.0" || /\r\nconnection: close\r/.test(message));
			from = at;
			framing.next();
		}
	} catch (error) {
		if (!(error instanceof FramingError)) throw error;
		return { ...result(), status: error.status };
	}
	return result();
}

describe.skipIf(process.platform === "win32")("the guard and the runtime", () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-smuggling-"));
	const unixSocket = join(folder, "http.sock");
	let runtime: Served | undefined;

	beforeAll(async () => {
		const file = join(folder, "worker.js");
		writeFileSync(file, WORKER);
		const spec = {
			name: "smuggling",
			modules: singleModule(file),
			compatibilityDate: "2026-01-01",
			unixSocket,
		};
		runtime = await serve({ ...spec, log: undefined, onOutput: ignore }, 0, folder);
	}, 60_000);
	afterAll(async () => {
		await runtime?.stop();
		rmSync(folder, { recursive: true, force: true });
	});

	function ignore(...outputs: NodeJS.ReadableStream[]): void {
		for (const output of outputs) output.pipe(new PassThrough().resume());
	}

	const seenBy = (text: string): Promise<Seen[]> =>
		new Promise((resolve, reject) => {
			const socket = createConnection({ path: unixSocket, allowHalfOpen: true }).setEncoding("latin1");
			let answers = "";
			socket.on("data", (piece) => (answers += piece)).on("error", reject);
			socket.on("end", () => {
				socket.destroy();
				const found = answers.matchAll(/^x-seen: (.*)\r$/gim);
				resolve([...found].map(([, seen = ""]) => JSON.parse(decodeURIComponent(seen))));
			});
			socket.end(Buffer.from(text, "latin1"));
		});

	it(`${SEQUENCES} sequences have the same requests for both`, async () => {
		const differences: object[] = [];
		const counts = { passed: 0, refused: 0 };
		async function check(index: number): Promise<void> {
			const text = hostileBytes(new Random(SEED + index));
			const { forwarded, requests, mayEnd, status } = guarded(text);
			if (status !== undefined) expect([400, 431]).toContain(status);
			counts[status === undefined ? "passed" : "refused"]++;
			if (requests.length === 0) return;
			const seen = await seenBy(forwarded);
			const ends = mayEnd.indexOf(true) + 1;
			const expected =
				ends > 0 && seen.length < requests.length
					? requests.slice(0, Math.max(ends - 1, seen.length))
					: requests;
			if (!isDeepStrictEqual(seen, expected)) differences.push({ forwarded, seen, expected });
		}
		for (let from = 0; from < SEQUENCES; from += AT_ONCE)
			await Promise.all(
				Array.from({ length: Math.min(AT_ONCE, SEQUENCES - from) }, (_, i) => check(from + i)),
			);
		expect(differences).toEqual([]);
		// Both sides of the rules are tested.
		expect(Math.min(counts.passed, counts.refused)).toBeGreaterThan(SEQUENCES / 5);
	}, 240_000);
});
