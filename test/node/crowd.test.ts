/** 500 at once against room for 100, through the whole Worker over HTTP under plain workerd: exactly 100 pass. */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LOST_AFTER_MS } from "../../src/core/flush-schedule.ts";
import { type Answered, ask } from "../../tools/bench/load.ts";
import { Gateway } from "../../tools/soak/gateway.ts";

const CROWD = 500;
const ROOM = 100;
const MODEL = "crowd/chat";
const CHAT = { model: MODEL, messages: [{ role: "user", content: "Hi" }], max_tokens: 10 };
/** Of `CHAT`: a neuron for each token of output, and its prompt for nothing. */
const RESERVED = 10;

/** Keeps everybody waiting, so that what is reserved stays so until the last of the crowd has been let in or not. */
const waiting: ServerResponse[] = [];
/** The last of the crowd has been refused. Calls of those that were let in may still be on their way to the engine. */
let isReleased = false;
const engine = createServer((request, response) => {
	request.resume();
	if (isReleased) reply(response);
	else waiting.push(response);
});
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const answer = JSON.stringify({
	choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
	usage,
});
const reply = (response: ServerResponse) =>
	response.writeHead(200, { "content-type": "application/json" }).end(answer);

beforeAll(async () => {
	await new Promise<void>((done) => engine.listen(0, "127.0.0.1", 1024, done));
});
afterAll(() => {
	engine.closeAllConnections();
	engine.close();
});

const settingsOf = (ledger: string) => {
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`;
	return {
		LEDGER: ledger,
		BACKENDS: { engine: { kind: "openai", url } },
		ROUTES: { [MODEL]: [{ backend: "engine" }] },
		MODELS: {
			[MODEL]: { task: "Text Generation", prices: [{ unit: "per M output tokens", neurons: 1_000_000 }] },
		},
		LIMITS: {
			requests_per_minute: "none",
			accounts: {
				rated: { requests_per_minute: { "Text Generation": ROOM } },
				// Room for a hundred, and for most of another.
				budgeted: { daily_neurons: ROOM * RESERVED + RESERVED - 1 },
				"by-model": { models: { [MODEL]: { daily_neurons: ROOM * RESERVED } } },
			},
		},
	};
};

/** On a machine that is too busy the gateway gives an admission up, after this time alone. */
const GIVEN_UP = "7009";

/** How many got each result: `ok`, or the code of the refusal. */
async function crowd(gateway: Gateway, account: string): Promise<Map<string, number>> {
	const url = `${gateway.url}/client/v4/accounts/${account}/ai/v1/chat/completions`;
	const agent = new Agent({ keepAlive: true });
	let refused = 0;
	const release = () => {
		isReleased = true;
		for (const response of waiting.splice(0)) reply(response);
	};
	const startedAt = performance.now();
	const resultOf = async (answered: Promise<Answered>): Promise<string> => {
		const result = await answered.then(
			() => "ok",
			(error: Error) => /"code":(\d+)/.exec(error.message)?.[1] ?? error.message,
		);
		if (result === GIVEN_UP) expect(performance.now() - startedAt).toBeGreaterThanOrEqual(LOST_AFTER_MS);
		if (result !== "ok" && ++refused === CROWD - ROOM) release();
		return result;
	};
	const headers = { authorization: Gateway.operator };
	const results = await Promise.all(
		Array.from({ length: CROWD }, () => resultOf(ask({ url, headers, body: JSON.stringify(CHAT) }, agent))),
	);
	agent.destroy();
	const counts = new Map<string, number>();
	for (const result of results) counts.set(result, (counts.get(result) ?? 0) + 1);
	return counts;
}

const ACCOUNTS = [
	["rated", "of requests a minute", "3021"],
	["budgeted", "of neurons of the account", "3036"],
	["by-model", "of neurons of the model", "3036"],
] as const;

describe.each(["exact", "leased"])(
	`${CROWD} simultaneous requests, a limit of ${ROOM}, LEDGER %s`,
	(ledger) => {
		let folder: string;
		let gateway: Gateway | undefined;
		// Each attempt has accounts that have used nothing.
		beforeEach(async () => {
			waiting.length = 0;
			isReleased = false;
			folder = mkdtempSync(join(tmpdir(), "ganglion-crowd-"));
			gateway = await Gateway.start(folder, settingsOf(ledger));
		});
		afterEach(async () => {
			await gateway?.stop();
			gateway = undefined;
			rmSync(folder, { recursive: true, force: true });
		});

		it.each(ACCOUNTS)("%s: the limit %s accepts exactly as many", async (account, _, refusal) => {
			const started = gateway as Gateway;
			const {
				[GIVEN_UP]: givenUp = 0,
				ok = 0,
				...refused
			} = Object.fromEntries(await crowd(started, account));
			expect(refused).toEqual({ [refusal]: CROWD - ok - givenUp });
			expect(ok).toBe(ROOM);
			await expect.poll(async () => (await started.limitStatus(account)).openRequests).toBe(0);
			expect(await started.totals(account)).toMatchObject({ requests: ok, neurons: ok });
		});
	},
);
