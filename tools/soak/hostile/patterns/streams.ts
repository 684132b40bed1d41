/** Patterns of tokens that run models: answers that are left, unread or endless, on model routes and passed to a provider. */
import { type Attacker, GATEWAYS, MANY_GATEWAYS, type Pattern } from "../attacker.ts";
import { api, type Behaviour, chat, gateway, HOLD_MS } from "./requests.ts";

const LEAVE_MS = 300;
const SHORT_HOLD_MS = 5_000;

const byToken = (name: string, attempt: Pattern["attempt"]): Pattern => ({ name, by: "token", attempt });
const chats = (a: Attacker): string => `${api(a)}/v1/chat/completions`;
/** A provider of the account, which is the hostile engine. */
export const provider = (a: Attacker, name = "plain"): string =>
	`${gateway(a, name)}/custom-evil/chat/completions`;
/** Two tokens: the gateway's, and the provider's. */
export const passed = (a: Attacker): Record<string, string> => ({
	"cf-aig-authorization": `Bearer ${a.token}`,
	authorization: "Bearer sk-of-the-attacker",
});

/** Both ways to the hostile engine. */
const onBoth = (
	name: string,
	model: Behaviour,
	{ stream, ...leaving }: { stream: boolean; leaveMs: number; unread?: true },
): Pattern[] => [
	byToken(`${name}, model route`, async (a) => {
		await a.ask(chats(a), { body: chat("Hi", { model, stream }), ...leaving });
	}),
	byToken(`${name}, passed to a provider`, async (a) => {
		await a.ask(provider(a), { body: chat("Hi", { model, stream }), headers: passed(a), ...leaving });
	}),
];

const resumable = { "cf-aig-resumable": "true" };

export const STREAM_PATTERNS: readonly Pattern[] = [
	...onBoth("leaves before the header", "silent", { stream: false, leaveMs: LEAVE_MS }),
	...onBoth("leaves a stream", "slow", { stream: true, leaveMs: 3 * LEAVE_MS }),
	...onBoth("waits for a silent engine", "silent", { stream: false, leaveMs: HOLD_MS }),
	...onBoth("a slow stream", "slow", { stream: true, leaveMs: HOLD_MS }),
	...onBoth("an endless stream", "endless", { stream: true, leaveMs: SHORT_HOLD_MS }),
	...onBoth("an endless stream, unread", "endless", { stream: true, leaveMs: HOLD_MS, unread: true }),
	...onBoth("a large answer, unread", "large", { stream: false, leaveMs: HOLD_MS, unread: true }),
	...onBoth("an answer that is a compressed bomb", "bomb", { stream: false, leaveMs: HOLD_MS }),
	...onBoth("an answer of a wrong shape", "wrong", { stream: false, leaveMs: HOLD_MS }),
	byToken("resumable streams", async (a) => {
		const body = chat("Hi", { model: "slow", stream: true });
		await a.ask(`${gateway(a, "plain")}/compat/chat/completions`, {
			body: { ...body, model: `workers-ai/${body.model}` },
			headers: resumable,
			leaveMs: SHORT_HOLD_MS,
		});
	}),
	byToken("resumable streams that are left", async (a) => {
		const headers = { ...passed(a), ...resumable };
		await a.ask(provider(a), { body: chat("Hi", { model: "slow", stream: true }), headers, leaveMs: 1_500 });
	}),
	byToken("an endless resumable stream, left", async (a) => {
		const headers = { ...passed(a), ...resumable };
		await a.ask(provider(a), {
			body: chat("Hi", { model: "endless", stream: true }),
			headers,
			leaveMs: 1_500,
		});
	}),
	byToken("resumes runs that do not exist", async (a) => {
		const id = a.number.toString(16).padStart(64, "0");
		await a.ask(`${gateway(a, "plain")}/run/${a.number % 2 ? id : `bad-${a.number}`}/resume`);
	}),
	byToken("tokens x gateways x resumable", async (a) => {
		const name = `many-${a.number % MANY_GATEWAYS}`;
		const headers = { ...passed(a), ...resumable };
		await a.ask(provider(a, name), {
			body: chat("Hi", { model: "slow", stream: true }),
			headers,
			leaveMs: 1_000,
		});
	}),
	byToken("many gateways", async (a) => {
		await a.ask(provider(a, `many-${a.number % MANY_GATEWAYS}`), { body: chat(), headers: passed(a) });
	}),
	byToken("gateways that do not exist", async (a) => {
		await a.ask(provider(a, `none-${a.number}`), { body: chat(), headers: passed(a) });
	}),
	byToken("single flight, all leave", async (a) => {
		const headers = { "x-ganglion-single-flight": "1" };
		await a.ask(chats(a), { body: chat("Hi", { model: "silent" }), headers, leaveMs: LEAVE_MS });
	}),
	byToken("retries of a busy provider", async (a) => {
		const headers = { ...passed(a), "cf-aig-max-attempts": "5", "cf-aig-retry-delay": "5000" };
		await a.ask(provider(a), { body: chat("Hi", { model: "busy" }), headers, leaveMs: HOLD_MS });
	}),
	byToken("buffers of guardrails", async (a) => {
		await a.ask(provider(a, "guarded"), {
			body: chat("Hi", { model: "large" }),
			headers: passed(a),
			leaveMs: HOLD_MS,
		});
	}),
	byToken("buffers of data-loss prevention", async (a) => {
		await a.ask(provider(a, "searched"), {
			body: chat("Hi", { model: "large" }),
			headers: passed(a),
			leaveMs: HOLD_MS,
		});
	}),
	byToken("endless streams through a guardrail", async (a) => {
		const body = chat("Hi", { model: "endless", stream: true });
		await a.ask(provider(a, "guarded"), { body, headers: passed(a), leaveMs: SHORT_HOLD_MS });
	}),
	byToken("endless streams through data-loss prevention", async (a) => {
		const body = chat("Hi", { model: "endless", stream: true });
		await a.ask(provider(a, "searched"), { body, headers: passed(a), leaveMs: SHORT_HOLD_MS });
	}),
	byToken("a hop loop", async (a) => {
		const path = `/custom-loop/v1/${a.account}/plain`.repeat(3);
		await a.ask(`${gateway(a, "plain")}${path}/custom-evil/chat/completions`, {
			body: chat(),
			headers: passed(a),
		});
	}),
	byToken("a hop loop with a forged hop", async (a) => {
		const headers = { ...passed(a), "x-ganglion-hop": "0" };
		await a.ask(`${gateway(a, "plain")}/custom-loop/v1/${a.account}/plain/custom-evil/chat/completions`, {
			body: chat(),
			headers,
		});
	}),
	byToken("slow body, valid token", async (a) => {
		const headers = { "content-type": "application/json", "content-length": "5000" };
		await a.drip(await a.connect(`${a.head(chats(a), { headers })}{`), " ", 500, HOLD_MS);
	}),
	byToken("slow body to a gateway", async (a) => {
		const headers = { "content-type": "application/json", "content-length": "5000" };
		const path = provider(a, GATEWAYS[a.number % GATEWAYS.length]);
		await a.drip(await a.connect(`${a.head(path, { headers })}{`), " ", 500, HOLD_MS);
	}),
];
