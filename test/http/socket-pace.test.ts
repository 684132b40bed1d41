import { afterEach, describe, expect, it, vi } from "vitest";
import { Allowance } from "../../src/core/allowance.ts";
import { pacedSender } from "../../src/http/socket-pace.ts";

const MEBIBYTE = 1024 * 1024;

describe("the pace of all websockets", () => {
	afterEach(() => void vi.useRealTimers());

	it("is 32 MiB at once, and 16 MiB a second after that", async () => {
		// Later than the frames of other tests, which share the process.
		const start = Date.now() + 3_600_000;
		vi.useFakeTimers({ toFake: ["Date"], now: start });
		const sent: number[] = [];
		const send = (index: number): Promise<void> | undefined => {
			const closed = new AbortController();
			const socket = { send: () => void sent.push(index) };
			const waiting = pacedSender(socket, closed.signal)("a".repeat(4 * MEBIBYTE));
			if (waiting) closed.abort();
			return waiting;
		};
		// The ninth begins when nothing is owed yet.
		const first = Array.from({ length: 9 }, (_, index) => send(index));
		expect(first).toEqual(Array(9).fill(undefined));
		expect(send(9)).toBeInstanceOf(Promise);
		vi.setSystemTime(start + 249);
		expect(send(10)).toBeInstanceOf(Promise);
		vi.setSystemTime(start + 251);
		expect(send(11)).toBeUndefined();
		expect(sent).toEqual([...Array(9).keys(), 11]);
	});
});

describe("frames of answers that run in parallel", () => {
	/** A sender whose clock advances by its waits. */
	function senderOf(closed = new AbortController().signal) {
		const sent: { name: string; at: number }[] = [];
		let at = 0;
		const clock = {
			shared: new Allowance({ burst: Number.MAX_SAFE_INTEGER, perSecond: MEBIBYTE }),
			now: () => at,
			wait: async (milliseconds: number) => {
				at += milliseconds;
			},
		};
		const socket = {
			send: (frame: string | ArrayBuffer | ArrayBufferView) =>
				sent.push({ name: String(frame).slice(0, 1), at }),
		};
		return { sent, send: pacedSender(socket, closed, clock) };
	}
	const frame = (name: string, bytes: number): string => name.repeat(bytes);

	it("wait in their order until the frames before them are paid for", async () => {
		const { sent, send } = senderOf();
		const all = ["a", "b", "c"].map((name) => send(frame(name, 5 * MEBIBYTE)));
		expect(sent).toEqual([{ name: "a", at: 0 }]);
		expect(all[0]).toBeUndefined();
		await Promise.all(all);
		expect(sent).toEqual([
			{ name: "a", at: 0 },
			{ name: "b", at: 1_000 },
			{ name: "c", at: 6_000 },
		]);
	});

	it("are not sent after the socket is closed", async () => {
		const closed = new AbortController();
		const { sent, send } = senderOf(closed.signal);
		send(frame("a", 5 * MEBIBYTE));
		const waiting = send(frame("b", 1));
		closed.abort();
		await waiting;
		expect(send(frame("c", 1))).toBeUndefined();
		expect(sent.map(({ name }) => name)).toEqual(["a"]);
	});
});
