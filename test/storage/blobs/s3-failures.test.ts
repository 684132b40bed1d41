/** An S3-compatible store that refuses, is silent, or breaks off. Its answers are those of https://docs.aws.amazon.com/AmazonS3/latest/API/. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { s3Contents } from "../../../src/storage/blobs/s3-contents.ts";
import { openStore, type TestStore } from "./stores.ts";

const MIB = 1024 * 1024;
/** For a machine that is busy. */
const PATIENCE = { timeout: 30_000 };
const SETTING = {
	endpoint: "https://s3.eu-central-1.amazonaws.com",
	region: "eu-central-1",
	bucket: "acme-ganglion",
	prefix: "gateway/",
	accessKeyId: "AKIAEXAMPLE",
	secretAccessKey: "wJalrXUtnFEMI",
	pathStyle: true,
};
const xml = (body: string, status = 200): Response =>
	new Response(`<?xml version="1.0" encoding="UTF-8"?>${body}`, { status });
const refusal = (status: number, code: string): Response =>
	xml(`<Error><Code>${code}</Code><Message>AKIAEXAMPLE is not allowed</Message></Error>`, status);

type Answer = Response | Promise<Response>;

/**
 * A store with the given answers, in the order of the calls of one kind: `PUT`, `PUT part`, `POST uploads` (start), `POST upload`
 * (completion), `GET`, `GET uploads`, `DELETE`, `DELETE upload`. Without one, it does what it is asked, and deletes nothing of the names in `kept`.
 */
async function scripted(script: Record<string, ((signal: AbortSignal) => Answer)[]>) {
	const calls: string[] = [];
	const objects = new Map<string, Uint8Array>();
	const uploads = new Map<string, { name: string; parts: Uint8Array[] }>();
	const kept = new Set<string>();
	const waits: number[] = [];
	const s3 = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
		const url = new URL(String(input));
		const name = url.pathname.slice("/acme-ganglion/".length);
		const id = url.searchParams.get("uploadId");
		const sub = url.searchParams.has("uploads") ? " uploads" : id === null ? "" : " upload";
		const kind = `${init.method}${url.searchParams.has("partNumber") ? " part" : sub}`;
		calls.push(kind);
		const answer = script[kind]?.shift();
		if (answer) return answer(init.signal as AbortSignal);
		if (init.method === "DELETE" && kept.has(name)) return refusal(403, "AccessDenied");
		const body = init.body === undefined ? new Uint8Array() : await new Response(init.body).bytes();
		switch (kind) {
			case "PUT":
				objects.set(name, body);
				return new Response(null, { headers: { etag: '"1"' } });
			case "POST uploads":
				uploads.set(`u${uploads.size}`, { name, parts: [] });
				return xml(
					`<InitiateMultipartUploadResult><UploadId>u${uploads.size - 1}</UploadId></InitiateMultipartUploadResult>`,
				);
			case "PUT part":
				uploads.get(id ?? "")?.parts.push(body);
				return new Response(null, { headers: { etag: '"part"' } });
			case "POST upload":
				objects.set(name, new Uint8Array());
				uploads.delete(id ?? "");
				return xml("<CompleteMultipartUploadResult/>");
			case "GET uploads": {
				const prefix = url.searchParams.get("prefix") ?? "";
				const own = [...uploads].filter(([, upload]) => upload.name.startsWith(prefix));
				const list = own.map(([key]) => `<Upload><UploadId>${key}</UploadId></Upload>`);
				return xml(`<ListMultipartUploadsResult>${list.join("")}</ListMultipartUploadsResult>`);
			}
			case "DELETE upload":
				return uploads.delete(id ?? "") ? new Response(null, { status: 204 }) : refusal(404, "NoSuchUpload");
			case "DELETE":
				objects.delete(name);
				return new Response(null, { status: 204 });
			default: {
				const content = objects.get(name);
				if (!content) return refusal(404, "NoSuchKey");
				const [, from, to] = /bytes=(\d+)-(\d+)/.exec(new Headers(init.headers).get("range") ?? "") ?? [];
				return new Response(content.slice(Number(from), Number(to) + 1), { status: 206 });
			}
		}
	};
	const outside = s3Contents(SETTING, {
		fetch: s3 as typeof fetch,
		wait: async (milliseconds) => void waits.push(milliseconds),
	});
	const store: TestStore = await openStore("s3", { outside });
	return { ...store, calls, kept, objects, uploads, waits };
}

const again = (times: number, answer: () => Answer): (() => Answer)[] =>
	Array.from({ length: times }, () => answer);
const failure = async (call: Promise<unknown>): Promise<AiError> => {
	const thrown = await call.then(
		() => undefined,
		(error: unknown) => error,
	);
	expect(thrown).toBeInstanceOf(AiError);
	return thrown as AiError;
};
const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(7);
const lost = async (): Promise<Response> => Promise.reject(new TypeError("Network connection lost."));
/** Never answers. Obeys its signal. */
const silent = (signal: AbortSignal): Promise<Response> =>
	new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

afterEach(() => void vi.useRealTimers());

describe("a store that refuses", () => {
	it.each([
		[403, "AccessDenied"],
		[403, "SignatureDoesNotMatch"],
		[301, "PermanentRedirect"],
		[404, "NoSuchBucket"],
	])("with %d %s is asked once, and the log has its code, without a secret", async (status, code) => {
		const { blobs, calls, collect } = await scripted({ PUT: [() => refusal(status, code)] });
		const error = await failure(blobs.put("files/1", bytes(10)));
		expect(error).toMatchObject({ key: "storageUnavailable", status: 502 });
		expect(error.place).toEqual({
			...{ store: "s3.eu-central-1.amazonaws.com", bucket: "acme-ganglion", setting: "STORAGE.s3" },
			...{ status, storeCode: code },
		});
		expect(`${error.description} ${String(error.cause)}`).not.toContain("AKIAEXAMPLE");
		expect(putsOf(calls)).toEqual(["PUT"]);
		await collect();
		expect(await blobs.list()).toEqual({ blobs: [] });
		expect(await blobs.usage()).toEqual([]);
	});

	it.each([
		["503 SlowDown", () => refusal(503, "SlowDown")],
		["500 InternalError", () => refusal(500, "InternalError")],
		["429", () => new Response(null, { status: 429 })],
		["a lost connection", lost],
	])("for a time (%s) is asked three times", async (_, answer) => {
		const { blobs, calls, waits } = await scripted({ PUT: again(2, answer), GET: again(2, answer) });
		await blobs.put("files/1", bytes(10));
		const stored = await blobs.get("files/1");
		expect((await new Response(stored?.body).bytes()).length).toBe(10);
		expect(calls).toEqual(["PUT", "PUT", "PUT", "GET", "GET", "GET"]);
		expect(waits).toEqual([200, 400, 200, 400]);
	});

	it("all three calls fails, and the object that was there remains", async () => {
		const { blobs } = await scripted({});
		await blobs.put("files/1", bytes(3));
		const broken = await scripted({ PUT: again(3, () => refusal(503, "SlowDown")) });
		expect((await failure(broken.blobs.put("files/1", bytes(4)))).key).toBe("storageUnavailable");
		expect((await blobs.get("files/1"))?.bytes).toBe(3);
	});
});

describe("a store that is silent", () => {
	it("before its answer is given up after a minute, and asked again", async () => {
		const { blobs, calls } = await scripted({ PUT: [silent, silent, silent] });
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		const put = failure(blobs.put("files/1", bytes(10)));
		for (let tries = 0; tries < 3; tries++)
			await vi.waitFor(() => advanceWhenCalled(calls, tries + 1), PATIENCE);
		expect((await put).key).toBe("storageUnavailable");
		expect(putsOf(calls)).toEqual(["PUT", "PUT", "PUT"]);
	});

	it("in the middle of an object ends the read with a failure", async () => {
		const { blobs } = await scripted({
			GET: [
				() =>
					new Response(new ReadableStream({ start: (controller) => controller.enqueue(bytes(4)) }), {
						status: 206,
					}),
			],
		});
		await blobs.put("files/1", bytes(10));
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		const stored = await blobs.get("files/1");
		const read = new Response(stored?.body).bytes().then(
			() => "whole",
			(error: Error) => error.name,
		);
		await vi.waitFor(async () => {
			await vi.advanceTimersByTimeAsync(60_000);
			expect(vi.getTimerCount()).toBe(0);
		}, PATIENCE);
		expect(await read).toBe("S3Failure");
	});
});

describe("a store whose answer has no end", () => {
	/** Counts its pieces of a megabyte. */
	const endless = (status: number, counted: { pieces: number; isCancelled?: true }) => () =>
		new Response(
			new ReadableStream({
				pull(controller) {
					counted.pieces++;
					controller.enqueue(bytes(MIB));
				},
				cancel() {
					counted.isCancelled = true;
				},
			}),
			{ status },
		);

	it("is read up to the bound of a small answer", async () => {
		const counted = { pieces: 0 };
		const { blobs } = await scripted({ "POST uploads": [endless(200, counted)] });
		const body = new Blob([bytes(17 * MIB)]).stream();
		expect((await failure(blobs.put("files/1", body))).key).toBe("storageUnavailable");
		expect(counted).toEqual({ pieces: expect.any(Number), isCancelled: true });
		expect(counted.pieces).toBeLessThanOrEqual(4 + 2);
	});

	it("is read once, and not asked again", async () => {
		const counted = { pieces: 0 };
		const { blobs, calls } = await scripted({ "POST upload": again(3, endless(200, counted)) });
		const error = await failure(blobs.put("files/1", new Blob([bytes(17 * MIB)]).stream()));
		expect([error.key, String(error.cause)]).toEqual([
			"storageUnavailable",
			expect.stringContaining("POST at s3.eu-central-1.amazonaws.com"),
		]);
		expect(calls.filter((call) => call === "POST upload")).toHaveLength(1);
		expect(counted.pieces).toBeLessThanOrEqual(4 + 2);
	});

	it("is read up to the bound of a refusal", async () => {
		const counted = { pieces: 0 };
		const { blobs } = await scripted({ PUT: [endless(403, counted)] });
		const error = await failure(blobs.put("files/1", bytes(10)));
		expect(error.place).toMatchObject({ status: 403 });
		expect(counted).toEqual({ pieces: expect.any(Number), isCancelled: true });
		expect(counted.pieces).toBeLessThanOrEqual(2);
	});
});

/** The store may already have been asked to delete what a put that failed has left. */
const putsOf = (calls: readonly string[]): string[] => calls.filter((call) => call === "PUT");

async function advanceWhenCalled(calls: readonly string[], number: number): Promise<void> {
	expect(calls.length).toBeGreaterThanOrEqual(number);
	await vi.advanceTimersByTimeAsync(60_000);
}

describe("an object that a store sends", () => {
	it.each([
		["too short", 206, 9],
		["not at all", 206, 0],
	])("%s fails for its reader", async (_, status, length) => {
		const { blobs } = await scripted({ GET: [() => new Response(bytes(length), { status })] });
		await blobs.put("files/1", bytes(10));
		const stored = await blobs.get("files/1");
		await expect(new Response(stored?.body).bytes()).rejects.toThrow();
	});

	it("whole although a part was requested has the part only", async () => {
		const content = new Uint8Array(10).map((_, at) => at);
		const whole = () => new Response(content);
		const { blobs } = await scripted({ GET: again(4, whole) });
		await blobs.put("files/1", content);
		const part = async (range: Parameters<typeof blobs.get>[1]) => [
			...(await new Response((await blobs.get("files/1", range))?.body).bytes()),
		];
		expect(await part({ offset: 0, length: 1 })).toEqual([0]);
		expect(await part({ offset: 3, length: 2 })).toEqual([3, 4]);
		expect(await part({ suffix: 1 })).toEqual([9]);
		expect(await part({ offset: 0 })).toEqual([...content]);
	});

	it("that does not exist any more is unavailable, not empty", async () => {
		const { blobs, objects } = await scripted({});
		await blobs.put("files/1", bytes(10));
		objects.clear();
		expect((await failure(blobs.get("files/1"))).description).toContain("not in s3");
	});
});

describe("a multipart upload", () => {
	it.each([
		["a part is refused", { "PUT part": [() => refusal(403, "AccessDenied")] }],
		["a part fails three times", { "PUT part": again(3, lost) }],
		["its completion is refused", { "POST upload": [() => refusal(400, "InvalidPart")] }],
		["its completion fails after the status 200", { "POST upload": [() => refusal(200, "InternalError")] }],
		["its start has no id", { "POST uploads": [() => xml("<Nothing/>")] }],
		["its start is lost, which is not repeated", { "POST uploads": [lost] }],
	])("leaves nothing if %s", async (_, script) => {
		const { blobs, collect, objects, uploads } = await scripted(script);
		expect((await failure(blobs.put("files/1", bytes(9 * MIB)))).key).toBe("storageUnavailable");
		await collect();
		expect([...uploads.keys(), ...objects.keys()]).toEqual([]);
		expect(await blobs.list()).toEqual({ blobs: [] });
		expect(await blobs.usage()).toEqual([]);
	});

	it("that cannot be aborted at once is aborted by the collection", async () => {
		const { blobs, calls, collect, uploads } = await scripted({
			"PUT part": [() => refusal(403, "AccessDenied")],
			"DELETE upload": again(3, () => refusal(503, "SlowDown")),
		});
		await failure(blobs.put("files/1", bytes(9 * MIB)));
		expect(uploads.size).toBe(1);
		await collect();
		expect(calls).toContain("GET uploads");
		expect(uploads.size).toBe(0);
	});

	it("is started again after a refusal", async () => {
		const { blobs, uploads } = await scripted({ "POST uploads": [() => refusal(503, "SlowDown")] });
		await blobs.put("files/1", bytes(9 * MIB));
		expect(uploads.size).toBe(0);
		expect((await blobs.list()).blobs).toMatchObject([{ key: "files/1", bytes: 9 * MIB }]);
	});

	it("whose source fails is aborted, and its bytes count no longer", async () => {
		const { blobs, calls, uploads } = await scripted({});
		let sent = 0;
		const source = new ReadableStream<Uint8Array>({
			pull(controller) {
				if (sent++ > 19) throw new Error("the caller left");
				controller.enqueue(bytes(MIB));
			},
		});
		await expect(blobs.put("files/1", source)).rejects.toThrow("the caller left");
		expect(uploads.size).toBe(0);
		expect(calls.at(-1)).toBe("DELETE upload");
	});
});

describe("the deletion of contents", () => {
	it("goes on when the store answers again", async () => {
		const { blobs, calls, collect, objects } = await scripted({
			DELETE: again(3, () => refusal(503, "SlowDown")),
		});
		await blobs.put("files/1", bytes(10));
		await blobs.delete("files/1");
		await collect();
		expect(objects.size).toBe(1);
		vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
		await collect();
		expect(objects.size).toBe(0);
		expect(calls.filter((call) => call === "DELETE")).toHaveLength(4);
	});

	it("waits a minute after a failure, also with the contents that it has not tried", async () => {
		const { alarm, blobs, calls, nextAlarm, objects } = await scripted({
			DELETE: again(48, () => refusal(503, "SlowDown")),
		});
		const keys = Array.from({ length: 101 }, (_, index) => `files/${index}`);
		for (const key of keys) await blobs.put(key, bytes(1));
		await blobs.delete(keys);
		const now = Date.now();
		await alarm();
		// Six of all at once, and then ten by themselves, each three times.
		expect(calls.filter((call) => call === "DELETE")).toHaveLength(48);
		expect(await nextAlarm()).toBeGreaterThanOrEqual(now + 60_000);
		vi.useFakeTimers({ toFake: ["Date"], now: now + 120_000 });
		await alarm();
		expect(objects.size).toBe(0);
		expect(await nextAlarm()).toBeNull();
	});

	it("leaves only those that the store keeps, and what their puts have left", async () => {
		const { alarm, blobs, kept, nextAlarm, objects, uploads } = await scripted({
			"PUT part": again(2, () => refusal(403, "AccessDenied")),
			"DELETE upload": again(6, () => refusal(503, "SlowDown")),
		});
		for (const key of ["files/left", "files/other"]) await failure(blobs.put(key, bytes(9 * MIB)));
		const keys = Array.from({ length: 60 }, (_, index) => `files/${index}`);
		for (const key of keys) await blobs.put(key, bytes(1));
		const [[upload = "", { name: uploaded = "" } = {}] = []] = uploads;
		const stored = [...objects.keys()][3] ?? "";
		for (const name of [uploaded, stored]) kept.add(name);
		await blobs.delete(keys);
		const now = Date.now();
		await alarm();
		expect([...objects.keys(), ...uploads.keys()]).toEqual([stored, upload]);
		expect(await nextAlarm()).toBeGreaterThanOrEqual(now + 60_000);
		kept.clear();
		vi.useFakeTimers({ toFake: ["Date"], now: now + 120_000 });
		await alarm();
		expect([...objects.keys(), ...uploads.keys()]).toEqual([]);
		expect(await nextAlarm()).toBeNull();
	});

	it("tries ten that the store keeps, and after a minute those that it has not tried", async () => {
		const { alarm, blobs, calls, kept, objects } = await scripted({});
		const keys = Array.from({ length: 100 }, (_, index) => `files/${index}`);
		for (const key of keys) await blobs.put(key, bytes(1));
		for (const name of [...objects.keys()].slice(0, 25)) kept.add(name);
		await blobs.delete(keys);
		const now = Date.now();
		for (let minute = 0; minute < 3; minute++) {
			calls.length = 0;
			vi.useFakeTimers({ toFake: ["Date"], now: now + 61_000 * minute });
			await alarm();
			if (minute < 2) expect(calls).toHaveLength(6 + 10);
		}
		expect([...objects.keys()].sort()).toEqual([...kept].sort());
	});
});
