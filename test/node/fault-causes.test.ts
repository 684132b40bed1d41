/**
 * Faults with a cause that is not the engine's, over real sockets: complete answers that take long, replies that are
 * large, and counts of tokens that cannot be. What a caller chose, or what a caller provoked, never opens a circuit.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FaultGateway, startGateway } from "../faults/gateway.ts";
import { answer, hang, late, Provider, replyOfMiB, type Script, status, WORDS } from "../faults/provider.ts";

const WHOLE = WORDS.join("");
const ONE = [{ backend: "a" }];
const BOTH = [{ backend: "a" }, { backend: "b" }];
/** More than the five failures that open a circuit. */
const REQUESTS = 6;

let gateway: FaultGateway;
const a = new Provider("a");
const b = new Provider("b");

beforeAll(async () => {
	await Promise.all([a.listen(), b.listen()]);
	gateway = await startGateway();
});
afterEach(() => {
	expect([a.running, b.running]).toEqual([0, 0]);
});
afterAll(async () => {
	await gateway?.stop();
	a.stop();
	b.stop();
});

const use = (settings: object): Promise<void> =>
	gateway.configure({ targets: BOTH, retries: { base_ms: 1, max_ms: 10 }, ...settings }, [a, b]);

/** More complete answers than failures open a circuit: `a` fails each, `b` answers. Then `a` is back, and is asked. */
async function staysInUse(fault: Script): Promise<void> {
	a.does(fault);
	b.does(answer());
	for (let request = 0; request < REQUESTS; request++)
		expect(await gateway.ask({ stream: false })).toMatchObject({ status: 200, text: WHOLE });
	expect([a.calls.length, b.calls.length]).toEqual([REQUESTS, REQUESTS]);
	a.does(answer());
	expect((await gateway.ask({ stream: false })).headers.get("x-ganglion-backend")).toBe("a");
}

describe("what the caller chose or provoked", () => {
	beforeAll(() => use({ timeouts: { header_ms: 100, total_ms: 10_000 } }), 60_000);

	it("a complete answer that takes longer than header_ms is waited for: its header comes when it is made", async () => {
		a.does(late(400, answer()));
		b.does(answer());
		const reply = await gateway.ask({ stream: false });
		expect(reply).toMatchObject({ status: 200, text: WHOLE });
		expect(reply.ms).toBeGreaterThanOrEqual(400);
		expect([a.calls.length, b.calls.length]).toEqual([1, 0]);
		expect(await gateway.billed()).toMatchObject({ backend: "a", attempts: 1, output_tokens: 60 });
	});

	it("a complete answer for which a proxy's time is up (504) is no failure of the engine", () =>
		staysInUse(status(504)));

	it("one request above a service's tokens per minute is not retried there, and is no failure of the service", () =>
		staysInUse(
			status(429, {
				message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41200.",
				type: "tokens",
				code: "rate_limit_exceeded",
			}),
		));

	it("a reply above 24 MiB is asked for once of each engine, and is no failure of an engine", async () => {
		await staysInUse(replyOfMiB(30));
		a.does(replyOfMiB(30));
		b.does(replyOfMiB(30));
		const reply = await gateway.ask({ stream: false });
		expect(reply).toMatchObject({ status: 413, errors: [{ code: 3006 }] });
		expect(String(reply.errors[0]?.message)).toContain(
			"The backend 'b' answered with a reply above 25165824 bytes: request less at a time",
		);
		expect([a.calls.length, b.calls.length]).toEqual([1, 1]);
		expect(await gateway.billed()).toMatchObject({ outcome: "failed", output_tokens: 0 });
	});
});

describe("a complete answer that takes longer than total_ms", () => {
	it("moves on, and the engine stays in use", async () => {
		await use({ targets: [{ backend: "a", timeouts: { total_ms: 600 } }, { backend: "b" }] });
		await staysInUse(hang);
	});

	it("ends with 3046 where no engine is left", async () => {
		await use({ targets: ONE, timeouts: { total_ms: 300 } });
		a.does(hang);
		expect(await gateway.ask({ stream: false })).toMatchObject({ status: 408, errors: [{ code: 3046 }] });
		expect(await gateway.billed()).toMatchObject({ outcome: "failed", output_tokens: 0 });
		await a.calls[0]?.closed;
	});
});

describe("usage that cannot be", () => {
	beforeAll(() => use({ targets: ONE }), 60_000);

	const count = (prompt_tokens: unknown, completion_tokens: unknown, total_tokens?: unknown) => ({
		prompt_tokens,
		completion_tokens,
		...(total_tokens !== undefined && { total_tokens }),
	});
	/** By our own count: the prompt "Count" with the marks of a chat, three pieces of a stream, and the same text in one piece. */
	const OWN = { prompt: 8, streamed: 3, whole: 7 };
	const CASES: [string, usage: object, prompt: number, completion?: number][] = [
		["1e8 tokens for a limit of 50", count(5, 1e8, 1e8 + 5), 5],
		["1e12 tokens", count(5, 1e12, 1e12 + 5), 5],
		["more than a number holds", count(5, 1e308, 1e308), 5],
		["fractions", count(5.4, 2.6, 8), 5, 3],
		["text", count("5", "3", "8"), 5, 3],
		["a total instead of the output", count(5, undefined, 8), 5, 3],
		["a negative output beside a total", count(5, -7, 8), 5, 3],
	];
	it.each(CASES)("%s: the caller and the ledger have the same counts", async (_, usage, prompt, claimed) => {
		a.does(answer(WORDS.slice(0, 3), usage));
		for (const stream of [true, false]) {
			const completion = claimed ?? (stream ? OWN.streamed : OWN.whole);
			const reply = await gateway.ask({ stream, maxTokens: 50 });
			expect(reply).toMatchObject({ status: 200, text: "w0 w1 w2 ", done: true });
			expect(reply.usage).toMatchObject({ prompt_tokens: prompt, completion_tokens: completion });
			expect(await gateway.billed()).toMatchObject({
				outcome: "ok",
				input_tokens: prompt,
				output_tokens: completion,
			});
		}
	});

	it("1e9 tokens of a prompt of 5 characters: our own count of the prompt alone", async () => {
		a.does(answer(WORDS.slice(0, 3), count(1e9, 3, 1e9 + 3)));
		for (const stream of [true, false]) {
			const { usage } = await gateway.ask({ stream, maxTokens: 50 });
			const { input_tokens, output_tokens } = await gateway.billed();
			expect(usage).toMatchObject({ prompt_tokens: input_tokens, completion_tokens: output_tokens });
			expect(output_tokens).toBe(3);
			expect(input_tokens).toBe(OWN.prompt);
		}
	});

	it("nothing, or no number at all: our own count, for both", async () => {
		for (const usage of [{}, count(null, null, null), count("many", {}, [])]) {
			a.does(answer(WORDS.slice(0, 3), usage));
			for (const stream of [true, false]) {
				const reply = await gateway.ask({ stream, maxTokens: 50 });
				expect(reply).toMatchObject({ status: 200, text: "w0 w1 w2 ", done: true });
				const { input_tokens, output_tokens, outcome } = await gateway.billed();
				expect(outcome).toBe("ok");
				expect(reply.usage).toMatchObject({
					prompt_tokens: input_tokens,
					completion_tokens: output_tokens,
				});
				expect(input_tokens).toBeGreaterThan(0);
				expect(output_tokens).toBeGreaterThan(0);
				expect(output_tokens).toBeLessThanOrEqual(50);
			}
		}
	});
});
