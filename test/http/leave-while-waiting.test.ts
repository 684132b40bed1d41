/** A caller who leaves while its request waits for a place among the requests under way. */
import { expect, it } from "vitest";
import { RunningRequests } from "../../src/core/running-requests.ts";
import { newAccount } from "../accounts/fixtures.ts";
import { ENGINE_VARS, upstream } from "../gateway.ts";
import { closedGateway, json } from "./access.ts";

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const CHAT = { model: MODEL, messages: [{ role: "user", content: "Hi" }] };

it.each([
	["a model", {}],
	["a gateway", { "cf-aig-gateway-id": "default" }],
])("releases a request to %s at once", async (_, headers) => {
	const engine = upstream(() => new Promise<Response>(() => {}));
	const { services, send, createToken } = closedGateway(
		{ vars: ENGINE_VARS, fetch: engine.fetch },
		newAccount(),
	);
	const runningRequests = new RunningRequests(1, () => Date.now());
	/** Without an end of the wait, the answer comes because the caller has left. */
	const endless = () => new Promise<void>(() => {});
	let waiting: Promise<void> | undefined;
	Object.assign(services, {
		waitUntil: (work: Promise<unknown>, account?: string) => {
			if (account === undefined) return undefined;
			waiting = runningRequests.begin(account, work, endless);
			return waiting;
		},
	});
	const token = await createToken(["Workers AI Run"]);
	const begin = (): { answer: Promise<unknown>; leave(): void } => {
		const caller = new AbortController();
		const init = json("POST", CHAT);
		const answer = send("/ai/v1/chat/completions", token, {
			...init,
			headers: { ...init.headers, ...headers },
			signal: caller.signal,
		});
		return { answer: answer.catch(() => {}), leave: () => caller.abort() };
	};
	const first = begin();
	await expect.poll(() => engine.requests.length).toBe(1);
	const second = begin();
	await expect.poll(() => waiting !== undefined).toBe(true);
	second.leave();
	await second.answer;
	expect(runningRequests.report()).toMatchObject({ used: 1, refused: 0 });
	first.leave();
	await expect.poll(() => runningRequests.size).toBe(0);
	expect(engine.requests).toHaveLength(1);
});
