import { describe, expect, it } from "vitest";
import { BufferHold, bufferedBytes } from "../../../src/core/process-counts.ts";
import { detached } from "../../../src/gateways/resume/detached-stream.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function setUp({
	maxBytes = 1_000,
	append = async () => {},
	wait = async () => {},
}: {
	maxBytes?: number;
	append?: () => Promise<void>;
	wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
} = {}) {
	let control!: ReadableStreamDefaultController<Uint8Array>;
	const cancelled = Promise.withResolvers<unknown>();
	const source = new ReadableStream<Uint8Array>({
		start: (controller) => {
			control = controller;
		},
		cancel: (reason) => cancelled.resolve(reason),
	});
	const log: string[] = [];
	const run = {
		append: async (content: Uint8Array, events: number) => {
			await append();
			log.push(`${events} ${new TextDecoder().decode(content)}`);
		},
		finish: async (state: string) => void log.push(state),
		discard: async () => void log.push("discarded"),
	};
	const caller = new AbortController();
	return {
		control,
		cancelled: cancelled.promise,
		log,
		caller,
		...detached(source, { run, maxBytes, hold: new BufferHold("team"), caller: caller.signal, wait }),
	};
}

describe("a detached stream", () => {
	it("counts what its caller has not read, and loses its run if that is too much", async () => {
		const used = (): number => bufferedBytes.report().used;
		const before = used();
		const { control, body, done, log } = setUp();
		const event = new TextEncoder().encode(`data: ${"x".repeat(992)}\n\n`);
		control.enqueue(event);
		await expect.poll(used).toBe(before + 1_000);
		bufferedBytes.limitTo(before + 1_500);
		try {
			control.enqueue(event);
			await expect.poll(() => log.at(-1)).toBe("discarded");
		} finally {
			bufferedBytes.limitTo(64 * 1024 * 1024);
		}
		control.close();
		expect((await new Response(body).arrayBuffer()).byteLength).toBe(2_000);
		await done;
		expect(log.filter((line) => line === "discarded")).toHaveLength(1);
		expect(used()).toBe(before);
	});

	it("copies complete events, and sends all bytes to the caller", async () => {
		const { control, body, done, log } = setUp();
		const text = new Response(body).text();
		for (const piece of ["data: 1\n", "\ndata: 2\n\nda", "ta: 3\n\n", "data: cut"])
			control.enqueue(bytes(piece));
		control.close();
		expect(await text).toBe("data: 1\n\ndata: 2\n\ndata: 3\n\ndata: cut");
		await done;
		const events = log.slice(0, -2).map((line) => line.split(" ", 1)[0]);
		expect(events.reduce((sum, count) => sum + Number(count), 0)).toBe(3);
		expect(log.slice(-2)).toEqual(["0 data: cut", "ended"]);
		expect(
			log
				.slice(0, -1)
				.map((line) => line.slice(2))
				.join(""),
		).toBe("data: 1\n\ndata: 2\n\ndata: 3\n\ndata: cut");
	});

	it.each([
		["cancels its body", async (body: ReadableStream, _: AbortController) => body.cancel()],
		["disconnects", async (_: ReadableStream, caller: AbortController) => caller.abort()],
	])("goes on when the caller %s", async (_, leave) => {
		const { control, body, caller, done, log } = setUp();
		control.enqueue(bytes("data: 1\n\n"));
		await leave(body, caller);
		control.enqueue(bytes("data: 2\n\n"));
		control.close();
		await done;
		expect(log.join("|")).toContain("data: 2");
		expect(log.at(-1)).toBe("ended");
	});

	it.each([
		["ends", (control: ReadableStreamDefaultController<Uint8Array>) => control.close()],
		["fails", (control: ReadableStreamDefaultController<Uint8Array>) => control.error(new Error("lost"))],
	])("has ended when its source %s, also while the run waits for its events", async (_, end) => {
		const { promise: stored, resolve: store } = Promise.withResolvers<void>();
		const { body, control, done, ended, log } = setUp({ append: () => stored });
		control.enqueue(bytes("data: 1\n\n"));
		await body.cancel();
		end(control);
		await ended;
		expect(log).toEqual([]);
		store();
		await done;
		expect(log[0]).toBe("1 data: 1\n\n");
	});

	it("writes the first event at once, then those of each wait together, and the last ones at its end", async () => {
		const waits: { milliseconds: number; end(): void }[] = [];
		const { control, body, done, log } = setUp({
			wait: async (milliseconds, signal) => {
				signal.throwIfAborted();
				const { promise, resolve: end, reject } = Promise.withResolvers<void>();
				signal.addEventListener("abort", () => reject(new Error("the stream has ended")));
				waits.push({ milliseconds, end });
				await promise;
			},
		});
		await body.cancel();
		const send = (nth: number) => control.enqueue(bytes(`data: ${nth}\n\n`));
		send(1);
		await expect.poll(() => waits).toHaveLength(1);
		for (const nth of [2, 3, 4]) send(nth);
		await new Promise((resolve) => setTimeout(resolve, 10));
		expect(log).toEqual(["1 data: 1\n\n"]);
		waits[0]?.end();
		await expect.poll(() => waits).toHaveLength(2);
		expect(log.slice(1)).toEqual(["3 data: 2\n\ndata: 3\n\ndata: 4\n\n"]);
		send(5);
		control.close();
		await done;
		expect(log.slice(2)).toEqual(["1 data: 5\n\n", "ended"]);
		expect(waits.map(({ milliseconds }) => milliseconds)).toEqual([50, 50]);
	});

	it("is read although the caller does not read", async () => {
		const { control, done, log } = setUp();
		for (let nth = 0; nth < 10; nth++) control.enqueue(bytes(`data: ${nth}\n\n`));
		control.close();
		await done;
		expect(log.at(-1)).toBe("ended");
	});

	it.each([["before"], ["during"]])(
		"has a read that fails if the caller's signal fires %s it, and goes on",
		async (when) => {
			const { body, caller, control, done, log } = setUp();
			if (when === "before") caller.abort();
			const text = new Response(body).text();
			text.catch(() => {});
			control.enqueue(bytes("data: 1\n\n"));
			await scheduler.wait(1);
			caller.abort();
			await expect(text).rejects.toMatchObject({ key: "aborted" });
			control.close();
			await done;
			expect(log.at(-1)).toBe("ended");
		},
	);

	it("sends a failure to the caller and to the run", async () => {
		const { control, body, done, log } = setUp();
		const text = new Response(body).text();
		control.error(new Error("broken"));
		await expect(text).rejects.toThrow("broken");
		await done;
		expect(log).toEqual(["failed"]);
	});

	it("discards a run above the limit, and then follows the caller", async () => {
		const { control, body, cancelled, done, log } = setUp({ maxBytes: 20 });
		const reader = body.getReader();
		control.enqueue(bytes("data: 1\n\n"));
		control.enqueue(bytes("data: 2222222\n\n"));
		control.enqueue(bytes("data: 3\n\n"));
		const read = async () => new TextDecoder().decode((await reader.read()).value);
		expect([await read(), await read(), await read()]).toEqual([
			"data: 1\n\n",
			"data: 2222222\n\n",
			"data: 3\n\n",
		]);
		await reader.cancel();
		expect(await cancelled).toMatchObject({ name: "AbortError" });
		await done;
		expect(log).toContain("discarded");
		expect(log).not.toContain("ended");
	});

	it("discards a run that cannot be written, and serves the caller", async () => {
		const { control, body, done, log } = setUp({
			append: async () => {
				throw new Error("object broken");
			},
		});
		const text = new Response(body).text();
		for (let nth = 0; nth < 3; nth++) control.enqueue(bytes(`data: ${nth}\n\n`));
		control.close();
		expect(await text).toBe("data: 0\n\ndata: 1\n\ndata: 2\n\n");
		await done;
		expect(log).toEqual(["discarded"]);
	});
});
