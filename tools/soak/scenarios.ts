/**
 * Scenarios for requests that are not an ordinary chat. Each sends a few requests. The expected bills are calculated from the engine's
 * records with the prices below. A row without a bill is a difference, and so is a bill without a row.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Row } from "./gateway.ts";
import type { Served } from "./recording-engine.ts";
import type { LedgerMode } from "./settings.ts";

export interface World {
	/** Sends a request and reads its complete answer. Returns the status. */
	call(account: string, path: string, body: object, headers?: Record<string, string>): Promise<number>;
	/** The same through the RPC entrypoint. */
	rpc(account: string, model: string, body: object): Promise<number>;
	/** Sends these bytes over a websocket and ends the session. Returns whether it ended without an error. */
	liveSession(account: string, path: string, audio: Uint8Array): Promise<boolean>;
	/** Sets the gateway's clock this many milliseconds ahead of the machine's clock. */
	setClock(ms: number): Promise<void>;
	/** Kills the gateway, and restarts it without the scenario's limits. */
	restart(): Promise<void>;
	rows(account: string): Promise<readonly Row[]>;
}

export interface Sent {
	/** Statuses, one for each request. */
	statuses: number[];
	/** Additional bills, for data that no engine recorded because the soak itself sent it. */
	bills?: number[];
	/** Other problems. */
	problems?: string[];
}

export interface Scenario {
	name: string;
	/** Its accounts. Default: one with the scenario's name. */
	accounts?: readonly string[];
	send(world: World): Promise<Sent>;
	/** Maximum calls of engines for one request. Default: 2. */
	maxCalls?: number;
	/** Limits of the process. The scenario has its own gateway; requests may be refused, and may expire after a restart. */
	limits?: { openFiles?: number; fileBlocks?: number };
	/** Default: `leased`, in which a kill loses the last settlements. With `exact` every answered request is on the disk. */
	ledger?: LedgerMode;
	/** Objects of all accounts, or 0: one for each. Default: the gateway's. */
	shards?: number;
}

const MICRO = 1_000_000;
/** Neurons, from developers.cloudflare.com/workers-ai/platform/pricing. */
const IMAGE_PRICE = { tile: 4.8, step: 9.6, pixels: 512 };
const SPEECH_PER_THOUSAND_CHARACTERS = 1_363.64;
const TRANSCRIPT_PER_MINUTE = 46.63;
const LIVE_PER_MINUTE = 700;
/** Neurons per million tokens of `soak/chat` and similar models. */
const CHAT = { input: 20_000, output: 130_001 };

/** Micro-neurons of one call. */
export function costOfServed({
	characters,
	milliseconds,
	outputTokens,
	image,
	promptTokens,
}: Served): number {
	const chat = (promptTokens ?? 0) * CHAT.input + (outputTokens ?? 0) * CHAT.output;
	const audio = ((milliseconds ?? 0) * TRANSCRIPT_PER_MINUTE * MICRO) / 60_000;
	const speech = ((characters ?? 0) * SPEECH_PER_THOUSAND_CHARACTERS * MICRO) / 1_000;
	if (!image) return Math.round(chat + audio + speech);
	const { height, steps, width } = image;
	const tiles = Math.ceil(width / IMAGE_PRICE.pixels) * Math.ceil(height / IMAGE_PRICE.pixels);
	return Math.round(tiles * (IMAGE_PRICE.tile + IMAGE_PRICE.step * steps) * MICRO);
}

const mark = (name: string, tokens: number): string => `soak-case:${name} tokens=${tokens}`;
const chat = (model: string, name: string, tokens: number, stream = false) => ({
	model,
	messages: [{ role: "user", content: mark(name, tokens) }],
	max_tokens: 200,
	stream,
	...(stream && { stream_options: { include_usage: true } }),
});
const CHATS = "/v1/chat/completions";
const range = (length: number): number[] => Array.from({ length }, (_, i) => i + 1);
const PCM_BYTES_PER_SECOND = 32_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Five chats at the same time, to a model with its own route. */
const chats = (name: string, headers: Record<string, string> = {}) => ({
	async send({ call }: World): Promise<Sent> {
		const calls = range(5).map((n) =>
			call(name, CHATS, chat(`soak/${name}`, name, n * 3, n % 2 === 0), headers),
		);
		return { statuses: await Promise.all(calls) };
	},
});

const manyAccounts = range(100).map((n) => `many-${n}`);
const fewFiles = range(40).map((n) => `files-${n}`);

export const SCENARIOS: readonly Scenario[] = [
	{
		name: "image",
		async send({ call }) {
			const path = "/run/@cf/black-forest-labs/flux-1-schnell";
			const calls = range(4).map((steps) => call("image", path, { prompt: mark("image", steps), steps }));
			return { statuses: await Promise.all(calls) };
		},
	},
	{
		name: "speech",
		async send({ call }) {
			const texts = range(4).map((n) => `${mark("speech", n)} ${"ä€😀".repeat(n)}`);
			const calls = texts.map((text) => call("speech", "/run/@cf/deepgram/aura-1", { text }));
			return { statuses: await Promise.all(calls) };
		},
	},
	{
		name: "transcript",
		async send({ call }) {
			const audio = Buffer.alloc(8_000, "ID3").toString("base64");
			const calls = range(4).map((n) =>
				call("transcript", "/run/@cf/openai/whisper-large-v3-turbo", {
					audio,
					initial_prompt: `soak-case:transcript milliseconds=${n * 1_250}`,
				}),
			);
			return { statuses: await Promise.all(calls) };
		},
	},
	{
		// Only the simulator has live transcription. It receives the audio of the soak.
		name: "live-session",
		async send({ liveSession }) {
			const path = "/run/@cf/deepgram/flux?encoding=linear16&sample_rate=16000";
			const seconds = [1, 3];
			const ended = await Promise.all(
				seconds.map((length) =>
					liveSession("live-session", path, new Uint8Array(length * PCM_BYTES_PER_SECOND)),
				),
			);
			return {
				statuses: ended.map((isNormal) => (isNormal ? 200 : 500)),
				bills: seconds.map((length) => Math.round((length * LIVE_PER_MINUTE * MICRO) / 60)),
			};
		},
	},
	// The slow engine has sent nothing when the second one answers.
	{ name: "hedge", maxCalls: 2, ...chats("hedge") },
	{ name: "passthrough", ...chats("passthrough") },
	{
		// The first stream is read. It needs no change, so the others pass through without the setting.
		name: "unchanged",
		async send({ call }) {
			const stream = (n: number) => call("unchanged", CHATS, chat("soak", "unchanged", n * 3, true));
			const first = await stream(1);
			return { statuses: [first, ...(await Promise.all(range(8).map(stream)))] };
		},
	},
	{
		name: "single-flight",
		maxCalls: 1,
		async send({ call }) {
			const body = chat("soak/single-flight", "single-flight", 9);
			const headers = { "x-ganglion-single-flight": "1" };
			return { statuses: await Promise.all(range(8).map(() => call("single-flight", CHATS, body, headers))) };
		},
	},
	{
		name: "rpc",
		async send({ rpc }) {
			const calls = range(4).map((n) => {
				const { messages, stream } = chat("", "rpc", n * 2, n % 2 === 0);
				return rpc("rpc", "@cf/soak/rpc", { messages, stream, max_tokens: 200 });
			});
			return { statuses: await Promise.all(calls) };
		},
	},
	{
		name: "many-accounts",
		accounts: manyAccounts,
		async send({ call, rows }) {
			const statuses: number[] = [];
			for (let at = 0; at < manyAccounts.length; at += 20)
				statuses.push(
					...(await Promise.all(
						manyAccounts
							.slice(at, at + 20)
							.map((account, i) => call(account, CHATS, chat("soak/chat", "many-accounts", at + i + 1))),
					)),
				);
			const problems: string[] = [];
			for (const account of manyAccounts) {
				const { length } = await rows(account);
				if (length !== 1) problems.push(`${account} has ${length} rows instead of 1`);
			}
			return { statuses, problems };
		},
	},
	{
		// Its budget is enough for two of the four requests before midnight. The new day has its own budget.
		name: "midnight",
		async send({ call, setClock }) {
			const chatOf = (n: number, stream = false) =>
				call("midnight", CHATS, { ...chat("soak/chat", "midnight", 40 + n, stream), max_tokens: 50 });
			const now = Date.now();
			const midnight = Math.ceil(now / DAY_MS) * DAY_MS;
			await setClock(midnight - 5_000 - now);
			const crossing = chatOf(1, true);
			await wait(100);
			await setClock(midnight + 5_000 - now);
			const statuses = [await crossing];
			await setClock(midnight + DAY_MS - 20_000 - now);
			for (const n of range(4)) statuses.push(await chatOf(n + 1));
			await setClock(midnight + DAY_MS + 5_000 - now);
			statuses.push(await chatOf(6));
			const found = statuses.join(" ");
			const problems = found === "200 200 200 429 429 200" ? [] : [`statuses ${found}`];
			return { statuses, problems };
		},
	},
	{
		name: "clock-jump",
		async send({ call, setClock }) {
			const statuses: number[] = [];
			for (const [n, hours] of [3, -2, 1, 0].entries()) {
				const crossing = call("clock-jump", CHATS, chat("soak/chat", "clock-jump", 20 + n, true));
				await wait(50);
				await setClock(3 * DAY_MS + hours * HOUR_MS);
				statuses.push(await crossing);
				statuses.push(await call("clock-jump", CHATS, chat("soak/chat", "clock-jump", 30 + n)));
			}
			return { statuses };
		},
	},
	{
		name: "disk-full",
		// Blocks of 512 bytes: no file can be larger than 300 KiB.
		limits: { fileBlocks: 600 },
		ledger: "exact",
		async send({ call, restart }) {
			const statuses: number[] = [];
			for (let n = 1; n <= 100 && statuses.filter((status) => status !== 200).length < 5; n++)
				statuses.push(await call("disk-full", CHATS, chat("soak/chat", "disk-full", n)));
			const problems = statuses.some((status) => status !== 200) ? [] : ["the disk was never full"];
			await restart();
			statuses.push(await call("disk-full", CHATS, chat("soak/chat", "disk-full", 101)));
			if (statuses.at(-1) !== 200) problems.push(`after the restart: HTTP ${statuses.at(-1)}`);
			return { statuses, problems };
		},
	},
	{
		name: "few-files",
		accounts: fewFiles,
		// One object for all accounts has few files.
		shards: 0,
		limits: { openFiles: 160 },
		async send({ call, restart }) {
			const statuses: number[] = [];
			for (let at = 0; at < fewFiles.length; at += 8)
				statuses.push(
					...(await Promise.all(
						fewFiles
							.slice(at, at + 8)
							.map((account, i) => call(account, CHATS, chat("soak/chat", "few-files", at + i + 1))),
					)),
				);
			const problems = statuses.includes(0) ? ["the gateway ended"] : [];
			if (!statuses.some((status) => status !== 200)) problems.push("nothing was refused");
			if (!statuses.includes(200)) problems.push("nothing was answered");
			await restart();
			return { statuses, problems };
		},
	},
];
