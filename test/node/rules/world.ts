/**
 * A gateway with an engine that keeps a book of what it was sent, for the tests of the rules that no way to an engine may avoid. A token of each
 * rule must use the gateway that has it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { Gateway } from "../../../tools/soak/gateway.ts";

export const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
/** Its route has a shadow. */
export const SHADOWED = "@cf/meta/llama-3.1-8b-instruct-fp8";
export const EMBEDDINGS = "@cf/baai/bge-base-en-v1.5";
const GUARD = "@cf/meta/llama-guard-3-8b";
export const ACCOUNT = "acme";
const DIGITS = "4111111111111111";
/** What the guard model judges as unsafe. */
const HAZARD = "the hazardous question";
/** A model that never answers with the number. */
export const DISCREET = "@cf/meta/llama-3.2-3b-instruct";
/** Other models answer it with the number. */
export const REVEAL = "Show the number";
/** Stands for the forbidden text, until it is in a text of JSON. */
export const PLACE = "{forbidden}";

export interface Rule {
	/** What a caller reads. */
	sentence: string;
	/** Forms of a forbidden text in a JSON string. */
	forms: Readonly<Record<string, string>>;
	/** The id of the gateway in which the token must run. */
	gateway: string;
	/** The gateway that the request names. */
	names?: string;
	/** Whether the text reached the engine. */
	isBroken(sent: readonly string[]): boolean;
}

/** The engine reads escapes, and a person reads groups. */
const readable = (sent: string): string => sent.replaceAll(String.raw`\u0034`, "4").replaceAll(/[\s-]/g, "");
const base64 = btoa(`card ${DIGITS}`);

export const DLP: Rule = {
	gateway: "prod",
	sentence: "Request content blocked due to DLP policy violations",
	forms: {
		digits: DIGITS,
		"groups with spaces": "4111 1111 1111 1111",
		"groups with hyphens": "4111-1111-1111-1111",
		"escaped JSON": String.raw`\u0034111111111111111`,
		base64,
	},
	isBroken: (sent) => sent.some((one) => readable(one).includes(DIGITS) || one.includes(base64)),
};
const calls = (sent: readonly string[]): boolean => sent.length > 0;
export const RULES: Readonly<Record<string, Rule>> = {
	"data-loss prevention": DLP,
	guardrails: {
		gateway: "guarded",
		sentence: "Prompt blocked due to security configurations",
		forms: { "a hazard": HAZARD },
		isBroken: (sent) => sent.some((one) => one.includes(HAZARD)),
	},
	"a spend limit": {
		gateway: "spent",
		sentence: "Spend limit",
		forms: { "any text": "Hello" },
		isBroken: calls,
	},
	"a required gateway": {
		gateway: "prod",
		names: "open",
		sentence: "binds a gateway",
		forms: { "any text": "Hello" },
		isBroken: calls,
	},
};

/** What the engine was sent. The guard model has another one. */
export const book: string[] = [];
let servers: Server[] = [];
let gateway: Gateway;
let folder = "";
const tokens = new Map<string, string>();
/** Of the request that is sent now. */
const sender = { authorization: "", names: undefined as string | undefined };

const message = (body: Record<string, unknown>): string =>
	JSON.stringify(body).includes(REVEAL) && body.model !== "discreet" ? `It is ${DIGITS}` : "Hello";

function reply(body: Record<string, unknown>): object {
	if ("input" in body && !("messages" in body)) {
		const inputs = Array.isArray(body.input) ? body.input : [body.input];
		const data = inputs.map((_, index) => ({
			...{ object: "embedding", index },
			embedding: Array.from({ length: 768 }, (__, at) => (at === 0 ? 1 : 0)),
		}));
		return { object: "list", data, model: body.model, usage: { prompt_tokens: 1, total_tokens: 1 } };
	}
	return completion(message(body));
}

const completion = (content: string): object => ({
	...{ id: "c", object: "chat.completion", created: 1, model: "engine-model" },
	choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
	usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

const judgement = (body: string): object => completion(body.includes(HAZARD) ? "unsafe\nS9" : "safe");

/** Returns the address. */
async function served(answer: (body: string, url: string) => object): Promise<string> {
	const server = createServer(async (request, response) => {
		const body = await text(request);
		response
			.setHeader("content-type", "application/json")
			.end(JSON.stringify(answer(body, request.url ?? "")));
	});
	server.on("upgrade", ({ url }, socket) => {
		book.push(`websocket ${url}`);
		socket.destroy();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	servers.push(server);
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const SETTINGS = {
	...{ collect_logs: true, cache_ttl: 0, cache_invalidate_on_update: false },
	...{ rate_limiting_interval: 0, rate_limiting_limit: 0 },
};
export const BLOCKS_CARDS = { dlp: { enabled: true, action: "BLOCK", profiles: ["credit_card"] } };
const GATEWAYS: Readonly<Record<string, object>> = {
	prod: BLOCKS_CARDS,
	guarded: { guardrails: { prompt: { S9: "BLOCK" } } },
	spent: {
		spend_limits: { enabled: true, rules: [{ limitType: "cost", limit: 0.000_001, window: 86_400 }] },
	},
	/** Gets the rule after its logs. */
	later: {},
	open: {},
};

export async function start(): Promise<void> {
	const engine = await served((body, url) => {
		book.push(`${url} ${body}`);
		return reply(JSON.parse(body) as Record<string, unknown>);
	});
	const guard = await served(judgement);
	folder = mkdtempSync(join(tmpdir(), "ganglion-rules-"));
	gateway = await Gateway.start(folder, {
		BACKENDS: { engine: { kind: "openai", url: engine }, guard: { kind: "openai", url: guard } },
		ROUTES: {
			[GUARD]: [{ backend: "guard", model: "guard" }],
			[SHADOWED]: {
				targets: [{ backend: "engine", model: "engine-model" }],
				shadow: { name: "candidate", backend: "engine", model: "shadow-model", share: 1 },
			},
			[DISCREET]: [{ backend: "engine", model: "discreet" }],
			"*": [{ backend: "engine", model: "engine-model" }],
		},
		LIMITS: { requests_per_minute: "none" },
	});
	for (const [id, rules] of Object.entries(GATEWAYS)) {
		const created = await operator("/ai-gateway/gateways", { id, ...SETTINGS, ...rules });
		if (!created.includes('"success":true')) throw new Error(created);
		tokens.set(id, await tokenOf({ id, mode: "required" }));
	}
	tokens.set("free", await tokenOf(undefined));
	const paid = { "cf-aig-gateway-id": "spent", "cf-aig-custom-cost": '{"total_cost":1}' };
	await call(`/ai/run/${CHAT}`, JSON.stringify({ prompt: "Hi" }), Gateway.operator, paid);
	// The cost arrives with the end of the answer.
	await until(
		() => call(`/ai/run/${CHAT}`, JSON.stringify({ prompt: "Hi" }), tokenFor("spent")),
		/Spend limit/,
	);
}

export async function stop(): Promise<void> {
	await gateway?.stop();
	for (const server of servers) {
		server.closeAllConnections();
		server.close();
	}
	servers = [];
	if (folder) rmSync(folder, { recursive: true, force: true });
}

const GROUPS = ["Workers AI Write", "AI Search Write"];
async function tokenOf(bound: object | undefined): Promise<string> {
	const created = await operator("/tokens", {
		name: "bound",
		gateway: bound,
		policies: [
			{
				effect: "allow",
				resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: "*" },
				permission_groups: GROUPS.map((name) => ({ name })),
			},
		],
	});
	return `Bearer ${JSON.parse(created).result?.value}`;
}

export const tokenFor = (id: string): string => tokens.get(id) ?? "";
export const use = ({ gateway: id, names }: Pick<Rule, "gateway" | "names">): void => {
	sender.authorization = tokenFor(id);
	sender.names = names;
	book.length = 0;
};
/** The gateway of an address. */
export const named = (rule: Pick<Rule, "gateway" | "names">): string => rule.names ?? rule.gateway;

export const operator = (
	path: string,
	body?: object | string,
	method = body === undefined ? "GET" : "POST",
): Promise<string> =>
	call(path, typeof body === "object" ? JSON.stringify(body) : body, Gateway.operator, {}, method);

/** Returns the answer's text. `path`: below the account. */
export async function call(
	path: string,
	body?: string | FormData,
	authorization = "",
	headers: Record<string, string> = {},
	method = body === undefined ? "GET" : "POST",
): Promise<string> {
	const own = authorization === "";
	const response = await fetch(`${gateway.url}/client/v4/accounts/${ACCOUNT}${path}`, {
		method,
		headers: {
			authorization: own ? sender.authorization : authorization,
			...(own && sender.names !== undefined && { "cf-aig-gateway-id": sender.names }),
			...(typeof body === "string" && { "content-type": "application/json" }),
			...headers,
		},
		...(body !== undefined && { body }),
	});
	return response.text();
}

/** A request without a credential, at the root. */
export async function open(path: string, body: string): Promise<string> {
	const response = await fetch(gateway.url + path, {
		method: "POST",
		headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
		body,
	});
	return response.text();
}

/** Sends frames one after the other, and returns what arrives. `isEnd`: of the answer to a frame. */
export async function frames(
	path: string,
	sent: readonly ((before: string) => string)[],
	isEnd: (frame: { type?: string }) => boolean,
): Promise<string> {
	// Node's clients have headers, browsers' do not.
	const options = {
		headers: {
			...{ authorization: sender.authorization, "cf-aig-authorization": sender.authorization },
			...(sender.names !== undefined && { "cf-aig-gateway-id": sender.names }),
		},
	};
	const socket = new WebSocket(gateway.url.replace("http", "ws") + path, options as never);
	let received = "";
	let ended = Promise.withResolvers<void>();
	socket.addEventListener("message", ({ data }) => {
		received += `${data}\n`;
		if (isEnd(JSON.parse(String(data)))) ended.resolve();
	});
	socket.addEventListener("error", () => ended.reject(new Error("the socket failed")));
	try {
		await new Promise((resolve, reject) => {
			socket.addEventListener("open", resolve);
			socket.addEventListener("error", () => reject(new Error("the socket was refused")));
		});
		for (const frame of sent) {
			ended = Promise.withResolvers();
			socket.send(frame(received));
			await ended.promise;
		}
	} finally {
		socket.close();
	}
	return received;
}

/** The status and the text of a request for a websocket. */
export async function handshake(path: string): Promise<string> {
	const { request } = await import("node:http");
	return new Promise((resolve, reject) => {
		const headers = {
			...{ authorization: sender.authorization, connection: "upgrade", upgrade: "websocket" },
			...{ "sec-websocket-version": "13", "sec-websocket-key": btoa("0123456789abcdef") },
			...(sender.names !== undefined && { "cf-aig-gateway-id": sender.names }),
		};
		const sent = request(`${gateway.url}/client/v4/accounts/${ACCOUNT}${path}`, { headers });
		sent.on("response", async (response) => resolve(`${response.statusCode} ${await text(response)}`));
		sent.on("upgrade", (_, socket) => {
			socket.destroy();
			resolve("101");
		});
		sent.on("error", reject).end();
	});
}

/** A body of JSON with the text in this form. */
export const bodyOf = (body: object, form: string): string => JSON.stringify(body).replaceAll(PLACE, form);

/** Asks until the text has this. */
export async function until(ask: () => Promise<string>, pattern: RegExp): Promise<string> {
	let last = "";
	for (const end = Date.now() + 30_000; Date.now() < end; await wait(100)) {
		last = await ask();
		if (pattern.test(last)) return last;
	}
	throw new Error(`still ${last.slice(0, 1_000)}`);
}
